"""The Python side of a sandbox: loads the tools once, then forks one worker per turn.

Three processes share the work. `hearth-init` speaks to the host. This program, started by init or, for all sandboxes of
an environment, outside of them (see Zygote), loads tools and preloaded modules and never runs a script. A worker is a fork of it, made and warmed up before its turn arrives,
which runs one script (PLAN) or the steps of one lease (INTERACTIVE) and ends.

  control socket   init -> harness   {"type":"prepare","number":n} with four descriptors: stdout, stderr, emit, run
                   harness -> init   ready | failed | prepare_failed
  run pipe         init -> worker    "<mode> <timeout> <mark> <bytes of env> <bytes of script>\\n", env as JSON, script
                                     an empty line asks for nothing: init only looks whether it is read
  emit pipe        worker -> init    "<stdout bytes so far> <stderr bytes so far> <mark> <json>", or only the totals

The two totals let init put what came through three pipes back into the order in which the script wrote it. The mark is
random and new for each turn: what has another one, or none, belongs to no turn.
One file, standard library only, Python 3.8 and newer, also under `python -I -S`.
"""

import _imp
import _signal
import _thread
import array
import ast
import atexit
import binascii
import builtins
import codecs
import contextlib
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
import re
import select
import signal
import socket
import sys
import time
import traceback
import types
import weakref

try:
    import ctypes
except ImportError:  # a minimal Python may lack it; then the harness only stays dumpable
    ctypes = None

asyncio = None  # large, so imported only when a tool is async


class ForkHandlers:
    """What every new process has to do.

    threading's own handler is Python that touches, and so copies, dozens of pages in every worker, to forget threads
    that most harnesses do not have. So it is kept from being registered, and called where there may be some.
    """

    def __init__(self):
        self.of_threading = []
        self.has_nothing_to_forget = False
        self.forget_worker = lambda: None

    def import_threading(self):
        register = os.register_at_fork
        os.register_at_fork = lambda **handlers: self.of_threading.append(handlers["after_in_child"])
        try:
            return importlib.import_module("threading")
        finally:
            os.register_at_fork = register
            register(after_in_child=self.run)  # first, as it would have been

    def run(self):
        if self.has_nothing_to_forget:
            self.has_nothing_to_forget = False  # whoever this process forks may have
            return
        try:
            for handler in self.of_threading:
                handler()  # what a script did to its threads may make it fail
        finally:
            self.forget_worker()

    def expect_worker(self):
        """The next process that is forked is a worker."""
        # A thread is in these lists until it has ended, and for a moment longer; the main thread may be in the last.
        left = threading.active_count() - 1 or _thread._count() or len(getattr(threading, "_shutdown_locks", ())) > 1
        self.has_nothing_to_forget = not left and is_only_thread()

    def expect_any(self):
        self.has_nothing_to_forget = False


def is_only_thread():
    """Whether the process has no other, even one that Python does not know yet."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


fork_handlers = ForkHandlers()
threading = fork_handlers.import_threading()

HARNESS_VERSION = "1"
MAX_RECORD_BYTES = 8 << 20
MAX_NESTING = 200
MAX_TEXT_CHARS = 64 << 10  # of a traceback, a message, a repr
MAX_PACKET_CHARS = 8 << 10  # of each of two texts in a packet to init; as JSON each may take six bytes
LEVELS = ("debug", "info", "warning", "error", "critical")
STDOUT_FD, STDERR_FD, EMIT_FD, RUN_FD, FIRST_SPARE_FD = 1, 2, 3, 4, 5
PIPE_BYTES = 64 << 10
RETRY_SECONDS = 0.002
PATIENCE_SECONDS = 0.005  # of a worker that waits for a script before it rehearses
YEAR_SECONDS = 365 * 86400.0
PR_SET_DUMPABLE = 4
SYS_CLOSE_RANGE = 436
CLONE_VM, CLONE_PARENT = 0x100, 0x8000
HOLDER_STACK_BYTES = 16 << 10
CO_COROUTINE, CO_ASYNC_GENERATOR = 0x80, 0x200
TOOLS_MODULE = "hearth_tools"


class ScriptFinished(BaseException):
    """Unwinds a script after emit_result; not an Exception, so `except Exception` lets it pass."""


class ScriptTimeout(BaseException):
    """Raised in the script when its time is over."""


# Tracebacks print the module of a class unless it is one of these.
ScriptFinished.__module__ = ScriptTimeout.__module__ = "builtins"


class ToolResult:
    """What a tool hands to a script."""

    __module__ = "__main__"  # where a script finds it, and so where pickle looks
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
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl, library.syscall, library.clone, library.pause  # looked up here once, not in each worker
        return library
    except (AttributeError, OSError):
        return None


libc = _open_libc()


def set_dumpable(dumpable):
    """A process that is not dumpable cannot be traced or read through /proc by its equals."""
    if libc is not None:
        libc.prctl(PR_SET_DUMPABLE, int(dumpable), 0, 0, 0)


def out_of_the_way(fd):
    """A duplicate above the descriptors a worker gives a meaning to."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_SPARE_FD)


def moved_away(fd):
    copy = out_of_the_way(fd)
    os.close(fd)
    return copy


def close_from(first):
    # Before 3.10 os.closerange closes one by one, and the limit may be a million. /proc/self/fd would need a
    # dumpable process.
    if libc is not None and libc.syscall(SYS_CLOSE_RANGE, first, ctypes.c_uint(-1), 0) == 0:
        return
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


# ---- What a worker tells init ------------------------------------------------------------------------------


