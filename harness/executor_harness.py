"""The Python side of a sandbox: loads the tools once, then forks one worker per turn.

Three processes share the work. `hearth-init` speaks to the host. This program, started by init, loads tools and
preloaded modules and never runs a script. A worker is a fork of it, made and warmed up before its turn arrives,
which runs one script (PLAN) or the steps of one lease (INTERACTIVE) and ends.

  control socket   init -> harness   {"type":"prepare"} with four descriptors: stdout, stderr, emit, run
                   harness -> init   ready | failed | prepare_failed
  run pipe         init -> worker    one JSON request per line
  emit pipe        worker -> init    "<stdout bytes so far> <stderr bytes so far> <json>", or without JSON: a mark

The two totals let init put what came through three pipes back into the order in which the script wrote it.
One file, standard library only, Python 3.8 and newer, also under `python -I -S`.
"""

import array
import ast
import atexit
import binascii
import builtins
import fcntl
import functools
import gc
import importlib
import importlib.machinery
import io
import json
import linecache
import math
import os
import signal
import socket
import sys
import threading
import traceback
import types

try:
    import ctypes
except ImportError:  # a minimal Python may lack it; then the harness only stays dumpable
    ctypes = None

asyncio = None  # large, so imported only when a tool is async

HARNESS_VERSION = "1"
MAX_RECORD_BYTES = 8 << 20
MAX_NESTING = 200
MAX_TEXT_CHARS = 64 << 10  # of a traceback, a message, a repr
LEVELS = ("debug", "info", "warning", "error", "critical")
STDOUT_FD, STDERR_FD, EMIT_FD, RUN_FD, FIRST_SPARE_FD = 1, 2, 3, 4, 5
PIPE_BYTES = 64 << 10
RETRY_SECONDS = 0.002
YEAR_SECONDS = 365 * 86400.0
PR_SET_DUMPABLE = 4
SYS_CLOSE_RANGE = 436
CO_COROUTINE, CO_ASYNC_GENERATOR = 0x80, 0x200
TOOLS_MODULE = "hearth_tools"
VALUE = "<value>"  # holds the last expression for a moment; no script can spell this name


class ScriptFinished(BaseException):
    """Unwinds a script after emit_result; not an Exception, so `except Exception` lets it pass."""


class ScriptTimeout(BaseException):
    """Raised in the script when its time is over."""


# Tracebacks print the module of a class unless it is one of these.
ScriptFinished.__module__ = ScriptTimeout.__module__ = "builtins"


class ToolResult:
    """What a tool hands to a script."""

    __module__ = "__main__"  # where a script finds it, and so where pickle looks
    __slots__ = ("success", "data", "message")
    __hash__ = None

    def __init__(self, success, data=None, message=""):
        self.success = success
        self.data = data
        self.message = message

    def as_dict(self):
        return {"success": self.success, "data": self.data, "message": self.message}

    def __eq__(self, other):
        return self.as_dict() == other.as_dict() if isinstance(other, ToolResult) else NotImplemented

    def __repr__(self):
        return "ToolResult(success=%r, data=%r, message=%r)" % (self.success, self.data, self.message)


# ---- Kernel ------------------------------------------------------------------------------------------------


def _open_libc():
    try:
        return ctypes.CDLL(None, use_errno=True)
    except (AttributeError, OSError):
        return None


libc = _open_libc()


def set_dumpable(dumpable):
    """A process that is not dumpable cannot be traced or read through /proc by its equals."""
    if libc is not None:
        libc.prctl(PR_SET_DUMPABLE, int(dumpable), 0, 0, 0)


def close_from(first):
    # Before 3.10 os.closerange closes one by one, and the limit may be a million. /proc/self/fd would need a
    # dumpable process.
    if libc is not None and libc.syscall(SYS_CLOSE_RANGE, first, ctypes.c_uint(-1), 0) == 0:
        return
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


# ---- What a worker tells init ------------------------------------------------------------------------------


