"""Private names of CPython, each with its reason. No other module uses one."""

import _imp
import _signal
import _thread
import atexit
import importlib
import linecache
import os
import signal
import sys
import weakref

# ---- Forks -------------------------------------------------------------------------------------


class ForkHandlers:
    """What every new process has to do.

    The fork handler of `threading` is Python code. It touches, and so copies, dozens of pages in
    every worker, to forget threads that most harnesses do not have. So it is not registered, but
    called where there may be threads.
    """

    def __init__(self):
        self.of_threading = []
        self.has_nothing_to_forget = False
        self.forget_worker = lambda: None

    def import_threading(self):
        register = os.register_at_fork
        os.register_at_fork = lambda **handlers: self.of_threading.append(
            handlers["after_in_child"]
        )
        try:
            return importlib.import_module("threading")
        finally:
            os.register_at_fork = register
            register(after_in_child=self.run)  # first, as the original would have been

    def run(self):
        if self.has_nothing_to_forget:
            self.has_nothing_to_forget = False  # a process that this one forks may have
            return
        try:
            for handler in self.of_threading:
                handler()  # fails if a script has tampered with its threads
        finally:
            self.forget_worker()

    def expect_worker(self):
        """The next process that is forked is a worker."""
        self.has_nothing_to_forget = not _has_known_threads() and _is_only_thread()

    def expect_any(self):
        self.has_nothing_to_forget = False


def _has_known_threads():
    # A thread is in these lists until it has ended, and for a moment longer. Up to 3.12 the main
    # thread may be in the last one.
    return (
        threading.active_count() > 1
        or _thread._count() > 0
        or len(getattr(threading, "_shutdown_locks", ())) > 1
    )


def _is_only_thread():
    """Also false for a thread that Python does not know yet."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


fork_handlers = ForkHandlers()
threading = fork_handlers.import_threading()


def hold_import_lock():
    """os.fork() does this before every fork. 3.13 releases the lock in the new process."""
    _imp.acquire_lock()


# ---- Threads -----------------------------------------------------------------------------------


def has_threads():
    """Counts threads that `threading` does not know, too, and costs less than asking it."""
    return _thread._count() > 0


def known_thread():
    """The running thread, or None. threading.current_thread() would create an object that stays."""
    return threading._active.get(threading.get_ident())


def wait_for_threads():
    """What the interpreter does before its exit handlers run."""
    threading._shutdown()


# ---- Exit handlers -----------------------------------------------------------------------------

exit_handler_count = atexit._ncallbacks
run_exit_handlers = atexit._run_exitfuncs  # up to 3.9 raises the last error of a handler


def forget_exit_handlers():
    """Those of tools and preloaded modules belong to the harness. In a worker they could, for
    instance, remove a temporary directory that every later worker needs."""
    atexit._clear()
    weakref.finalize._registered_with_atexit = False
    for finalizer in list(weakref.finalize._registry):
        finalizer.atexit = False


def restore_exit_handlers():
    """Some modules rely on theirs in each process. After the rehearsal, which would run them."""
    for module, handler in (("logging", "shutdown"), ("multiprocessing.util", "_exit_function")):
        if module in sys.modules:
            atexit.register(getattr(sys.modules[module], handler))
    if sys.version_info < (3, 9) and "concurrent.futures.thread" in sys.modules:
        atexit.register(sys.modules["concurrent.futures.thread"]._python_exit)


# ---- Signals -----------------------------------------------------------------------------------

# `signal` converts numbers to enumerators, which costs more than the system call. `_signal` does
# not. set_handler is the original function: scripts get another one (surroundings.py).
set_handler, get_handler = signal.signal, _signal.getsignal
set_signal_mask = _signal.pthread_sigmask
SIGALRM, SIGINT = int(signal.SIGALRM), int(signal.SIGINT)
SIG_BLOCK, SIG_SETMASK = _signal.SIG_BLOCK, _signal.SIG_SETMASK
ALL_SIGNALS = tuple(_signal.valid_signals())


def reset_handlers():
    """Every signal has its default action, but for the two that Python itself ignores."""
    unchanged = (_signal.SIG_DFL, None)
    ignored = (_signal.SIGPIPE, _signal.SIGXFSZ)
    for number in ALL_SIGNALS:
        if get_handler(number) not in unchanged and number not in ignored:
            _signal.signal(number, _signal.SIG_DFL)


# ---- Sources of scripts, for tracebacks --------------------------------------------------------


def remember_source(filename, source):
    # linecache keeps an entry without a modification time although there is no file.
    lines = [line + "\n" for line in source.split("\n")]
    linecache.cache[filename] = (len(source), None, lines, filename)


def source_lines(filename):
    """None if there is no such source."""
    return linecache.cache[filename][2] if filename in linecache.cache else None


def forget_source(filename):
    linecache.cache.pop(filename, None)


def python_version():
    return "%d.%d.%d" % sys.version_info[:3]