class Channel:
    """Bytes on descriptors 1 and 2, and records on 3 that know where between those bytes they belong.

    After every record at most one of the two streams has written: when the other one is next, a line with only the
    totals comes first. Lock order: text streams are flushed before the lock is taken, never under it.
    """

    def __init__(self):
        self.records = None  # a buffer for the emit pipe; None where nobody may emit
        self.accepting = False  # false between the end of one step and the start of the next
        self.mark = b""  # of the running turn; init drops records without it
        self.reset()

    def reset(self):
        self.lock = threading.RLock()
        self.totals = [0, 0]
        self.last = None  # the stream that has written since the last record

    def open(self):
        """For the next script, which accepts records from its beginning."""
        self.records = self._buffer(PIPE_BYTES)
        self.accepting = False

    def begin(self, mark):
        """The turn with this mark starts."""
        self.mark = mark
        self.accepting = True

    def is_as_new(self):
        """Whether it is open and nobody has used it: somebody may have in the zygote, or in a handler after the fork."""
        return self.records is not None and self.last is None and self.totals == [0, 0]

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
                self._put_totals()
            self.last = stream
            count = os.write(stream + 1, data)
            self.totals[stream] += count
            rest = memoryview(data).cast("B")[count:]
            while rest:
                count = os.write(stream + 1, rest)
                self.totals[stream] += count
                rest = rest[count:]

    def _put_totals(self):
        try:
            if self.records is not None:
                self._put(b"%d %d\n" % tuple(self.totals))
        except OSError as error:
            unless_thrown(error)  # the script closed the emit pipe; its prints must not suffer

    def _put(self, line):
        # The whole line goes into a C buffer first: if an exception ends the flush half way (a signal handler
        # of the script), the rest stays there and precedes the next record.
        if len(line) >= PIPE_BYTES:
            self.records.flush()
            self.records = self._buffer(len(line) + 1)  # 3.13 buffers only what is smaller than that
        self.records.write(line)
        self.records.flush()
        if len(line) >= PIPE_BYTES:
            self.records = self._buffer(PIPE_BYTES)

    def send(self, payload, last_of_turn=False):
        flush_streams()
        self._record(payload, last_of_turn)

    def _record(self, payload, last_of_turn):
        with self.lock:
            if not self.accepting or self.records is None:
                return
            self._put(b"%d %d %b %b\n" % (self.totals[0], self.totals[1], self.mark, payload))
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
    sys.stdin = sys.__stdin__ = io.open(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = out
    sys.stderr = sys.__stderr__ = err


def flush_streams():
    replaced = (sys.stdout, sys.stderr) if sys.stdout is not out or sys.stderr is not err else ()
    for stream in (out, err, *replaced):
        try:
            stream.flush()
        except Exception as error:  # closed, broken, or whatever the script put in its place
            unless_thrown(error)


def unless_thrown(error):
    """What we may ignore, unless a signal handler of the script raised it."""
    if error is interrupts.thrown:
        raise error


# ---- JSON --------------------------------------------------------------------------------------------------


def jsonable(value):
    """What json does not know by itself, one level deep. Looks at types, so that classes are not instances."""
    kind = type(value)
    if isinstance(value, ToolResult):
        return value.as_dict()
    if hasattr(kind, "__dataclass_fields__"):
        return {field.name: getattr(value, field.name) for field in sys.modules["dataclasses"].fields(value)}
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
    except (TypeError, ValueError, RecursionError) as error:
        unless_thrown(error)
        text = _encode_awkward(where, event, error)
    payload = to_utf8(text)
    if len(payload) > MAX_RECORD_BYTES:
        limits = (where, len(payload), MAX_RECORD_BYTES)
        raise ValueError("%s: the payload has %d bytes, the limit is %d" % limits)
    if text.count("[") + text.count("{") > MAX_NESTING and nesting_of(text) > MAX_NESTING + 1:
        raise ValueError("%s: data nests deeper than %d levels" % (where, MAX_NESTING))
    return payload


def _encode_awkward(where, event, error):
    """Slow path for numbers the encoder refuses: NaN and infinities, integers of thousands of digits."""
    if isinstance(error, TypeError):
        raise TypeError("%s: %s" % (where, error)) from None
    if "ircular" in str(error):
        raise ValueError("%s: %s" % (where, error)) from None
    lost = []
    try:
        plain = without_nan(event, lost)
    except RecursionError:
        raise ValueError("%s: data nests deeper than %d levels" % (where, MAX_NESTING)) from None
    if lost:
        turn.warn_of_nan(where)
    with all_digits():
        return ENCODER.encode(plain)


@contextlib.contextmanager
def all_digits():
    if not hasattr(sys, "set_int_max_str_digits"):
        yield
        return
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
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
    without_strings = "".join(re.split(r'"(?:[^"\\]|\\.)*"', text))
    brackets = re.sub(r"[^\[\]{}]+", "", without_strings).replace("{", "[").replace("}", "]")
    depth = 0
    while brackets and depth <= MAX_NESTING + 1:
        brackets = brackets.replace("[]", "")
        depth += 1
    return depth


def clip(text, most_chars=MAX_TEXT_CHARS):
    """Head and tail of a long text."""
    if len(text) <= most_chars:
        return text
    half = most_chars // 2
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


def note_threads(step):
    """Remembers for each thread the step that started it. Called before the next one starts."""
    if _thread._count() == 0:
        return
    for thread in threading.enumerate():
        if thread not in (threading.main_thread(), tool_loop.thread):  # the loop's works for the step that calls it
            vars(thread).setdefault("_hearth_step", step)


def origin():
    """A label for what this thread emits if an earlier step has started it, else nothing."""
    thread = threading._active.get(threading.get_ident())  # current_thread() would make one that stays for ever
    step = None if thread is None else vars(thread).get("_hearth_step")
    return "" if step is None else "[thread of step %d] " % step


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
    _emit("emit_log", {"type": "log", "level": level, "message": origin() + str(message)})


def emit_intermediate(label, data):
    """Sends a partial result at once, while the script goes on."""
    _emit("emit_intermediate", {"type": "intermediate", "label": origin() + str(label), "data": data})


def emit_result(data):
    """Sends the final result and ends the script: `finally` blocks run, later statements do not."""
    _require_channel("emit_result")
    if origin():
        raise RuntimeError("emit_result: only the running step has a result, and an earlier one started this thread")
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
    forms = {"text/plain": clip(repr_of(value))}
    for mime, method, convert in RICH_FORMS:
        render = getattr(type(value), method, None)
        try:
            rendered = render(value) if render is not None else None
            if rendered is not None:
                forms[mime] = convert(rendered)
        except Exception as error:
            unless_thrown(error)  # the text remains, as in notebooks
    _display(forms)


def repr_of(value):
    """Of what may be too large for repr: it was made, so showing it must not be what fails."""
    if type(value) in (bytes, bytearray, str) and len(value) > MAX_TEXT_CHARS:
        half = MAX_TEXT_CHARS // 8  # each character may take up to ten
        left_out = len(value) - 2 * half
        return "%r\n... %d characters left out ...\n%r" % (value[:half], left_out, value[-half:])
    if type(value) is int and value.bit_length() > 3 * MAX_TEXT_CHARS:
        return hex(value)  # decimal digits take longer the more there are
    with all_digits() if type(value) is int else contextlib.nullcontext():
        return repr(value)


def _display(forms):
    try:
        payload = encode("display", {"type": "display", "data": forms})
    except (TypeError, ValueError) as error:
        unless_thrown(error)
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
        _display({"text/plain": origin() + clip(repr(figure)), "image/png": _base64(image.getvalue())})
        pyplot.close(figure)


class ImportHook:
    """Changes one module when a script loads it, without loading it for those who never do."""

    def __init__(self, module, change):
        self.module, self.change = module, change

    def find_spec(self, name, path=None, target=None):
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = functools.partial(self._execute, spec.loader.exec_module)
        return spec

    def _execute(self, original, module):
        original(module)
        self.change(module)


def change_pyplot(pyplot):
    pyplot.show = show_figures


def change_spawn(spawn):
    """Processes that are not forked load the script from its file, and there is none."""
    original = spawn.get_preparation_data

    def get_preparation_data(name):
        data = original(name)
        path = data.get("init_main_from_path")
        if path is not None and not os.path.exists(path):
            data["init_main_from_path"] = lent_script.path(path)
            if data["init_main_from_path"] is None:
                del data["init_main_from_path"]  # steps: as at Python's prompt
        return data

    spawn.get_preparation_data = get_preparation_data


class LentScript:
    """A file with the source of a script, made when somebody needs one, until the end of the process that did."""

    def __init__(self):
        self.owner = self.file = None

    def path(self, name):
        if name not in linecache.cache:
            return None
        if self.owner != os.getpid():
            import tempfile

            fd, self.file = tempfile.mkstemp(prefix="script-", suffix=".py")
            with open(fd, "w", encoding="utf-8") as file:
                file.writelines(linecache.cache[name][2])
            self.owner = os.getpid()
            atexit.register(self._remove)
        return self.file

    def _remove(self):
        if self.owner == os.getpid():
            with contextlib.suppress(OSError):
                os.unlink(self.file)


lent_script = LentScript()


def hook_imports():
    os.environ.setdefault("MPLBACKEND", "Agg")
    for module, change in (("matplotlib.pyplot", change_pyplot), ("multiprocessing.spawn", change_spawn)):
        if module in sys.modules:
            change(sys.modules[module])
        else:
            sys.meta_path.insert(0, ImportHook(module, change))


# ---- Async tools -------------------------------------------------------------------------------------------


class ToolLoop:
    """One private event loop on a thread of its own, started in the worker by the first async call."""

    def __init__(self):
        self.loop = self.thread = None

    def is_here(self):
        return self.thread is not None and self.thread.ident == threading.get_ident()

    def call(self, awaitable):
        future = asyncio.run_coroutine_threadsafe(_contained(awaitable), self._running())
        try:
            value, error = future.result()
        except BaseException as interruption:  # the script's time is over, or it was cancelled
            future.cancel()
            raise interruption.with_traceback(None)  # where in the waiting it came is of no interest
        if error is not None:
            raise error
        return value

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
                yield self.call(generator.__anext__())
        except StopAsyncIteration:
            return
        except GeneratorExit:
            self.call(generator.aclose())
            raise


async def _contained(awaitable):
    # Exceptions travel as values: sys.exit, raised on the loop's own thread, would end the loop.
    try:
        return await awaitable, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return None, error


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
UNBROKEN = (Channel.write.__code__, Channel._record.__code__)


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
    """SIGALRM and SIGINT as exceptions in the script, never anywhere else.

    A signal that comes where nothing may be raised comes again a moment later, until the script has it or ends.
    """

    def __init__(self):
        self.is_live = False
        self.limit_seconds = 0.0
        self.due = None
        self.raised = None  # the last exception thrown at the script, whether or not it got through
        self.has_cancelled = False
        self.thrown = None  # by a handler of the script; no `except` of ours is meant for it

    def restore(self):
        """As a script finds them; also after a step that changed them."""
        for number in (SIGALRM, SIGINT):
            if get_handler(number) != self.on_signal:
                set_handler(number, self.on_signal)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())

    def arm(self, limit_seconds):
        self.due = self.raised = None
        self.has_cancelled = False
        self.limit_seconds = limit_seconds
        self.is_live = True
        if limit_seconds > 0:
            signal.setitimer(signal.ITIMER_REAL, min(limit_seconds, YEAR_SECONDS))

    def silence(self):
        """For a process that ends, and its clock with it."""
        self.is_live = False

    def disarm(self):
        self.is_live = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def on_signal(self, number, frame):
        if not self.is_live:
            return
        error = self.due or self._exception_for(number)
        if is_in_script(frame) and not is_inside(frame, UNBROKEN):
            self.due, self.raised = None, error
            raise error
        self.due = error
        signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)

    def _exception_for(self, number):
        if number == signal.SIGINT:
            self.has_cancelled = True
            return KeyboardInterrupt("Script cancelled")
        return ScriptTimeout("Script timed out after %gs" % self.limit_seconds)


