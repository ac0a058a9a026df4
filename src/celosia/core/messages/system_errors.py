"""The reasons of the operating system, such as a full disk, as messages."""

import errno
from typing import Final

from celosia.core.messages.message import Message

_CODES: Final = {
    errno.EACCES: "core.permission_denied",
    errno.EADDRINUSE: "core.address_in_use",
    errno.EADDRNOTAVAIL: "core.address_not_available",
    errno.ECONNREFUSED: "core.connection_refused",
    errno.EEXIST: "core.file_is_there",
    errno.EIO: "core.input_output_error",
    errno.EISDIR: "core.is_a_directory",
    errno.ELOOP: "core.too_many_links",
    errno.EMFILE: "core.too_many_open_files",
    errno.ENAMETOOLONG: "core.file_name_too_long",
    errno.ENOENT: "core.no_such_file",
    errno.ENOSPC: "core.disk_full",
    errno.ENOTDIR: "core.not_a_directory",
    errno.EPERM: "core.not_permitted",
    errno.EPIPE: "core.broken_pipe",
    errno.EROFS: "core.read_only",
}


def describe_os_error(error: OSError) -> str:
    """Return the reason of an error; one that has no message is in the words of the system.

    >>> describe_os_error(FileNotFoundError(2, "No such file or directory")).render("es")
    'no existe el fichero o directorio'
    """
    code = _CODES.get(error.errno or 0)
    return error.strerror or type(error).__name__ if code is None else Message(code)