class Channel:
    """Bytes on descriptors 1 and 2, and records on 3 that know where between those bytes they belong.

    After every record at most one of the two streams has written: when the other one is next, a mark comes
    first. Lock order: text streams are flushed before the lock is taken, never under it.
    """

    def __init__(self):
        self.records = None  # a buffer for the emit pipe; None where nobody may emit
        self.accepting = False  # false between the end of one step and the start of the next
        self.reset()

    def reset(self):
        self.lock = threading.RLock()
        self.totals = [0, 0]
        self.last = None  # the stream that has written since the last record

    def open(self):
        self.records = self._buffer(PIPE_BYTES)
        self.accepting = True

    def abandon(self):
        """For a process the script forked: its prints stay ordinary writes, its records would tear ours."""
        self.lock = threading.RLock()
        self.records = None

    @staticmethod
    def _buffer(size_bytes):
        return io.BufferedWriter(io.FileIO(EMIT_FD, "wb", closefd=False), size_bytes)

    def write(self, stream, data):
        """Writes all of `data` to stdout (0) or stderr (1), counted."""
        with self.lock:
            if self.last is not None and self.last != stream:
                self._mark()
            self.last = stream
            count = os.write(stream + 1, data)
            self.totals[stream] += count
            rest = memoryview(data).cast("B")[count:]
            while rest:
                count = os.write(stream + 1, rest)
                self.totals[stream] += count
                rest = rest[count:]

    def _mark(self):
        try:
            if self.records is not None:
                self._put(b"%d %d\n" % tuple(self.totals))
        except OSError:
            pass  # the script closed the emit pipe; its prints must not suffer

    def _put(self, line):
        # The whole line goes into a C buffer first: if an exception ends the flush half way (a signal handler
        # of the script), the rest stays there and precedes the next record.
        if len(line) > PIPE_BYTES:
            self.records.flush()
            self.records = self._buffer(len(line))
        self.records.write(line)
        self.records.flush()
        if len(line) > PIPE_BYTES:
            self.records = self._buffer(PIPE_BYTES)

    def send(self, payload, last_of_turn=False):
        flush_streams()
        with self.lock:
            if not self.accepting or self.records is None:
                return
            self._put(b"%d %d %b\n" % (self.totals[0], self.totals[1], payload))
            self.last = None
            self.accepting = not last_of_turn


class StreamBuffer(io.BufferedIOBase):
    """sys.stdout.buffer: unbuffered, because a buffer repeats its bytes when a write is interrupted."""

    def __init__(self, stream, name):
        self.stream = stream
        self.name = name
        self.mode = "wb"

    def write(self, data):
        if self.closed:
            raise ValueError("write to closed file")
        if isinstance(data, str):
            raise TypeError("a bytes-like object is required, not 'str'")
        channel.write(self.stream, data)
        return len(data) if isinstance(data, bytes) else memoryview(data).nbytes

    def writable(self):
        return True

    def fileno(self):
        return self.stream + 1

    @property
    def raw(self):
        return self


def _text_stream(stream, name):
    text = io.TextIOWrapper(
        StreamBuffer(stream, name), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
    text.mode = "w"
    return text


channel = Channel()
out, err = _text_stream(0, "<stdout>"), _text_stream(1, "<stderr>")


def install_streams():
    """Before the tools load, so that a stream a tool keeps is the one every worker uses."""
    sys.stdout = sys.__stdout__ = out
    sys.stderr = sys.__stderr__ = err


def flush_streams():
    for stream in (out, err, sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, broken, or whatever the script put in its place
            pass


# ---- JSON --------------------------------------------------------------------------------------------------


def jsonable(value):
    """What json does not know by itself, one level deep. Looks at types, so that classes are not instances."""
    kind = type(value)
    if isinstance(value, ToolResult):
        return value.as_dict()
    if hasattr(kind, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in kind.__dataclass_fields__}
    if hasattr(kind, "tolist"):
        return value.tolist()
    if hasattr(kind, "isoformat"):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return list(value)
    if hasattr(kind, "__fspath__") and isinstance(os.fspath(value), str):
        return os.fspath(value)
    raise TypeError("object of type %s is not JSON serialisable" % kind.__name__)


ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=jsonable)


def encode(where, event):
    """The event as UTF-8 JSON. Raises in the script, named after the helper it called, if that cannot be."""
    try:
        text = ENCODER.encode(event)
    except RecursionError:
        raise ValueError("%s: data nests deeper than %d levels" % (where, MAX_NESTING)) from None
    except TypeError as error:
        raise TypeError("%s: %s" % (where, error)) from None
    except ValueError as error:
        if "ircular" in str(error):
            raise ValueError("%s: %s" % (where, error)) from None
        text = _encode_awkward(where, event)
    payload = to_utf8(text)
    if len(payload) > MAX_RECORD_BYTES:
        limits = (where, len(payload), MAX_RECORD_BYTES)
        raise ValueError("%s: the payload has %d bytes, the limit is %d" % limits)
    if text.count("[") + text.count("{") > MAX_NESTING and nesting_of(text) > MAX_NESTING + 1:
        raise ValueError("%s: data nests deeper than %d levels" % (where, MAX_NESTING))
    return payload


def _encode_awkward(where, event):
    """Slow path for numbers the encoder refuses: NaN and infinities, integers of thousands of digits."""
    lost = []
    try:
        plain = without_nan(event, lost)
    except RecursionError:
        raise ValueError("%s: data nests deeper than %d levels" % (where, MAX_NESTING)) from None
    if lost:
        turn.warn_of_nan(where)
    if not hasattr(sys, "set_int_max_str_digits"):
        return ENCODER.encode(plain)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return ENCODER.encode(plain)
    finally:
        sys.set_int_max_str_digits(limit)


def without_nan(value, lost):
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        lost.append(value)
        return None
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, dict):
        return {_finite_key(key): without_nan(item, lost) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item, lost) for item in value]
    return without_nan(jsonable(value), lost)