interrupts = Interrupts()
# Without the wrapper that makes enumerators of numbers: it costs more than the call.
set_handler, get_handler = signal.signal, _signal.getsignal
SIGALRM, SIGINT = int(signal.SIGALRM), int(signal.SIGINT)


class ScriptHandler:
    """A signal handler of the script: runs while the script does, never in the middle of our work."""

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


# ---- One script --------------------------------------------------------------------------------------------


def compile_script(source, filename):
    """The code of a script and that of its trailing expression, whose value is shown.

    Going through a syntax tree would double the cost of compiling. So the last line is tried alone: if it is an
    expression and what precedes it compiles too, these are the two parts.
    """
    text = source.rstrip()
    start = text.rfind("\n") + 1
    head, last_line = text[:start], text[start:]
    if _is_plainly_valueless(head, last_line):
        return compile(source, filename, "exec", dont_inherit=True), None
    if not head:
        return _compile_tree(source, filename)
    if not last_line[0].isspace():
        try:
            value = compile("\n" * head.count("\n") + last_line, filename, "eval", dont_inherit=True)
            return compile(head, filename, "exec", dont_inherit=True), value
        except (SyntaxError, ValueError):
            pass
    if not head.endswith("\\\n") and _is_valueless(last_line):
        return compile(source, filename, "exec", dont_inherit=True), None
    return _compile_tree(source, filename)


