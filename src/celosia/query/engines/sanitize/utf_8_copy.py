"""Copies in UTF-8 of CSV files that are declared to have another encoding: made once, when they are opened.

A file is converted in blocks, so memory stays flat whatever its size. The conversion is total, and different bytes stay
different: two persons must not become one. A byte that a code page leaves undefined becomes the control character of
its number, as browsers have it (WHATWG 2024, Encoding Standard). Half a surrogate pair of UTF-16 becomes bytes that are
no UTF-8, and the engine leaves out its row, as it does in a file that is said to be UTF-8 and is not.
"""

import codecs
import functools
import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

_BLOCK: Final = 2**20
_LAST_LATIN = 256


def utf_8_copies(paths: tuple[str, ...], encoding: str, folder: str) -> tuple[str, ...]:
    r"""Return copies in UTF-8 of files in another encoding, in a new folder below ``folder``; gzip is unpacked."""
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
        blocks = iter(functools.partial(old.read, _BLOCK), b"")
        new.writelines(decode(block).encode("utf-8", "surrogatepass") for block in blocks)


def _decoder(encoding: str) -> Callable[[bytes], str]:
    """A function that decodes the next block, whatever it holds."""
    if encoding.startswith("utf-16"):
        # A byte that is left over at the end of the file is no character.
        return codecs.getincrementaldecoder(encoding)("surrogatepass").decode
    table = "".join(_character(byte, encoding) for byte in range(_LAST_LATIN))
    return lambda block: codecs.charmap_decode(block, "strict", table)[0]  # type: ignore[arg-type] # Python takes a string of 256


def _character(byte: int, encoding: str) -> str:
    try:
        return bytes([byte]).decode(encoding)
    except UnicodeDecodeError:
        return chr(byte)
