"""A MkDocs hook that brings ``proofs/`` into the site.

Proofs stand at the root of the repository, where a reviewer of a mechanism looks for them, and MkDocs reads one
folder only. A symbolic link would do on some systems; this does on all, and fills the navigation as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

__all__ = ["on_files"]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every page of ``proofs/`` to the files and to the navigation's "Proofs" section."""
    root = Path(config.config_file_path).parent
    pages = sorted((root / "proofs").glob("*.md"), key=lambda page: (page.stem != "README", page.stem))
    for page in pages:
        source = page.relative_to(root).as_posix()
        files.append(File(source, str(root), config.site_dir, config.use_directory_urls))
    for section in config.nav or []:
        if "Proofs" in section:
            section["Proofs"] = [page.relative_to(root).as_posix() for page in pages]
    return files