NOT_PLAIN = frozenset("\"'#\\;")


def _is_plainly_valueless(head, last_line):
    """The common case, without a parser: an assignment, or the end of a block, on a line of its own. Without a quote or
    a comment and with its brackets closed, the line cannot be the end of something longer."""
    target, _, value = last_line.partition("=")
    return (
        (last_line[:1].isspace() or (target.rstrip().isidentifier() and value[:1] not in ("", "=")))
        and NOT_PLAIN.isdisjoint(last_line)
        and not head.endswith("\\\n")
        and last_line.count("(") == last_line.count(")")
        and last_line.count("[") == last_line.count("]")
        and last_line.count("{") == last_line.count("}")
    )


def _is_valueless(last_line):
    """Whether a line that is whole in itself can only end a statement without a value: an indented one, for
    instance, ends a block. With a backslash or comment it could be the end of something else, like a string."""
    if "\\" in last_line or "#" in last_line:
        return False
    try:
        tree = compile(last_line.strip(), "<last line>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return bool(tree.body) and (last_line[0].isspace() or type(tree.body[-1]) is not ast.Expr)


def _compile_tree(source, filename):
    tree = compile(source, filename, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    value = None
    if tree.body and type(tree.body[-1]) is ast.Expr and not _is_silenced(source, tree.body[-1]):
        expression = ast.Expression(tree.body.pop().value)
        value = compile(expression, filename, "eval", dont_inherit=True)
    return compile(tree, filename, "exec", dont_inherit=True), value


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

    def __init__(self, base, is_hidden=False):
        self.base = base
        self.workspace = base.workspace
        self.file = os.path.join(base.workspace, "script.py")
        self.is_hidden = is_hidden  # until the first script, which may look at itself
        self.is_plan = True
        self.steps = 0
        self.exit_handlers = None  # how many there are before the first script
        self.pipe = RunPipe()
        self.module = None

    def get_ready(self):
        """For the first script. A zygote does it for all its workers, who find only what they changed to be done."""
        if atexit._ncallbacks() != self.exit_handlers:  # some module adds one after every fork
            forget_exit_handlers()
            restore_exit_handlers()
            self.exit_handlers = atexit._ncallbacks()
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
        outcome = report(failure)
        if self.is_plan and outcome in ("completed", "failed"):
            late = attempt(wind_down, self.module.__dict__)
            late = interrupts.raised if late is None else late  # exit handlers may have swallowed it
            outcome = outcome if late is None else report(late)
        insist(interrupts.silence if self.is_plan else interrupts.disarm)
        insist(channel.send, END_RECORDS[outcome], True)
        return not self.is_plan

    def _execute(self, mode, timeout_seconds, env, source):
        self.is_plan = mode == b"plan"
        interrupts.arm(timeout_seconds)
        if env:
            os.environ.update(json.loads(env))
        filename = self.file if self.is_plan else self._next_step()
        if source.startswith(codecs.BOM_UTF8):
            source = source[len(codecs.BOM_UTF8) :]
        source = source.decode()
        remember_source(filename, source)
        code, value_code = compile_script(source, filename)
        if self.is_hidden:
            set_dumpable(True)
            self.is_hidden = False
        self._execute_code(code, value_code, self.module.__dict__)

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

    def _execute_code(self, code, value_code, namespace):
        try:
            exec(code, namespace)
            value = None if value_code is None else eval(value_code, namespace)
        except ScriptFinished:
            value = None
        if value is not None:
            if not self.is_plan:
                namespace["_"] = value
            display_value(value)
        show_figures()


END_RECORDS = {
    outcome: encode("end", {"type": "end", "outcome": outcome})
    for outcome in ("completed", "failed", "timeout", "cancelled")
}


def forget_directories(settled):
    """What imports remember of directories, but for those the environment came with: nobody can write there."""
    # Not importlib.invalidate_caches: since 3.10 that imports importlib.metadata, which takes milliseconds.
    for path in sys.path_importer_cache.keys() - settled:
        finder = sys.path_importer_cache.get(path)
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


def wind_down(namespace):
    """What Python by hand does after the last line of a script."""
    interrupts.raised = None
    try:
        if _thread._count() > 0:
            threading._shutdown()
        atexit._run_exitfuncs()
    except (Exception, SystemExit, ScriptFinished):
        pass  # up to 3.9 the last error of an exit handler comes back; it is on stderr already
    drop_what_is_left(namespace)


def drop_what_is_left(namespace):
    """Files that are not closed are written out, and what has a destructor gets it called."""
    if _thread._count() == 0:  # others would go on without their globals
        for name in list(namespace):
            if name != "__builtins__":
                namespace[name] = None
    # A collection costs as much as many a script: only for one that made many objects, or left a file open.
    if gc.get_count()[1:] != (0, 0) or has_more_files():
        for left in gc.get_objects():  # first, as in a cycle a file may be closed before its buffer is written
            if isinstance(left, (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)):
                try:
                    left.flush()
                except Exception as error:
                    unless_thrown(error)
        gc.collect()
    if libc is not None:
        libc.fflush(None)  # what C code printed


def has_more_files():
    """Whether there seem to be more than a worker came with: the next one to be opened tells."""
    try:
        lowest = os.dup(RUN_FD)
    except OSError:
        return True
    os.close(lowest)
    return lowest != FIRST_SPARE_FD


def insist(step, *args):
    """For what must happen although a signal handler the script left behind may raise in the middle of it."""
    for _ in range(8):
        try:
            return step(*args)
        except BaseException:
            continue
    return None


def leave_as_child(failure, namespace):
    """A process the script forked came to the script's end: it leaves as any Python would, unheard by init."""
    status = 0
    if isinstance(failure, SystemExit):
        status = failure.code if isinstance(failure.code, int) else int(failure.code is not None)
    elif failure is not None and not isinstance(failure, ScriptFinished):
        status = 1
        insist(lambda: sys.stderr.write(format_traceback(failure)))
    attempt(wind_down, namespace)
    insist(flush_streams)
    os._exit(status & 0xFF)


# ---- The worker --------------------------------------------------------------------------------------------


class RunPipe:
    """Requests, one after the other. What is read already survives an exception."""

    def __init__(self):
        self.data = bytearray()

    def next_request(self):
        """Mark, mode, time limit, environment and script; None when init has closed its end."""
        while b"\n" not in self.data:
            if not self._read_more():
                return None
            self.data = self.data.lstrip(b"\n")
        head, _, _ = self.data.partition(b"\n")
        mode, timeout_seconds, mark, env_bytes, script_bytes = head.split()
        env_start = len(head) + 1
        script_start = env_start + int(env_bytes)
        end = script_start + int(script_bytes)
        while len(self.data) < end:
            if not self._read_more():
                return None
        data, self.data = self.data, self.data[end:].lstrip(b"\n")
        return bytes(mark), mode, float(timeout_seconds), data[env_start:script_start], data[script_start:end]

    def _read_more(self):
        chunk = os.read(RUN_FD, PIPE_BYTES)
        self.data += chunk
        return chunk


def serve_worker(stdout_fd, stderr_fd, emit_fd, run_fd, worker, between=None):
    """Turns a freshly forked process into a worker. Never returns. For a zygote isolate/worker.cpp does the same."""
    try:
        become_worker(worker.workspace)
        take_places(stdout_fd, stderr_fd, emit_fd, run_fd)
        wait_for_end_of_parent(between)
        # Before there is a holder, who keeps the pipes open when this process is gone.
        say_to_init({"type": "starting", "pid": os.getpid()})
        say_to_init({"type": "prepared", "pid": os.getpid(), "holder": start_memory_holder()})
        is_wanted = is_wanted_at_once()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    serve_turns(worker, is_wanted)


def serve_turns(worker, is_wanted):
    """Never returns."""
    try:
        if "numpy.random" in sys.modules:  # Python's own is seeded anew by every fork
            numpy_seed.renew()
        if not is_wanted:
            forget_exit_handlers()
            rehearse(worker.workspace)
        worker.get_ready()
        worker.serve()
    except BaseException:
        traceback.print_exc()
        flush_streams()
    finally:
        os._exit(1)


def say_to_init(event):
    os.write(EMIT_FD, b"0 0 %b\n" % encode(event["type"], event))


def take_places(*fds):
    """Puts what came from init where a script finds it, and closes everything else."""
    # The numbers they have may be each other's places.
    for target, fd in enumerate([out_of_the_way(fd) for fd in fds], STDOUT_FD):
        os.dup2(fd, target, inheritable=target <= STDERR_FD)
    close_from(FIRST_SPARE_FD)


def is_wanted_at_once():
    """Whether a script comes before a rehearsal would be worth its time: it touches more than one script does."""
    return bool(select.select([RUN_FD], (), (), PATIENCE_SECONDS)[0])


def wait_for_end_of_parent(between):
    """Init looks for processes among its own children: what is none of them yet would survive a reset.

    Usually there is nothing to wait for. Polled, as a process closes its files before it gives its children away.
    """
    while os.getppid() == between:
        time.sleep(0.0002)


# Made before the forks, so that no worker pays for it.
HOLDER_STACK = ctypes.create_string_buffer(HOLDER_STACK_BYTES) if ctypes is not None else None
ALL_SIGNALS = tuple(_signal.valid_signals())


def start_memory_holder():
    """A process that shares this one's memory and sleeps for ever. Returns its number, 0 if there can be none.

    Taking apart the memory of a Python costs several times as much as a short script. While the holder lives, this
    process can end without doing that; init ends the holder when the turn is over. Every signal is blocked in it, so
    it never leaves the kernel, whatever the script writes over its stack. It is a child of init, not of the script,
    which may want to wait for all of its children.
    """
    if libc is None:
        return 0
    top = (ctypes.addressof(HOLDER_STACK) + HOLDER_STACK_BYTES) & ~0xF
    # _signal: turning numbers into enumerators costs more than everything else here.
    previous = _signal.pthread_sigmask(_signal.SIG_BLOCK, ALL_SIGNALS)
    pid = libc.clone(libc.pause, ctypes.c_void_p(top), CLONE_VM | CLONE_PARENT, None)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, previous)
    return max(pid, 0)


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


class NumpySeed:
    """The state of numpy.random, which forks would share.

    Its seed() takes a millisecond in a new process. Any 624 words are a state, so they are written where it keeps them,
    once that was seen to be there.
    """

    def __init__(self):
        self.address, self.size_bytes = None, 0

    def find(self):
        try:
            random = sys.modules["numpy.random"]
            address = random.mtrand._rand._bit_generator.ctypes.state_address
            random.seed()  # keeps no half of a pair of normal numbers
            words = random.get_state()[1].tobytes()
            if ctypes.string_at(address, len(words)) == words:
                self.address, self.size_bytes = address, len(words)
        except Exception:
            pass  # not loaded, without ctypes, or of another kind

    def renew(self):
        if self.address is None:
            sys.modules["numpy.random"].seed()
        else:
            ctypes.memmove(self.address, os.urandom(self.size_bytes), self.size_bytes)


numpy_seed = NumpySeed()


def settle():
    """Gives scripts the surroundings they expect, once for all workers: each page that one writes is its own."""
    for number in handled_signals():
        _signal.signal(number, _signal.SIG_DFL)
    interrupts.restore()
    forget_exit_handlers()
    threading.excepthook = end_thread
    builtins.input = refuse_input
    builtins.exit = builtins.quit = exit_script
    signal.signal, signal.getsignal = install_handler, installed_handler
    fork_handlers.forget_worker = forget_worker
    numpy_seed.find()


def handled_signals():
    """Those with another than the default action, but for the two that Python itself ignores."""
    unchanged = (_signal.SIG_DFL, None)
    ignored = (_signal.SIGPIPE, _signal.SIGXFSZ)
    return [number for number in ALL_SIGNALS if get_handler(number) not in unchanged and number not in ignored]


def forget_exit_handlers():
    """Those of tools and preloaded modules belong to the harness: the first worker to end would, for instance,
    remove a temporary directory that every later one needs."""
    atexit._clear()
    weakref.finalize._registered_with_atexit = False
    for finalizer in list(weakref.finalize._registry):
        finalizer.atexit = False


def restore_exit_handlers():
    """Some modules count on theirs in each process. After the rehearsal, which would use them up."""
    for module, handler in (("logging", "shutdown"), ("multiprocessing.util", "_exit_function")):
        if module in sys.modules:
            atexit.register(getattr(sys.modules[module], handler))
    if sys.version_info < (3, 9) and "concurrent.futures.thread" in sys.modules:
        atexit.register(sys.modules["concurrent.futures.thread"]._python_exit)


def forget_worker():
    channel.abandon()
    tool_loop.__init__()


WARM_UP = (
    "import sys\nprint('warm')\nprint('warm', file=sys.stderr)\nemit_log('warm')\n[1, {'warm': 2.5}]",
    "class Warm(ValueError):\n    pass\n\ndef warm(n):\n    raise Warm(f'{n}')\n\nfor n in range(2):\n    warm(n)\n",
    "x = 1",
    "xs = [x * 0.5 for x in range(50)]\ntry:\n    emit_result({'warm': xs, 's': str(xs)})\nfinally:\n    xs = None",
)


def warm_up(workspace):
    """A rehearsal in the process that will be forked: what it leaves behind (specialised bytecode, filled caches) is
    then shared by all workers, who would otherwise each write it into memory of their own."""
    names, paths, arguments = dict(sys.modules), list(sys.path), sys.argv
    rehearse(workspace, "interactive", WARM_UP)
    sys.modules["__main__"] = names["__main__"]
    sys.path[:], sys.argv = paths, arguments


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


# In each worker only what most scripts do: every page written here is memory and time of every sandbox.
REHEARSAL = ("xs = [1, 2.5]\nprint('warm', xs)\nemit_log('warm')\nemit_result({'warm': xs, 's': str(xs)})",)


def rehearse(workspace, mode="plan", scripts=REHEARSAL):
    """Runs a few scripts of our own into /dev/null, so that the turn finds every page copied and every cache
    filled. Nothing of it stays visible."""
    places = [(fd, out_of_the_way(fd), os.get_inheritable(fd)) for fd in range(FIRST_SPARE_FD) if is_open(fd)]
    null = moved_away(os.open("/dev/null", os.O_RDWR))
    for fd in (0, STDOUT_FD, STDERR_FD):
        os.dup2(null, fd)
    os.dup2(null, EMIT_FD, inheritable=False)
    pipe_out, pipe_in = map(moved_away, os.pipe())
    os.dup2(pipe_out, RUN_FD, inheritable=False)
    worker = Worker(Base({}, workspace))
    worker.exit_handlers = atexit._ncallbacks()  # as they are
    worker.get_ready()
    for script in scripts:
        os.write(pipe_in, b"%b 60.0 0 0 %d\n%b" % (mode.encode(), len(script), script.encode()))
        worker.run(worker.pipe.next_request())
    interrupts.disarm()  # this process lives on
    compile_script("x = 1", worker.file)  # the other way in which a script may end
    for fd in (*range(FIRST_SPARE_FD), null, pipe_out, pipe_in):
        os.close(fd)
    for fd, copy, is_inheritable in places:
        os.dup2(copy, fd, is_inheritable)
        os.close(copy)
    for name in (worker.file, *("<step %d>" % step for step in range(1, worker.steps + 1))):
        linecache.cache.pop(name, None)
    del worker, sys.modules["__main__"]
    gc.collect()  # only what is younger than the freeze, so little
    channel.reset()
    channel.abandon()


# ---- The harness -------------------------------------------------------------------------------------------


class LoadFailed(Exception):
    """A tool or a preloaded module raised while loading."""

    def __init__(self, what, error):
        last_line = "".join(traceback.format_exception_only(type(error), error)[-1:]).strip()
        super().__init__("%s: %s" % (what, clip(last_line, MAX_PACKET_CHARS)))
        self.traceback = clip(format_traceback(error), MAX_PACKET_CHARS)


class Base:
    """What every worker starts with."""

    def __init__(self, names, workspace):
        self.names = names  # all the globals that tool files left
        self.tools = {name: tool for name, tool in names.items() if _is_tool(tool)}
        self.tools.update(HELPERS)  # these two a script cannot overwrite for longer than a step
        self.workspace = workspace
        self.settled_paths = frozenset(sys.path_importer_cache)


def _is_tool(value):
    return callable(value) and getattr(value, "__module__", None) == TOOLS_MODULE


def load_worker(tools, workspace, preload=(), paths=(), announce=lambda what: None):
    """What every worker is a fork of. `announce` gets the name of each part before it is loaded."""
    install_streams()
    hook_imports()
    for path in paths:
        add_path(path)
    show_to_children(paths)
    names = load_tools(tools, announce)
    for module in preload:
        load("preload %s" % module, functools.partial(importlib.import_module, module), announce)
    load("tools and preloaded modules", load_lazy_parts, announce)
    flush_streams()
    settle()
    warm_up(workspace)
    gc.collect()
    gc.freeze()
    return Worker(Base(names, workspace), is_hidden=True)


def load_lazy_parts():
    """What formatting a traceback imports, here once rather than in each worker."""
    try:
        exec("no_such_name", {})
    except NameError as error:
        describe(error)


def add_path(path):
    """Behind the standard library, but before the machine's own packages: the blueprint chose its versions."""
    before = list(sys.path)
    try:
        import site
    except ImportError:
        sys.path.append(path)
    else:
        site.addsitedir(path)  # reads .pth files too
    added = [entry for entry in sys.path if entry not in before]
    machines = [at for at, entry in enumerate(before) if entry.endswith(("site-packages", "dist-packages"))]
    place = min(machines, default=len(before))
    sys.path[:] = before[:place] + added + before[place:]


def show_to_children(paths):
    """A Python that a script starts, to run pytest for instance, finds the same packages."""
    known = os.environ.get("PYTHONPATH")
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *([known] if known else [])])


