"""Describes an exception of a script, without the harness's own frames."""

import os
import traceback

from .emit import ScriptFinished
from .interrupts import unless_thrown
from .notes import note_for
from .payload import clip
from .script_exit import STRICT_NOTE, message_of


def describe(error):
    name, message = type(error).__name__, _message_of(error)
    note = STRICT_NOTE if isinstance(error, SystemExit) else guarded_note_for(error)
    ending = "" if note is None else "\nnote: " + note
    text = clip(format_traceback(error)) + ending[1:] + ending[:1]
    return {"type": "error", "name": name, "message": clip(message) + ending, "traceback": text}


def guarded_note_for(error):
    try:
        return note_for(error)
    except Exception as failure:  # an attribute of the script's own exception
        unless_thrown(failure)
        return None


def describe_exit(leaving):
    """A call of sys.exit is no mistake: its place does not matter."""
    message = clip(message_of(leaving))
    return {"type": "error", "name": "SystemExit", "message": message, "traceback": ""}


def describe_briefly(error, obstacle):
    """For an exception whose own methods fail: none of them is called."""
    name = type.__getattribute__(type(error), "__name__")
    message = "<unprintable %s object>" % name
    text = "%s: %s (no traceback: %s)\n" % (name, message, type(obstacle).__name__)
    return {"type": "error", "name": name, "message": message, "traceback": text}


def _message_of(error):
    try:
        return message_of(error) if isinstance(error, SystemExit) else str(error)
    except Exception:
        return "<unprintable %s object>" % type(error).__name__


def format_traceback(error):
    _hide_our_exceptions(error)
    report = traceback.TracebackException(type(error), error, error.__traceback__)
    _hide_our_frames(report, set())
    return "".join(report.format())


OWN_FILES = os.path.join(os.path.dirname(format_traceback.__code__.co_filename), "")


def _hide_our_exceptions(error):
    for _ in range(1000):  # a chain may be circular
        if isinstance(error.__context__, ScriptFinished):
            error.__context__ = error.__context__.__context__
        error = error.__context__
        if error is None:
            return


def _hide_our_frames(report, seen):
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    report.stack[:] = [frame for frame in report.stack if not frame.filename.startswith(OWN_FILES)]
    group = getattr(report, "exceptions", None) or ()
    for inner in (report.__cause__, report.__context__, *group):
        _hide_our_frames(inner, seen)
