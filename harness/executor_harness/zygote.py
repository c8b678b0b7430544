"""The zygote of the native backend: forks sandboxes instead of starting in one.

It lives in namespaces of its own and forks the sandboxes of an environment, each with a worker that
has everything loaded, and later more workers into them.

  control socket   zygote -> host   loading, for each tool and module; then ready | failed
                   host -> zygote   wire/spawn_request.h, with descriptors
                   zygote -> host   the reply, with a pidfd
"""

import contextlib
import gc
import os

from . import HARNESS_VERSION
from .cpython import fork_handlers, hold_import_lock, python_version
from .kernel import EMIT_FD, copied_away, ctypes, is_open, moved_away
from .worker import serve_turns

INIT = b"/hearth/init"
ISOLATE_LIBRARY = "/hearth/libhearth-isolate.so"
LOADING_DIRECTORIES = ("/tmp", "/workspace")


def sandbox_spec_type():
    """HearthSandboxSpec of isolate/sandbox_spec.h. Not every Python has ctypes; a zygote's must."""
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
            ("process_memory_bytes", u64),
            ("processes", u64),
            ("cgroup_fds", ctypes.POINTER(i32)),
            ("cgroup_count", u64),
            ("seccomp_filter", ctypes.c_void_p),
            ("seccomp_length", u64),
            ("writable_paths", ctypes.POINTER(text)),
            ("use_landlock", u64),
            ("init_path", text),
            ("versions", text),
            ("environment", ctypes.POINTER(text)),
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


def null_terminated(words):
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)


class Zygote:
    """Creates everything that forking a sandbox needs before the first one."""

    def __init__(self, control, runner, seccomp_filter, writable_paths):
        self.control = control
        self.runner = runner
        # With the interpreter's lock held: new processes return from the middle of the call.
        self.native_serve = ctypes.PyDLL(ISOLATE_LIBRARY).hearth_serve
        self.filter = ctypes.create_string_buffer(seccomp_filter, len(seccomp_filter))
        paths = [os.fsencode(path) for path in writable_paths]
        environment = [b"%s=%s" % variable for variable in os.environb.items()]
        after_fork = ctypes.cast(ctypes.pythonapi.PyOS_AfterFork_Child, ctypes.c_void_p)
        own_pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.spec = sandbox_spec_type()(
            seccomp_filter=ctypes.addressof(self.filter),
            seccomp_length=len(self.filter) // 8,
            writable_paths=null_terminated(paths),
            init_path=INIT,
            versions=("%s/%s" % (python_version(), HARNESS_VERSION)).encode(),
            environment=null_terminated(environment),
            after_fork=after_fork.value,
            own_pid_namespace=moved_away(own_pid_namespace),
        )

    def serve(self):
        """Never returns, neither in the zygote nor in a worker."""
        os.chdir("/")
        for directory in LOADING_DIRECTORIES:
            empty(directory)
        gc.collect()
        gc.freeze()
        fork_handlers.expect_worker()
        self._prepare_worker()
        hold_import_lock()
        is_wanted = self.native_serve(self.control.fileno(), ctypes.byref(self.spec))
        if is_wanted >= 0:
            serve_turns(self.runner, is_wanted == 1)
        os._exit(0)

    def _prepare_worker(self):
        """Here rather than in each of them: a line of Python copies some ten pages."""
        kept = copied_away(EMIT_FD) if is_open(EMIT_FD) else None  # perhaps a tool's
        ends = tuple(map(moved_away, os.pipe()))
        os.dup2(ends[1], EMIT_FD, inheritable=False)  # like the one that each will have there
        self.runner.get_ready()
        for fd in (EMIT_FD, *ends):
            os.close(fd)
        if kept is not None:
            os.dup2(kept, EMIT_FD, inheritable=False)
            os.close(kept)


def empty(directory):
    """What loading has written is memory of the zygote, and no sandbox sees it."""
    for entry in os.scandir(directory):
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                empty(entry.path)
                os.rmdir(entry.path)
            else:
                os.unlink(entry.path)


def read_filter():
    with os.fdopen(int(os.environ.pop("HEARTH_SECCOMP_FD")), "rb") as file:
        return file.read()