def load_tools(directory, announce):
    """Every *.py of the directory, in the order of their names, into one namespace."""
    module = types.ModuleType(TOOLS_MODULE)
    sys.modules[TOOLS_MODULE] = module  # dataclasses, pickle and typing look classes up there
    tools = module.__dict__
    tools.update(HELPERS)
    files = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    for name in files:
        if name.endswith(".py"):
            path = os.path.join(directory, name)
            load("tool %s" % name, functools.partial(load_tool, path, tools), announce)
    tools.update(HELPERS)
    wrap_async_tools(tools)
    return {name: value for name, value in tools.items() if not (name[:2] == name[-2:] == "__")}


def load_tool(path, tools):
    with open(path, "rb") as file:  # bytes, so that the file may declare its encoding
        source = file.read()
    tools["__file__"] = path
    exec(compile(source, path, "exec", dont_inherit=True), tools)


def load(what, action, announce):
    announce(what)
    try:
        action()
        shared_memory.refuse()
    except BaseException as error:
        raise LoadFailed(what, error)


class SharedMemory:
    """Mappings that a fork shares instead of copying them: one worker would read what another one wrote."""

    def __init__(self):
        self.harmless = set()

    def refuse(self):
        for mapping in self._new_mappings():
            address, permissions, *_ = mapping.split(None, 5)
            if permissions[1:2] == b"w" or self._can_become_writable(address):
                raise RuntimeError(
                    "shared writable memory is left (%s): every script would see what the others write there; "
                    "make it in the function that needs it, not while loading" % os.fsdecode(b" ".join(mapping.split()))
                )
            self.harmless.add(mapping)

    def _new_mappings(self):
        with open("/proc/self/maps", "rb") as file:
            return [line for line in file if line.split(None, 2)[1].endswith(b"s") and line not in self.harmless]

    @staticmethod
    def _can_become_writable(address):
        """By mprotect. Not what was mapped from a file that was open for reading only."""
        with open("/proc/self/smaps", "rb") as file:
            for line in file:
                if line.startswith(address + b" "):
                    flags = next((line for line in file if line.startswith(b"VmFlags:")), b"")
                    return {b"sh", b"mw"} <= set(flags.split())
        return False