def _finite_key(key):
    return str(key) if isinstance(key, float) and not math.isfinite(key) else key


def to_utf8(text):
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # lone surrogates; two that form a pair become their character
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.encode("utf-8")


def nesting_of(text):
    """How deep valid JSON nests: peels leaf by leaf, each layer at the speed of str.replace."""
    without_strings = "".join(json.scanner.re.split(r'"(?:[^"\\]|\\.)*"', text))
    brackets = json.scanner.re.sub(r"[^\[\]{}]+", "", without_strings).replace("{", "[").replace("}", "]")
    depth = 0
    while brackets and depth <= MAX_NESTING + 1:
        brackets = brackets.replace("[]", "")
        depth += 1
    return depth


def clip(text):
    """Head and tail of a long text."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    half = MAX_TEXT_CHARS // 2
    return "%s\n... %d characters left out ...\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


# ---- Helpers a script calls --------------------------------------------------------------------------------


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
            emit_log("%s: NaN and infinite numbers have no JSON form and became null" % where, "warning")


turn = Turn()
turn.begin()


def _require_channel(where):
    if channel.records is None:
        raise RuntimeError("%s: only the script's own process can emit, not one it forked" % where)


def _emit(where, event):
    _require_channel(where)
    channel.send(encode(where, event))


def emit_log(message, level="info"):
    """Sends a message to the log; the result is not affected."""
    if level not in LEVELS:
        raise ValueError("emit_log: level must be one of %s, not %r" % (", ".join(LEVELS), level))
    _emit("emit_log", {"type": "log", "level": level, "message": str(message)})


def emit_intermediate(label, data):
    """Sends a partial result at once, while the script goes on."""
    _emit("emit_intermediate", {"type": "intermediate", "label": str(label), "data": data})


def emit_result(data):
    """Sends the final result and ends the script: `finally` blocks run, later statements do not."""
    _require_channel("emit_result")
    payload = encode("emit_result", {"type": "final_result", "data": data})
    if turn.claim_result():
        channel.send(payload)
    else:
        emit_log("emit_result was called again; only the first result counts", "warning")
    raise ScriptFinished


def refuse_input(prompt="", /):
    raise EOFError("input() is not available: scripts run without a terminal")


def exit_script(code=None):
    raise SystemExit(code)


HELPERS = {
    "emit_result": emit_result,
    "emit_intermediate": emit_intermediate,
    "emit_log": emit_log,
    "ToolResult": ToolResult,
}


def end_thread(arguments, default=threading.excepthook):
    # emit_result in a thread has sent the result; the thread just ends.
    if not issubclass(arguments.exc_type, ScriptFinished):
        default(arguments)


# ---- Display -----------------------------------------------------------------------------------------------


def _base64(image):
    return binascii.b2a_base64(image, newline=False).decode() if isinstance(image, bytes) else image


def _json_part(value):
    return value[0] if isinstance(value, tuple) else value  # notebooks allow (data, metadata)


RICH_FORMS = (
    ("text/html", "_repr_html_", str),
    ("image/png", "_repr_png_", _base64),
    ("application/json", "_repr_json_", _json_part),
)


def display_value(value):
    """The value of a script's last expression, as a notebook shows it."""
    forms = {"text/plain": clip(repr(value))}
    for mime, method, convert in RICH_FORMS:
        render = getattr(type(value), method, None)
        try:
            rendered = render(value) if render is not None else None
            if rendered is not None:
                forms[mime] = convert(rendered)
        except Exception:
            pass  # the text remains, as in notebooks
    _display(forms)


