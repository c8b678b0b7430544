"""What an interpreter does after the last line of a script, without ending the interpreter."""

import gc
import io
import os
import sys

from .channel import flush_streams
from .cpython import has_threads, run_exit_handlers, wait_for_threads
from .emit import ScriptFinished
from .interrupts import attempt, insist, interrupts, unless_thrown
from .kernel import flush_c_streams, has_more_files
from .script_errors import format_traceback
from .script_exit import exit_code_of, print_text
from .script_loop import script_loop


def wind_down(namespace):
    interrupts.raised = None
    try:
        script_loop.close()
    except Exception as error:
        unless_thrown(error)
    try:
        if has_threads():
            wait_for_threads()
        run_exit_handlers()
    except (Exception, SystemExit, ScriptFinished):
        pass  # the error of an exit handler is on stderr already
    _drop_what_is_left(namespace)


def _drop_what_is_left(namespace):
    """Writes out files that are not closed, and calls destructors."""
    if not has_threads():  # a thread would go on without its globals
        for name in list(namespace):
            if name != "__builtins__":
                namespace[name] = None
    # A collection costs as much as a short script. So it is only for a script that created many
    # objects or left a file open.
    if gc.get_count()[1:] != (0, 0) or has_more_files():
        _flush_files()
        gc.collect()
    flush_c_streams()


def _flush_files():
    """Before the collection: in a cycle, a file may be closed before its buffer is written."""
    for left in gc.get_objects():
        if isinstance(left, (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)):
            try:
                left.flush()
            except Exception as error:
                unless_thrown(error)


def leave_as_child(failure, namespace):
    """For a process that the script forked and that reached the script's end: it exits like any
    Python process and sends nothing to init."""
    status = 0
    if isinstance(failure, SystemExit):
        status = exit_code_of(failure)
        attempt(print_text, failure)
    elif failure is not None and not isinstance(failure, ScriptFinished):
        status = 1
        insist(lambda: sys.stderr.write(format_traceback(failure)))
    attempt(wind_down, namespace)
    insist(flush_streams)
    os._exit(status)
