"""Runs the scripts of one worker, from request to `end`."""

import builtins
import codecs
import json
import os
import sys
import types

from .channel import channel
from .compiling import compile_script
from .cpython import (
    exit_handler_count,
    forget_exit_handlers,
    remember_source,
    restore_exit_handlers,
)
from .display import display_value, show_figures
from .emit import ScriptFinished, emit, turn
from .interrupts import ScriptTimeout, attempt, insist, interrupts
from .kernel import set_dumpable
from .notes import sandbox
from .payload import encode
from .run_pipe import RunPipe
from .script_errors import describe, describe_briefly, describe_exit
from .script_exit import exit_code_of, print_text
from .script_loop import script_loop
from .step_threads import note_threads
from .wind_down import leave_as_child, wind_down

END_RECORDS = {
    outcome: encode("end", {"type": "end", "outcome": outcome})
    for outcome in ("completed", "failed", "timeout", "cancelled")
}
NO_SETTINGS = {}


class ScriptRunner:
    """Runs the requests of one lease in the globals they share."""

    def __init__(self, base, is_hidden=False):
        self.base = base
        self.workspace = base.workspace
        self.file = os.path.join(base.workspace, "script.py")
        self.is_hidden = is_hidden  # until the first script, which may look at itself
        self.is_plan = True
        self.is_strict = False  # sys.exit() is always an error
        self.steps = 0
        self.exit_handlers = None  # how many there are before the first script
        self.pipe = RunPipe()
        self.module = None

    def get_ready(self):
        """For the first script. A zygote does it for all its workers; in a worker it then only
        repeats what has changed since."""
        if exit_handler_count() != self.exit_handlers:  # some modules add one after every fork
            forget_exit_handlers()
            restore_exit_handlers()
            self.exit_handlers = exit_handler_count()
        if not channel.is_as_new():
            channel.reset()
            channel.open()
        if self.module is None:
            self._make_module()
        if sys.modules.get("__main__") is not self.module:
            self.enter()

    def _make_module(self):
        # Not before the freeze: a script may want to find its globals among all objects.
        self.module = types.ModuleType("__main__")
        self.module.__dict__.update(__file__=self.file, __builtins__=builtins)
        self.module.__dict__.update(self.base.names)

    def serve(self):
        """Never returns."""
        while True:
            request = insist(self.pipe.next_request)
            if request is None or not self.run(request):
                os._exit(0)
            insist(interrupts.restore)

    def run(self, request):
        """One request, up to its `end`. Returns whether another one may follow."""
        mark, *rest = request
        if self.steps > 0:
            attempt(note_threads, self.steps)
        turn.begin()
        channel.begin(mark)
        failure = attempt(self._execute, *rest)
        if channel.records is None:
            leave_as_child(failure, self.module.__dict__)
        outcome, exit_code = report(failure, self.is_strict)
        if self.is_plan and outcome in ("completed", "failed"):
            late = attempt(wind_down, self.module.__dict__)
            late = (
                interrupts.raised if late is None else late
            )  # exit handlers may have swallowed it
            if late is not None:
                outcome, exit_code = report(late, self.is_strict)
        insist(interrupts.silence if self.is_plan else interrupts.disarm)
        insist(channel.send, end_record(outcome, exit_code), True)
        return not self.is_plan

    def _execute(self, mode, timeout_seconds, settings, source):
        self.is_plan = mode == b"plan"
        interrupts.arm(timeout_seconds)
        self._apply(json.loads(settings) if settings else NO_SETTINGS)
        filename = self.file if self.is_plan else self._next_step()
        if source.startswith(codecs.BOM_UTF8):
            source = source[len(codecs.BOM_UTF8) :]
        source = source.decode()
        remember_source(filename, source)
        parts = compile_script(source, filename)
        if self.is_hidden:
            set_dumpable(True)
            self.is_hidden = False
        self._execute_parts(parts, self.module.__dict__)

    def _apply(self, settings):
        if "env" in settings:
            os.environ.update(settings["env"])
        sandbox.learn(settings)
        self.is_strict = settings.get("sys_exit") == "error"
        if self.is_plan and "name" in settings:
            self.file = os.path.join(self.workspace, settings["name"])
            self.module.__file__ = self.file
            sys.argv = [self.file]

    def enter(self):
        """Makes this process look like `python script.py` in the workspace."""
        self.module.__dict__.update(self.base.tools)
        sys.modules["__main__"] = self.module
        sys.argv = [self.file]
        if not sys.path or sys.path[0] != self.workspace:
            sys.path.insert(0, self.workspace)

    def _next_step(self):
        if self.steps > 0:  # the first finds everything as it was prepared
            self.enter()
            forget_directories(self.base.settled_paths)
        self.steps += 1
        return "<step %d>" % self.steps

    def _execute_parts(self, parts, namespace):
        try:
            value = script_loop.evaluate(parts, namespace)
        except ScriptFinished:
            value = None
        if value is not None:
            if not self.is_plan:
                namespace["_"] = value
            display_value(value)
        show_figures()


def forget_directories(settled):
    """Drops the listings of directories that imports keep, but for those of the environment: no
    script can write there."""
    # Not importlib.invalidate_caches: since 3.10 that imports importlib.metadata, which takes
    # milliseconds.
    for path in sys.path_importer_cache.keys() - settled:
        finder = sys.path_importer_cache.get(path)
        if hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()


def end_record(outcome, exit_code):
    if exit_code is None:
        return END_RECORDS[outcome]
    return encode("end", {"type": "end", "outcome": outcome, "exit_code": exit_code})


def report(failure, is_strict):
    """Tells init about an uncaught exception; returns the outcome it means, and the exit code if
    it is that of sys.exit."""
    if failure is None or isinstance(failure, ScriptFinished):
        return "completed", None
    if not isinstance(failure, SystemExit):
        return report_exception(failure), None
    codes = []
    obstacle = attempt(lambda: codes.append(exit_code_of(failure)))  # the script's own property
    if obstacle is not None:
        return report_exception(obstacle), None
    (code,) = codes
    if is_strict:
        return report_exception(failure), code or None
    obstacle = attempt(report_exit, failure) if code != 0 else None
    if obstacle is not None:
        return report_exception(obstacle), None
    return "completed" if code == 0 else "failed", code


def report_exit(leaving):
    print_text(leaving)
    emit("error", describe_exit(leaving))


def report_exception(failure):
    event = {}
    obstacle = attempt(lambda: event.update(describe(failure)))  # runs the script's own __str__
    if obstacle is not None:
        event = describe_briefly(failure, obstacle)
    insist(emit, "error", event)
    is_interrupted = obstacle is not None and interrupts.raised is obstacle
    return outcome_of(obstacle if is_interrupted else failure)


def outcome_of(failure):
    if isinstance(failure, ScriptTimeout):
        return "timeout"
    if isinstance(failure, KeyboardInterrupt) and interrupts.has_cancelled:
        return "cancelled"
    return "failed"