shared_memory = SharedMemory()


def serve_control(control, worker):
    while True:
        packet, fds = receive(control)
        if not packet:
            os._exit(0)
        try:
            request = _decoded(packet)
            if request.get("type") == "prepare" and len(fds) == 4:
                prepare(control, fds, worker)
        except OSError as error:
            message = "fork: %s" % error.strerror
            send(control, {"type": "prepare_failed", "number": request.get("number", 0), "message": message})
        finally:
            for fd in fds:
                os.close(fd)


def _decoded(packet):
    try:
        message = json.loads(packet)
    except ValueError:
        message = None
    return message if isinstance(message, dict) else {}


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


def prepare(control, fds, worker):
    """Forks twice: the process between ends at once, so that the worker becomes a child of init."""
    fork_handlers.expect_worker()
    try:
        between = os.fork()
    except OSError:
        fork_handlers.expect_any()
        raise
    if between == 0:
        status = 1
        try:
            own_pid = os.getpid()
            fork_handlers.expect_worker()
            if os.fork() == 0:
                control.close()
                serve_worker(*fds, worker, own_pid)
            status = 0
        except OSError as error:
            status = error.errno
        finally:
            os._exit(status)
    fork_handlers.expect_any()
    _, wait_status = os.waitpid(between, 0)
    if wait_status != 0:
        code = os.WEXITSTATUS(wait_status) if os.WIFEXITED(wait_status) else 0
        raise OSError(code, os.strerror(code))


