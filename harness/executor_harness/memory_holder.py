"""A process that keeps a worker's memory, so that the worker can exit quickly."""

from .cpython import ALL_SIGNALS, SIG_BLOCK, SIG_SETMASK, set_signal_mask
from .kernel import ctypes, libc

CLONE_VM, CLONE_PARENT = 0x100, 0x8000
STACK_BYTES = 16 << 10

# Created before the forks, so that no worker pays for it.
STACK = ctypes.create_string_buffer(STACK_BYTES) if ctypes is not None else None


def start_memory_holder():
    """Starts a process that shares this one's memory and sleeps. Returns its pid, or 0 if there can
    be none.

    Freeing the memory of a Python process costs several times as much as a short script. While the
    holder lives, this process exits without freeing it. Init kills the holder when the turn is
    over. Every signal is blocked in the holder, so it never leaves the kernel, even if the script
    overwrites its stack. It is a child of init, not of the script: the script may wait for all of
    its own children.
    """
    if libc is None:
        return 0
    top = (ctypes.addressof(STACK) + STACK_BYTES) & ~0xF
    previous = set_signal_mask(SIG_BLOCK, ALL_SIGNALS)
    pid = libc.clone(libc.pause, ctypes.c_void_p(top), CLONE_VM | CLONE_PARENT, None)
    set_signal_mask(SIG_SETMASK, previous)
    return max(pid, 0)
