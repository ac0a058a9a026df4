"""UTF-8 copies of CSV files in other declared encodings, made once, when they are opened.

A file is converted in blocks, so memory stays flat. The conversion is total, and different bytes stay different: two
persons must not become one. A byte that a code page leaves undefined becomes the control character of its number, as in
browsers (WHATWG 2024, Encoding Standard). A lone surrogate of UTF-16 becomes bytes that are not UTF-8, and the engine
skips its row, as in a file that is declared UTF-8 and is not.
"""

import codecs
import functools
import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

_BLOCK_BYTES: Final = 2**20
_LAST_LATIN = 256


def write_utf_8_copies(paths: tuple[str, ...], encoding: str, folder: str) -> tuple[str, ...]:
    """Return UTF-8 copies of files in another encoding, in a new folder below ``folder``; gzip is unpacked."""
    into = Path(tempfile.mkdtemp(prefix="utf-8-", dir=folder))
    copies = tuple(str(into / f"{place}.csv") for place in range(len(paths)))
    for source, target in zip(paths, copies, strict=True):
        _convert(source, target, encoding)
    return copies


def _convert(source: str, target: str, encoding: str) -> None:
    decode = _decoder(encoding)
    with (
        gzip.open(source) if source.lower().endswith(".gz") else open(source, "rb") as old,  # noqa: PTH123 - as gzip.open
        open(target, "wb") as new,  # noqa: PTH123 - as above
    ):
        blocks = iter(functools.partial(old.read, _BLOCK_BYTES), b"")
        new.writelines(decode(block).encode("utf-8", "surrogatepass") for block in blocks)


def _decoder(encoding: str) -> Callable[[bytes], str]:
    """Return a function that decodes the next block with any content."""
    if encoding.startswith("utf-16"):
        # An odd last byte is not a character and is dropped.
        return codecs.getincrementaldecoder(encoding)("surrogatepass").decode
    table = "".join(_character(byte, encoding) for byte in range(_LAST_LATIN))
    return lambda block: codecs.charmap_decode(block, "strict", table)[0]  # type: ignore[arg-type] # Python takes a string of 256


def _character(byte: int, encoding: str) -> str:
    try:
        return bytes([byte]).decode(encoding)
    except UnicodeDecodeError:
        return chr(byte)
