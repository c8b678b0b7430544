"""libc, and the file descriptors of a worker."""

import fcntl
import os

try:
    import ctypes
except ImportError:  # a minimal Python may lack it; then the harness only stays dumpable
    ctypes = None

STDIN_FD, STDOUT_FD, STDERR_FD, EMIT_FD, RUN_FD, FIRST_SPARE_FD = range(6)
PIPE_BYTES = 64 << 10
PR_SET_DUMPABLE = 4
SYS_CLOSE_RANGE = 436


def _open_libc():
    try:
        library = ctypes.CDLL(None, use_errno=True)
        for name in ("prctl", "syscall", "clone", "pause"):
            getattr(library, name)  # looked up here once, not in each worker
        return library
    except (AttributeError, OSError):
        return None


libc = _open_libc()


def set_dumpable(dumpable):
    """Other processes of the user cannot trace, or read through /proc, one that is not dumpable."""
    if libc is not None:
        libc.prctl(PR_SET_DUMPABLE, int(dumpable), 0, 0, 0)


def flush_c_streams():
    """Writes what C code has printed and stdio still buffers."""
    if libc is not None:
        libc.fflush(None)


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def hold_standard_fds():
    # The next file that is opened would get the number of a closed one, and prints would go there.
    for fd in (STDIN_FD, STDOUT_FD, STDERR_FD):
        if not is_open(fd):
            os.open("/dev/null", os.O_RDWR)


def copied_away(fd):
    """A duplicate above the descriptors that have a meaning in a worker."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_SPARE_FD)


def moved_away(fd):
    copy = copied_away(fd)
    os.close(fd)
    return copy


def close_from(first):
    # Before 3.10 os.closerange closes one by one, and the limit may be a million. /proc/self/fd
    # would need a dumpable process.
    if libc is not None and libc.syscall(SYS_CLOSE_RANGE, first, ctypes.c_uint(-1), 0) == 0:
        return
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def has_more_files():
    """Whether more descriptors seem open than a worker starts with: the lowest free one tells."""
    try:
        lowest = os.dup(RUN_FD)
    except OSError:
        return True
    os.close(lowest)
    return lowest != FIRST_SPARE_FD