# ---- The zygote --------------------------------------------------------------------------------------------
#
# On the native backend the harness does not start in a sandbox: one of them, in namespaces of its own, forks the
# sandboxes of an environment, each with a worker that has everything loaded, and later workers into them.
#
#   control socket   zygote -> host   loading, for each tool and module; then ready | failed
#                    host -> zygote   wire/spawn_request.h, with descriptors
#                    zygote -> host   the reply, with a pidfd

INIT = b"/hearth/init"
ISOLATE_LIBRARY = "/hearth/libhearth-isolate.so"


def sandbox_spec_type():
    """HearthSandboxSpec of isolate/isolate.h. Not every Python has ctypes; a zygote's must."""
    i32, u32, u64, text = ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p

    class SandboxSpec(ctypes.Structure):
        _fields_ = [
            ("uid", u32),
            ("gid", u32),
            ("workspace_bytes", u64),
            ("workspace_inodes", u64),
            ("scratch_bytes", u64),
            ("scratch_inodes", u64),
            ("file_bytes", u64),
            ("cgroup_fds", ctypes.POINTER(i32)),
            ("cgroup_count", u64),
            ("seccomp_filter", ctypes.c_void_p),
            ("seccomp_length", u64),
            ("writable_paths", ctypes.POINTER(text)),
            ("use_landlock", u64),
            ("init_path", text),
            ("versions", text),
            ("after_fork", ctypes.c_void_p),
            ("own_pid_namespace", i32),
            ("stream", i32),
            ("control", i32),
            ("network", i32),
            ("joined", i32),
            ("gate", i32),
            ("worker_fds", i32 * 4),
        ]

    return SandboxSpec


