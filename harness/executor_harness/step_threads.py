"""Threads that outlive the step that started them."""

from .async_tools import tool_loop
from .cpython import has_threads, known_thread, threading


def note_threads(step):
    """Remembers for each thread the step that started it. Called before the next step starts."""
    if not has_threads():
        return
    # The event loop of async tools works for the step that calls it.
    without_step = (threading.main_thread(), tool_loop.thread)
    for thread in threading.enumerate():
        if thread not in without_step:
            vars(thread).setdefault("_hearth_step", step)


def origin():
    """A label for what this thread emits if an earlier step has started it, else nothing."""
    thread = known_thread()
    step = None if thread is None else vars(thread).get("_hearth_step")
    return "" if step is None else "[thread of step %d] " % step