def _display(forms):
    try:
        payload = encode("display", {"type": "display", "data": forms})
    except (TypeError, ValueError):
        text = forms.get("text/plain", "")
        payload = encode("display", {"type": "display", "data": {"text/plain": text}})
    channel.send(payload)


def show_figures(*_, **__):
    """Displays and closes the open matplotlib figures. Scripts know it as plt.show()."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or channel.records is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        image = io.BytesIO()
        figure.savefig(image, format="png", bbox_inches="tight")
        _display({"text/plain": clip(repr(figure)), "image/png": _base64(image.getvalue())})
        pyplot.close(figure)


class PyplotHook:
    """An import hook for one module: gives pyplot its show() without loading it for those who never plot."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.pyplot":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = functools.partial(self._execute, spec.loader.exec_module)
        return spec

    @staticmethod
    def _execute(original, module):
        original(module)
        module.show = show_figures


def hook_pyplot():
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.meta_path.insert(0, PyplotHook())


# ---- Async tools -------------------------------------------------------------------------------------------


class ToolLoop:
    """One private event loop on a thread of its own, started in the worker by the first async call."""

    def __init__(self):
        self.loop = self.thread = None

    def is_here(self):
        return self.thread is not None and self.thread.ident == threading.get_ident()

    def call(self, coroutine):
        future = asyncio.run_coroutine_threadsafe(coroutine, self._running())
        try:
            error = future.exception()
        except BaseException:  # the script's time is over, or it was cancelled
            future.cancel()
            raise
        if error is not None:
            raise error  # from here rather than by result(): keeps library frames out of the traceback
        return future.result()

    def _running(self):
        if self.loop is None:
            loop = asyncio.new_event_loop()
            thread = threading.Thread(target=loop.run_forever, name="hearth-tools", daemon=True)
            thread.start()
            # Last, because a time-out may end this function anywhere.
            self.thread, self.loop = thread, loop
        return self.loop

    def iterate(self, generator):
        try:
            while True:
                item = self.call(_next_of(generator))
                if item is VALUE:
                    return
                yield item
        finally:
            self.call(_close(generator))


async def _next_of(generator):
    try:
        return await generator.__anext__()
    except StopAsyncIteration:
        return VALUE


async def _close(generator):
    await generator.aclose()


tool_loop = ToolLoop()


def synchronous(tool):
    """An async tool as scripts call it. On the loop itself it stays what it was, so tools can await tools."""
    finish = tool_loop.call if tool.__code__.co_flags & CO_COROUTINE else tool_loop.iterate

    @functools.wraps(tool)
    def call(*args, **kwargs):
        started = tool(*args, **kwargs)
        return started if tool_loop.is_here() else finish(started)

    return call


def wrap_async_tools(tools):
    global asyncio
    for name, tool in list(tools.items()):
        if not isinstance(tool, types.FunctionType) or tool.__module__ != TOOLS_MODULE:
            continue
        if tool.__code__.co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR):
            asyncio = asyncio or importlib.import_module("asyncio")
            tools[name] = synchronous(tool)


# ---- Errors of a script ------------------------------------------------------------------------------------


def describe(error):
    name, message = type(error).__name__, _message_of(error)
    text = clip(format_traceback(error))
    return {"type": "error", "name": name, "message": clip(message), "traceback": text}


def describe_briefly(error, obstacle):
    """For an exception whose own methods fail: nothing of it is called."""
    name = type.__getattribute__(type(error), "__name__")
    message = "<unprintable %s object>" % name
    text = "%s: %s (no traceback: %s)\n" % (name, message, type(obstacle).__name__)
    return {"type": "error", "name": name, "message": message, "traceback": text}


