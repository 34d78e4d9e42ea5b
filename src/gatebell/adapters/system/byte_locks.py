"""Lock single bytes of a file, visible to every process that opens it.

On Linux a lock belongs to the open file, and ends when its last descriptor is closed. On other
systems it belongs to the process, and also ends when the process closes any descriptor of the file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys

# The kernel's struct flock: type, whence, start, length, process; padded as C pads it.
_FLOCK = "hhqqi0q"


def open_file(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def lock(descriptor: int, byte: int) -> None:
    """Take a shared lock of a byte; several processes may hold it at once."""
    if _call_kernel("F_OFD_SETLK", descriptor, fcntl.F_RDLCK, byte) is None:
        # It waits for an instant while another process checks the lock.
        fcntl.lockf(descriptor, fcntl.LOCK_SH, 1, byte)


def unlock(descriptor: int, byte: int) -> None:
    if _call_kernel("F_OFD_SETLK", descriptor, fcntl.F_UNLCK, byte) is None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, byte)


def is_locked(descriptor: int, byte: int) -> bool:
    """Return whether another process has locked a byte; locks of this descriptor do not count."""
    found = _call_kernel("F_OFD_GETLK", descriptor, fcntl.F_WRLCK, byte)
    if found is not None:
        return bool(struct.unpack(_FLOCK, found)[0] != fcntl.F_UNLCK)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, byte)
    except OSError:
        return True
    return False


def _call_kernel(command: str, descriptor: int, kind: int, byte: int) -> bytes | None:
    """Call the kernel for a lock of the open file; None if it has no such locks."""
    if sys.platform != "linux":
        return None
    wanted = struct.pack(_FLOCK, kind, os.SEEK_SET, byte, 1, 0)
    try:
        return fcntl.fcntl(descriptor, getattr(fcntl, command), wanted)
    except OSError as error:
        # Some sandboxes replace the kernel and do not know the command.
        if error.errno != errno.EINVAL:
            raise
        return None
