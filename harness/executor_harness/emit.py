"""The functions with which a script sends results and log messages."""

from .channel import channel
from .payload import encode
from .step_threads import origin
from .tool_result import ToolResult

LEVELS = ("debug", "info", "warning", "error", "critical")
OTHER_NAMES = {"warn": "warning", "fatal": "critical"}


class ScriptFinished(BaseException):
    """Unwinds a script after emit_result; not an Exception, so `except Exception` lets it pass."""

    __module__ = "builtins"  # so that tracebacks print the name alone


class Turn:
    """What must happen once per turn."""

    def begin(self):
        self.has_result = False
        self.has_warned_of_nan = False

    def claim_result(self):
        with channel.lock:
            first, self.has_result = not self.has_result, True
        return first

    def warn_of_nan(self, where):
        if not self.has_warned_of_nan:
            self.has_warned_of_nan = True
            text = "%s: NaN and infinite numbers have no JSON form and became null"
            emit_log(text % where, "warning")


turn = Turn()
turn.begin()


def encode_for_script(where, event):
    """The event as JSON. Warns the script of numbers that were lost, once per turn."""
    lost = []
    payload = encode(where, event, lost)
    if lost:
        turn.warn_of_nan(where)
    return payload


def emit(where, event):
    _require_channel(where)
    channel.send(encode_for_script(where, event))


def _require_channel(where):
    if channel.records is None:
        raise RuntimeError("%s: only the script's own process can emit, not one it forked" % where)


def emit_log(message, level="info"):
    """Sends a message to the log; the result is not affected."""
    name = level.lower() if isinstance(level, str) else level
    name = OTHER_NAMES.get(name, name)
    if name not in LEVELS:
        raise ValueError("emit_log: level must be one of %s, not %r" % (", ".join(LEVELS), level))
    emit("emit_log", {"type": "log", "level": name, "message": origin() + str(message)})


def emit_intermediate(label, data):
    """Sends a partial result at once, while the script goes on."""
    label = origin() + str(label)
    emit("emit_intermediate", {"type": "intermediate", "label": label, "data": data})


def emit_result(data):
    """Sends the final result and ends the script: `finally` blocks run, later statements do not."""
    _require_channel("emit_result")
    if origin():
        raise RuntimeError(
            "emit_result: only the running step has a result, "
            "and an earlier one started this thread"
        )
    payload = encode_for_script("emit_result", {"type": "final_result", "data": data})
    if turn.claim_result():
        channel.send(payload)
    else:
        emit_log("emit_result was called again; only the first result counts", "warning")
    raise ScriptFinished


HELPERS = {
    "emit_result": emit_result,
    "emit_intermediate": emit_intermediate,
    "emit_log": emit_log,
    "ToolResult": ToolResult,
}
for helper in HELPERS.values():
    helper.__module__ = "__main__"  # where a script finds it, and so where pickle looks