def _message_of(error):
    if isinstance(error, SystemExit):
        if isinstance(error.code, str):
            return error.code
        return "sys.exit(%s) called" % ("" if error.code is None else repr(error.code))
    try:
        return str(error)
    except Exception:
        return "<unprintable %s object>" % type(error).__name__


def format_traceback(error):
    _hide_our_exceptions(error)
    report = traceback.TracebackException(type(error), error, error.__traceback__)
    _hide_our_frames(report, set())
    return "".join(report.format())


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
    report.stack[:] = [frame for frame in report.stack if frame.filename != HARNESS_FILE]
    for inner in (report.__cause__, report.__context__, *(getattr(report, "exceptions", None) or ())):
        _hide_our_frames(inner, seen)


# ---- Signals -----------------------------------------------------------------------------------------------


def interruptible(body, *args):
    """While this is on the stack, and only then, a signal may raise in what it calls."""
    return body(*args)


def attempt(body, *args):
    """Runs `body` and returns what it raised. No signal raises in here: its handler looks at the stack."""
    try:
        interruptible(body, *args)
    except BaseException as error:
        return error
    return None


HARNESS_FILE = interruptible.__code__.co_filename
# Where an exception would lose count of what is written already.
UNBROKEN = (Channel.write.__code__, Channel.send.__code__, Channel._put.__code__, Turn.claim_result.__code__)


class Interrupts:
    """SIGALRM and SIGINT as exceptions in the script, never anywhere else.

    A signal that comes where nothing may be raised comes again a moment later, until the script has it or ends.
    """

    def __init__(self):
        self.is_live = False
        self.limit_seconds = 0.0
        self.due = None
        self.raised = None  # the last exception thrown at the script, whether or not it got through
        self.has_cancelled = False

    def restore(self):
        """As a script finds them; also after a step that changed them."""
        signal.signal(signal.SIGALRM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def arm(self, limit_seconds):
        self.due = self.raised = None
        self.has_cancelled = False
        self.limit_seconds = limit_seconds
        self.is_live = True
        if limit_seconds > 0:
            signal.setitimer(signal.ITIMER_REAL, min(limit_seconds, YEAR_SECONDS))

    def disarm(self):
        self.is_live = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _on_signal(self, number, frame):
        if not self.is_live:
            return
        error = self.due or self._exception_for(number)
        if self._may_raise_in(frame):
            self.due, self.raised = None, error
            raise error
        self.due = error
        signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)

    def _exception_for(self, number):
        if number == signal.SIGINT:
            self.has_cancelled = True
            return KeyboardInterrupt("Script cancelled")
        return ScriptTimeout("Script timed out after %gs" % self.limit_seconds)

    @staticmethod
    def _may_raise_in(frame):
        while frame is not None:
            code = frame.f_code
            if code is interruptible.__code__:
                return True
            if any(code is unbroken for unbroken in UNBROKEN):
                return False
            frame = frame.f_back
        return False


interrupts = Interrupts()


# ---- One script --------------------------------------------------------------------------------------------


