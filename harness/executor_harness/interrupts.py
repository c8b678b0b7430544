"""Time-outs and cancelling: signals that raise in the script, never in the harness's own code."""

import signal

from .cpython import SIG_SETMASK, SIGALRM, SIGINT, get_handler, set_handler, set_signal_mask

RETRY_SECONDS = 0.002
YEAR_SECONDS = 365 * 86400.0
TIME_LIMIT = "resource_limits.execution_timeout_sec, or the timeout of the run"


class ScriptTimeout(BaseException):
    """Raised in the script when its time is over."""

    __module__ = "builtins"  # so that tracebacks print the name alone


def interruptible(body, *args):
    """While this is on the stack, and only then, a signal may raise in what it calls."""
    return body(*args)


def attempt(body, *args):
    """Runs `body` and returns what it raised. No signal raises in here: on_signal() looks at the
    stack."""
    try:
        interruptible(body, *args)
    except BaseException as error:
        return error
    return None


def insist(step, *args):
    """For what must happen although a signal handler that the script left behind may raise."""
    for _ in range(8):
        try:
            return step(*args)
        except BaseException:
            continue
    return None


_unbroken_codes = []


def unbroken(function):
    """No signal raises in this function, not even when the script calls it."""
    _unbroken_codes.append(function.__code__)
    return function


def is_inside(frame, codes):
    """Whether one of these functions is running at `frame`."""
    while frame is not None:
        if any(frame.f_code is code for code in codes):
            return True
        frame = frame.f_back
    return False


def is_in_script(frame):
    return is_inside(frame, (interruptible.__code__,))


class Interrupts:
    """SIGALRM and SIGINT as exceptions in the script.

    A signal that arrives where nothing may be raised is repeated a moment later, until the script
    gets it or ends.
    """

    def __init__(self):
        self.is_live = False
        self.limit_seconds = 0.0
        self.due = None
        self.raised = None  # the last exception thrown at the script, whether or not it got through
        self.has_cancelled = False
        # Asked before an exception is raised in the script: true if it gets there in another way.
        self.divert = None
        self.thrown = None  # by a handler of the script; no `except` of the harness may keep it

    def restore(self):
        """As a script finds them; also after a step that changed them."""
        for number in (SIGALRM, SIGINT):
            if get_handler(number) != self.on_signal:
                set_handler(number, self.on_signal)
        set_signal_mask(SIG_SETMASK, ())

    def arm(self, limit_seconds):
        self.due = self.raised = None
        self.has_cancelled = False
        self.limit_seconds = limit_seconds
        self.is_live = True
        if limit_seconds > 0:
            signal.setitimer(signal.ITIMER_REAL, min(limit_seconds, YEAR_SECONDS))

    def silence(self):
        """For a process that is about to exit, which ends its timer too."""
        self.is_live = False

    def disarm(self):
        self.is_live = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def on_signal(self, number, frame):
        if not self.is_live:
            return
        error = self.due or self._exception_for(number)
        if is_in_script(frame) and not is_inside(frame, _unbroken_codes):
            self.due, self.raised = None, error
            if self.divert is not None and self.divert(error):
                return
            raise error
        self.due = error
        signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)

    def _exception_for(self, number):
        if number == SIGINT:
            self.has_cancelled = True
            return KeyboardInterrupt("Script cancelled")
        return ScriptTimeout("Script timed out after %gs (%s)" % (self.limit_seconds, TIME_LIMIT))


interrupts = Interrupts()


def unless_thrown(error):
    """For an error that the harness ignores, unless a signal handler of the script raised it."""
    if error is interrupts.thrown:
        raise error


class ScriptHandler:
    """A signal handler of the script: runs while the script does, never in the harness's code."""

    def __init__(self, handler):
        self.handler = handler

    def __call__(self, number, frame):
        if not is_in_script(frame):
            return
        try:
            self.handler(number, frame)
        except BaseException as error:
            interrupts.thrown = error
            raise


def install_handler(signalnum, handler):
    """signal.signal, for scripts."""
    if callable(handler) and handler != interrupts.on_signal:
        handler = ScriptHandler(handler)
    return _unguarded(set_handler(signalnum, handler))


def installed_handler(signalnum):
    """signal.getsignal, for scripts."""
    return _unguarded(get_handler(signalnum))


def _unguarded(handler):
    handler = handler.handler if isinstance(handler, ScriptHandler) else handler
    return signal.Handlers(handler) if handler in (signal.SIG_DFL, signal.SIG_IGN) else handler
