"""What a script finds around it that ordinary Python scripts do not: signals, exit, input."""

import builtins
import signal

from .async_tools import tool_loop
from .channel import channel
from .cpython import fork_handlers, forget_exit_handlers, reset_handlers, threading
from .emit import ScriptFinished
from .interrupts import install_handler, installed_handler, interrupts
from .numpy_seed import numpy_seed


def refuse_input(prompt="", /):
    raise EOFError("input() is not available: scripts run without a terminal")


def exit_script(code=None):
    raise SystemExit(code)


def end_thread(arguments, default=threading.excepthook):
    # emit_result in a thread has sent the result; the thread just ends.
    if not issubclass(arguments.exc_type, ScriptFinished):
        default(arguments)


def forget_worker():
    """For a process that a script forks."""
    channel.abandon()
    tool_loop.__init__()


def settle():
    """Prepares these surroundings once for all workers: a page that a worker writes is its own."""
    reset_handlers()
    interrupts.restore()
    forget_exit_handlers()
    threading.excepthook = end_thread
    builtins.input = refuse_input
    builtins.exit = builtins.quit = exit_script
    signal.signal, signal.getsignal = install_handler, installed_handler
    fork_handlers.forget_worker = forget_worker
    numpy_seed.find()