def compile_script(source, filename):
    """Code that leaves the value of a trailing expression under VALUE."""
    tree = compile(source, filename, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body[-1] if tree.body else None
    if type(last) is ast.Expr and not _is_silenced(source, last):
        target = ast.copy_location(ast.Name(VALUE, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value, None), last)
    return compile(tree, filename, "exec", dont_inherit=True)


def _is_silenced(source, expression):
    """Whether a `;` follows, which in notebooks means: do not show."""
    if ";" not in source:
        return False
    lines = source.encode("utf-8").splitlines()[expression.end_lineno - 1 :]
    lines[0] = lines[0][expression.end_col_offset :]
    return b" ".join(line.partition(b"#")[0] for line in lines).rstrip().endswith(b";")


def remember_source(filename, source):
    # No modification time: linecache keeps such an entry although there is no file.
    lines = [line + "\n" for line in source.split("\n")]
    linecache.cache[filename] = (len(source), None, lines, filename)


class Worker:
    """Runs the requests of one lease in the globals they share."""

    def __init__(self, names, workspace, dumpable=True):
        self.names = names
        self.workspace = workspace
        self.file = os.path.join(workspace, "script.py")
        self.dumpable = dumpable
        self.module = None
        self.is_plan = True
        self.steps = 0

    def run(self, line):
        """One request, from its line to its `end`. Returns whether another one may follow."""
        turn.begin()
        channel.accepting = True
        failure = attempt(self._execute, line)
        if channel.records is None:
            leave_as_child(failure)
        outcome = report(failure)
        if self.is_plan and outcome in ("completed", "failed"):
            late = attempt(wind_down) or interrupts.raised  # exit handlers swallow what is raised in them
            outcome = outcome if late is None else report(late)
        insist(interrupts.disarm)
        insist(channel.send, END_RECORDS[outcome], True)
        return not self.is_plan

    def _execute(self, line):
        request = json.loads(line)
        self.is_plan = request.get("mode") != "interactive"
        interrupts.arm(float(request.get("timeout") or 0))
        os.environ.update(request.get("env") or {})
        filename = self._enter()
        source = request["script"]
        remember_source(filename, source)
        code = compile_script(source, filename)
        set_dumpable(self.dumpable)
        self._execute_code(code, self.module.__dict__)

    def _enter(self):
        """Makes this process look like `python script.py` in the workspace."""
        if self.module is None:
            self.module = types.ModuleType("__main__")
            self.module.__dict__.update(__file__=self.file, __builtins__=builtins)
        self.module.__dict__.update(self.names)
        sys.modules["__main__"] = self.module
        sys.argv = [self.file]
        if not sys.path or sys.path[0] != self.workspace:
            sys.path.insert(0, self.workspace)
        if self.is_plan:
            return self.file
        forget_directories()
        self.steps += 1
        return "<step %d>" % self.steps

    def _execute_code(self, code, namespace):
        try:
            exec(code, namespace)
        except ScriptFinished:
            pass
        else:
            value = namespace.pop(VALUE, None)
            if value is not None:
                if not self.is_plan:
                    namespace["_"] = value
                display_value(value)
        show_figures()


END_RECORDS = {
    outcome: encode("end", {"type": "end", "outcome": outcome})
    for outcome in ("completed", "failed", "timeout", "cancelled")
}


def forget_directories():
    # Not importlib.invalidate_caches: since 3.10 that imports importlib.metadata, which takes milliseconds.
    for finder in list(sys.path_importer_cache.values()):
        if hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()


def report(failure):
    """Tells init about an uncaught exception; returns the outcome it means."""
    if failure is None or isinstance(failure, ScriptFinished):
        return "completed"
    event = {}
    obstacle = attempt(lambda: event.update(describe(failure)))  # runs the script's own __str__
    if obstacle is not None:
        event = describe_briefly(failure, obstacle)
    insist(_emit, "error", event)
    return outcome_of(failure if obstacle is None or interrupts.raised is not obstacle else obstacle)


def outcome_of(failure):
    if isinstance(failure, ScriptTimeout):
        return "timeout"
    if isinstance(failure, KeyboardInterrupt) and interrupts.has_cancelled:
        return "cancelled"
    return "failed"


def wind_down():
    """What Python by hand does after the last line of a script."""
    interrupts.raised = None
    try:
        if threading.active_count() > 1:
            threading._shutdown()
        atexit._run_exitfuncs()
    except (Exception, SystemExit, ScriptFinished):
        pass  # up to 3.9 the last error of an exit handler comes back; it is on stderr already


def insist(step, *args):
    """For what must happen although a signal handler the script left behind may raise in the middle of it."""
    for _ in range(8):
        try:
            return step(*args)
        except BaseException:
            continue
    return None


def leave_as_child(failure):
    """A process the script forked came to the end of the script: it ends as any Python would, unheard by init."""
    status = 0
    if isinstance(failure, SystemExit):
        status = failure.code if isinstance(failure.code, int) else int(failure.code is not None)
    elif failure is not None and not isinstance(failure, ScriptFinished):
        status = 1
        insist(lambda: sys.stderr.write(format_traceback(failure)))
    insist(flush_streams)
    os._exit(status & 0xFF)


# ---- The worker --------------------------------------------------------------------------------------------


class RunPipe:
    """Requests, line by line. What is read already survives an exception."""

    def __init__(self):
        self.parts = []
        self.rest = b""

    def next_line(self):
        """None when init has closed its end."""
        while True:
            chunk = self.rest or os.read(RUN_FD, PIPE_BYTES)
            if not chunk:
                return None
            head, newline, self.rest = chunk.partition(b"\n")
            self.parts.append(head)
            if newline:
                line, self.parts = b"".join(self.parts), []
                return line


def serve_worker(stdout_fd, stderr_fd, emit_fd, run_fd, base):
    """Turns a freshly forked process into a worker. Never returns."""
    try:
        become_worker(base.workspace)
        saved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (stdout_fd, stderr_fd, emit_fd, run_fd)]
        rehearse(base.workspace)
        for target, fd in enumerate(saved, STDOUT_FD):
            os.dup2(fd, target, inheritable=target <= STDERR_FD)
        close_from(FIRST_SPARE_FD)
        channel.open()
        channel.send(encode("prepared", {"type": "prepared", "pid": os.getpid()}))
        serve_requests(Worker(base.names, base.workspace), RunPipe())
    except BaseException:
        traceback.print_exc()
        flush_streams()
    finally:
        os._exit(1)