class Zygote:
    """What the forking of sandboxes needs, made ready before the first."""

    def __init__(self, control, worker, seccomp_filter, writable_paths):
        self.control = control
        self.worker = worker
        # With the interpreter's lock held: new processes come back from the middle of the call.
        self.native_serve = ctypes.PyDLL(ISOLATE_LIBRARY).hearth_serve
        self.filter = ctypes.create_string_buffer(seccomp_filter, len(seccomp_filter))
        paths = [os.fsencode(path) for path in writable_paths] + [None]
        self.spec = sandbox_spec_type()(
            seccomp_filter=ctypes.addressof(self.filter),
            seccomp_length=len(self.filter) // 8,
            writable_paths=(ctypes.c_char_p * len(paths))(*paths),
            init_path=INIT,
            versions=("%s/%s" % (python_version(), HARNESS_VERSION)).encode(),
            after_fork=ctypes.cast(ctypes.pythonapi.PyOS_AfterFork_Child, ctypes.c_void_p).value,
            own_pid_namespace=moved_away(os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)),
        )

    def serve(self):
        gc.collect()
        gc.freeze()
        fork_handlers.expect_worker()
        self._prepare_worker()
        _imp.acquire_lock()  # as before every fork; 3.13 gives it back in the new process
        is_wanted = self.native_serve(self.control.fileno(), ctypes.byref(self.spec))
        if is_wanted >= 0:
            serve_turns(self.worker, is_wanted == 1)
        os._exit(0)

    def _prepare_worker(self):
        """Here rather than in each of them: a line of Python copies some ten pages."""
        kept = out_of_the_way(EMIT_FD) if is_open(EMIT_FD) else None  # perhaps a tool's
        ends = tuple(map(moved_away, os.pipe()))
        os.dup2(ends[1], EMIT_FD, inheritable=False)  # like the one that each will have there
        self.worker.get_ready()
        for fd in (EMIT_FD, *ends):
            os.close(fd)
        if kept is not None:
            os.dup2(kept, EMIT_FD, inheritable=False)
            os.close(kept)


def read_filter():
    with os.fdopen(int(os.environ.pop("HEARTH_SECCOMP_FD")), "rb") as file:
        return file.read()


# ---- Start -------------------------------------------------------------------------------------------------


def parse_arguments(arguments):
    """What load_worker() wants, and what a zygote does besides."""
    options = {"tools": "/tools", "workspace": "/workspace", "preload": [], "paths": []}
    zygote = {"is_zygote": False, "writable_paths": []}
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
        elif option == "--zygote":
            zygote["is_zygote"] = value == "yes"
        elif option == "--writable":
            zygote["writable_paths"].append(value)
        else:
            raise SystemExit("executor_harness: unknown option %s" % option)
    return options, zygote


def hold_standard_fds():
    # A closed one would be given to the next file opened, and prints would go there.
    for fd in (0, 1, 2):
        if not is_open(fd):
            os.open("/dev/null", os.O_RDWR)


def main(arguments):
    options, zygote = parse_arguments(arguments)
    hold_standard_fds()
    control = socket.socket(fileno=moved_away(int(os.environ.pop("HEARTH_CONTROL_FD"))))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own_directory = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != own_directory]
    try:
        if zygote["is_zygote"]:
            options["announce"] = lambda what: send(control, {"type": "loading", "what": what})
        worker = load_worker(**options)
    except LoadFailed as failure:
        send(control, {"type": "failed", "message": str(failure), "traceback": failure.traceback})
        return 1
    set_dumpable(False)
    if zygote["is_zygote"]:
        sandboxes = Zygote(control, worker, read_filter(), zygote["writable_paths"])
        send_ready(control)
        return sandboxes.serve()
    send_ready(control)
    return serve_control(control, worker)


def send_ready(control):
    send(control, {"type": "ready", "python": python_version(), "harness": HARNESS_VERSION})


def python_version():
    return "%d.%d.%d" % sys.version_info[:3]


if __name__ == "__main__":
    # Warnings about __main__ are shown by default; those are meant for the author of a script.
    __name__ = "executor_harness"
    sys.exit(main(sys.argv[1:]))
