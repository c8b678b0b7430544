"""Turns a forked process into a worker, which serves the turns of one lease."""

import os
import select
import time
import traceback

from .channel import flush_streams
from .cpython import forget_exit_handlers
from .kernel import EMIT_FD, FIRST_SPARE_FD, RUN_FD, STDERR_FD, STDOUT_FD, close_from, copied_away
from .memory_holder import start_memory_holder
from .numpy_seed import numpy_seed
from .payload import encode
from .rehearsal import rehearse

PATIENCE_SECONDS = 0.005  # how long a worker waits for a script before it rehearses


def serve_worker(stdout_fd, stderr_fd, emit_fd, run_fd, runner, between=None):
    """For a process that has just been forked. Never returns. For a zygote,
    isolate/worker_start.cpp does the same."""
    try:
        become_worker(runner.workspace)
        take_places(stdout_fd, stderr_fd, emit_fd, run_fd)
        wait_for_exit_of_parent(between)
        # Before there is a holder, which keeps the pipes open when this process is gone.
        say_to_init({"type": "starting", "pid": os.getpid()})
        say_to_init({"type": "prepared", "pid": os.getpid(), "holder": start_memory_holder()})
        is_wanted = is_wanted_at_once()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    serve_turns(runner, is_wanted)


def serve_turns(runner, is_wanted):
    """Never returns."""
    try:
        numpy_seed.renew()  # every fork gives Python's own generator a new seed
        if not is_wanted:
            forget_exit_handlers()
            rehearse(runner.workspace)
        runner.get_ready()
        runner.serve()
    except BaseException:
        traceback.print_exc()
        flush_streams()
    finally:
        os._exit(1)


def become_worker(workspace):
    """Undoes what a fork shares with its parent."""
    try:
        os.setsid()
    except OSError:
        pass  # leads a session already
    try:
        os.chdir(workspace)
    except OSError:
        os.chdir("/")


def take_places(*fds):
    """Puts the descriptors from init where a script finds them, and closes everything else."""
    # The number of one may be the place of another.
    for target, fd in enumerate([copied_away(fd) for fd in fds], STDOUT_FD):
        os.dup2(fd, target, inheritable=target <= STDERR_FD)
    close_from(FIRST_SPARE_FD)


def wait_for_exit_of_parent(between):
    """Init looks for processes among its own children: one that is not yet its child would survive
    a reset.

    Usually there is nothing to wait for. Polled, because a process closes its files before its
    children get a new parent.
    """
    while os.getppid() == between:
        time.sleep(0.0002)


def say_to_init(event):
    os.write(EMIT_FD, b"0 0 %b\n" % encode(event["type"], event))


def is_wanted_at_once():
    """Whether a script arrives before a rehearsal would pay off: a rehearsal touches more memory
    than one script does."""
    return bool(select.select([RUN_FD], (), (), PATIENCE_SECONDS)[0])