def serve_requests(worker, pipe):
    while True:
        line = insist(pipe.next_line)
        if line is None or not worker.run(line):
            os._exit(0)
        insist(interrupts.restore)


def become_worker(workspace):
    """Undoes what a fork shares with its parent, and gives a script the surroundings it expects."""
    channel.reset()
    try:
        os.setsid()
    except OSError:
        pass  # leads a session already
    interrupts.restore()
    os.chdir(workspace if os.path.isdir(workspace) else "/")
    for name in ("random", "numpy.random"):
        if name in sys.modules:
            sys.modules[name].seed()
    threading.excepthook = end_thread
    builtins.input = refuse_input
    builtins.exit = builtins.quit = exit_script
    os.register_at_fork(after_in_child=forget_worker)


def forget_worker():
    channel.abandon()
    tool_loop.__init__()


REHEARSAL = (
    "print('warm')\nemit_log('warm')\n[1, {'warm': 2.5}]",
    "def warm():\n    raise ValueError('warm')\nwarm()",
    "import sys\nprint('warm', file=sys.stderr)\nemit_result({'warm': [None, True]})",
)


def rehearse(workspace):
    """Runs a few scripts of our own into /dev/null, so that the turn finds every page copied and every cache
    filled. Nothing of it stays visible."""
    null = fcntl.fcntl(os.open("/dev/null", os.O_RDWR), fcntl.F_DUPFD_CLOEXEC, 64)
    for fd in (0, STDOUT_FD, STDERR_FD):
        os.dup2(null, fd)
    os.dup2(null, EMIT_FD, inheritable=False)
    sys.stdin = sys.__stdin__ = io.open(0, encoding="utf-8", closefd=False)
    pipe_out, pipe_in = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in os.pipe())
    os.dup2(pipe_out, RUN_FD, inheritable=False)
    channel.open()
    worker, pipe = Worker(HELPERS, workspace, dumpable=False), RunPipe()
    for script in REHEARSAL:
        request = {"script": script, "timeout": 60.0, "mode": "interactive", "env": {}}
        os.write(pipe_in, json.dumps(request).encode() + b"\n")
        worker.run(pipe.next_line())
    for step in range(len(REHEARSAL)):
        linecache.cache.pop("<step %d>" % (step + 1), None)
    channel.reset()


# ---- The harness -------------------------------------------------------------------------------------------


class LoadFailed(Exception):
    """A tool or a preloaded module raised while loading."""

    def __init__(self, what, error):
        last_line = "".join(traceback.format_exception_only(type(error), error)[-1:]).strip()
        super().__init__("%s: %s" % (what, last_line))
        self.traceback = clip(format_traceback(error))


class Base:
    """What every worker starts with."""

    def __init__(self, names, workspace):
        self.names = names
        self.workspace = workspace


def load_base(tools, workspace, preload=(), paths=()):
    install_streams()
    hook_pyplot()
    for path in paths:
        add_path(path)
    names = load_tools(tools)
    for module in preload:
        try:
            importlib.import_module(module)
        except BaseException as error:
            raise LoadFailed("preload %s" % module, error)
    flush_streams()
    gc.collect()
    gc.freeze()
    return Base(names, workspace)


def add_path(path):
    try:
        import site
    except ImportError:
        sys.path.append(path)
    else:
        site.addsitedir(path)  # reads .pth files too


def load_tools(directory):
    """Every *.py of the directory, in the order of their names, into one namespace."""
    module = types.ModuleType(TOOLS_MODULE)
    sys.modules[TOOLS_MODULE] = module  # dataclasses, pickle and typing look classes up there
    tools = module.__dict__
    tools.update(HELPERS)
    files = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    for name in files:
        if name.endswith(".py"):
            load_tool(os.path.join(directory, name), tools)
    wrap_async_tools(tools)
    tools.update(HELPERS)
    return {name: value for name, value in tools.items() if not (name[:2] == name[-2:] == "__")}


def load_tool(path, tools):
    try:
        with open(path, "rb") as file:  # bytes, so that the file may declare its encoding
            source = file.read()
        tools["__file__"] = path
        exec(compile(source, path, "exec", dont_inherit=True), tools)
    except BaseException as error:
        raise LoadFailed("tool %s" % os.path.basename(path), error)


def serve_control(control, base):
    while True:
        packet, fds = receive(control)
        if not packet:
            os._exit(0)
        try:
            if _type_of(packet) == "prepare" and len(fds) == 4:
                prepare(control, fds, base)
        except OSError as error:
            send(control, {"type": "prepare_failed", "message": "fork: %s" % error.strerror})
        finally:
            for fd in fds:
                os.close(fd)


def _type_of(packet):
    try:
        return json.loads(packet)["type"]
    except (ValueError, TypeError, KeyError):
        return None


def receive(control):
    """One packet and the descriptors that came with it. socket.recv_fds would need 3.9."""
    fds = array.array("i")
    space = socket.CMSG_SPACE(16 * fds.itemsize)
    try:
        packet, ancillary, _, _ = control.recvmsg(1 << 16, space, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return b"", []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return packet, list(fds)


def send(control, message):
    control.send(json.dumps(message).encode())


def prepare(control, fds, base):
    """Forks twice: the process between ends at once, so that the worker becomes a child of init."""
    between = os.fork()
    if between == 0:
        status = 1
        try:
            if os.fork() == 0:
                control.close()
                serve_worker(*fds, base)
            status = 0
        except OSError as error:
            status = error.errno
        finally:
            os._exit(status)
    _, wait_status = os.waitpid(between, 0)
    if wait_status != 0:
        code = os.WEXITSTATUS(wait_status) if os.WIFEXITED(wait_status) else 0
        raise OSError(code, os.strerror(code))


def parse_arguments(arguments):
    options = {"tools": "/tools", "workspace": "/workspace", "preload": [], "paths": []}
    rest = [part for argument in arguments for part in argument.split("=", 1)]
    if len(rest) % 2:
        raise SystemExit("executor_harness: every option needs a value: %s" % " ".join(arguments))
    for option, value in zip(rest[::2], rest[1::2]):
        if option == "--path":
            options["paths"].append(value)
        elif option == "--preload":
            options["preload"] += [name.strip() for name in value.split(",") if name.strip()]
        elif option in ("--tools", "--workspace"):
            options[option[2:]] = os.path.abspath(value)
        else:
            raise SystemExit("executor_harness: unknown option %s" % option)
    return options


def hold_standard_fds():
    # A closed one would be given to the next file opened, and prints would go there.
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open("/dev/null", os.O_RDWR)


def main(arguments):
    options = parse_arguments(arguments)
    hold_standard_fds()
    control = socket.socket(fileno=int(os.environ.pop("HEARTH_CONTROL_FD")))
    control.set_inheritable(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own_directory = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != own_directory]
    try:
        base = load_base(**options)
    except LoadFailed as failure:
        send(control, {"type": "failed", "message": str(failure), "traceback": failure.traceback})
        return 1
    set_dumpable(False)
    version = "%d.%d.%d" % sys.version_info[:3]
    send(control, {"type": "ready", "python": version, "harness": HARNESS_VERSION})
    return serve_control(control, base)


if __name__ == "__main__":
    # Warnings about __main__ are shown by default; those are meant for the author of a script.
    __name__ = "executor_harness"
    sys.exit(main(sys.argv[1:]))
