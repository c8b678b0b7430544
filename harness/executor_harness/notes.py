"""Notes that follow an exception: what the script cannot know about its sandbox."""

import errno
import os
import socket
import sys
from importlib.machinery import PathFinder

from .cpython import python_version
from .script_loop import script_loop

LOOP_RUNS = ("from a running event loop", "loop is already running", "another loop is running")
MAX_LINKS = 16  # of a chain of exceptions
NO_NETWORK_ERRNOS = (errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH)
UNRESOLVED = ("EAI_NONAME", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA")
PLACES_IN_MEMORY = ("/workspace", "/tmp", "/dev/shm")  # of two that are as full the first
# The Python of the system, which a native sandbox shows whichever Python its scripts run in, and
# where distributions put the packages of it.
SYSTEM_PYTHON = "/usr/bin/python3"
SYSTEM_PACKAGES = ["/usr/lib/python3/dist-packages", "/usr/lib/python3%s/site-packages"]
# Where a package's name is not that of its module.
PACKAGE_OF_MODULE = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


class Sandbox:
    """What init says about the sandbox with each script."""

    def __init__(self):
        self.limits = {}
        self.has_network = True

    def learn(self, settings):
        self.limits = settings.get("limits", {})
        self.has_network = settings.get("network", True)

    def limit(self, name, text):
        """The text with the value, if that is known."""
        return text % self.limits[name] if name in self.limits else None


sandbox = Sandbox()


def note_for(error):
    """A sentence about the first exception of the chain that has one, or None."""
    for link in _chain(error):
        for explain in EXPLANATIONS:
            note = explain(link)
            if note:
                return note
    return None


def _chain(error):
    seen = []
    waiting = [error]
    while waiting and len(seen) < MAX_LINKS:
        link = waiting.pop(0)
        if not isinstance(link, BaseException) or any(link is one for one in seen):
            continue
        seen.append(link)
        context = None if link.__suppress_context__ else link.__context__
        # urllib's URLError has its cause in `reason`.
        waiting += [link.__cause__, context, vars(link).get("reason")]
        waiting += getattr(link, "exceptions", None) or ()
    return seen


def _missing_module(error):
    if not isinstance(error, ModuleNotFoundError) or not isinstance(error.name, str):
        return None
    module = error.name.partition(".")[0]
    if module in sys.modules or not module.isidentifier():
        return None  # the package is there, but not this part of it
    python = "this is Python %s (%s)" % (python_version(), sys.executable)
    if module in getattr(sys, "stdlib_module_names", ()):
        return "%s, and it was built without this module" % python
    package = PACKAGE_OF_MODULE.get(module, module)
    if _system_has(module):
        python += "; %s has the module (--python %s)" % (SYSTEM_PYTHON, SYSTEM_PYTHON)
    return '%s; dependencies = ["%s"] in the blueprint installs packages' % (python, package)


def _system_has(module):
    """Whether another Python, which the caller could name, has it."""
    system = os.path.realpath(SYSTEM_PYTHON)
    if not os.path.exists(system) or os.path.realpath(sys.executable) == system:
        return False
    minor = os.path.basename(system)[len("python3") :]
    places = [place % minor if "%" in place else place for place in SYSTEM_PACKAGES]
    try:
        return PathFinder.find_spec(module, places) is not None
    except Exception:
        return False  # of an importer


def _no_network(error):
    if sandbox.has_network or not isinstance(error, OSError):
        return None
    if _is_unresolved(error) or error.errno in NO_NETWORK_ERRNOS:
        return "this sandbox has no network (network_policy.allowed_hosts is empty)"
    return None


def _is_unresolved(error):
    if not isinstance(error, socket.gaierror):
        return False
    return error.errno in [getattr(socket, name, None) for name in UNRESOLVED]


def _no_process(error):
    if isinstance(error, RuntimeError):
        is_refused = str(error).startswith("can't start new thread")
    else:
        is_refused = isinstance(error, OSError) and error.errno == errno.EAGAIN and _forks(error)
    text = "a sandbox may have %d processes and threads (resource_limits.pids_limit)"
    return sandbox.limit("pids_limit", text) if is_refused else None


def _forks(error):
    """Whether the exception comes from a function that starts a process. What does not block
    raises the same exception."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    names = () if place is None else place.tb_frame.f_code.co_names
    return any("fork" in name or "spawn" in name for name in names)


def _no_space(error):
    if not isinstance(error, OSError) or error.errno != errno.ENOSPC:
        return None
    if "scratch_size_mb" not in sandbox.limits:
        return None
    workspace = "/workspace holds %d MB (scratch_size_mb)" % sandbox.limits["scratch_size_mb"]
    full = min(PLACES_IN_MEMORY, key=_free_share)
    if _free_share(full) >= 1:
        return workspace  # nothing is full now
    room = "%s holds %s" % (full, _room(full))
    return room + " (scratch_size_mb)" if full == "/workspace" else room + "; " + workspace


def _free_share(path):
    """Of its bytes or its files, whichever are fewer."""
    try:
        facts = os.statvfs(path)
    except OSError:
        return 1
    return min(
        facts.f_bavail / max(facts.f_blocks, 1),
        facts.f_ffree / facts.f_files if facts.f_files else 1,
    )


def _room(path):
    facts = os.statvfs(path)
    size = "%d MB" % ((facts.f_blocks * facts.f_frsize) >> 20)
    no_more_files = facts.f_files and not facts.f_ffree
    return "%d files and directories in %s" % (facts.f_files, size) if no_more_files else size


def _too_many_descriptors(error):
    if not isinstance(error, OSError) or error.errno != errno.EMFILE:
        return None
    try:
        import resource
    except ImportError:  # a minimal Python
        return None
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return "a process may have %d files open at once, whatever the blueprint says" % most


def _file_too_large(error):
    if not isinstance(error, OSError) or error.errno != errno.EFBIG:
        return None
    try:
        import resource
    except ImportError:  # a minimal Python
        return None
    most_bytes, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    text = "a file may have %d MB (the largest of 1024, resource_limits.memory_mb, scratch_size_mb)"
    return text % (most_bytes >> 20)


def _no_memory(error):
    is_refused = isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    )
    text = "a sandbox may use %d MB of memory (resource_limits.memory_mb)"
    return sandbox.limit("memory_mb", text) if is_refused else None


def _loop_runs(error):
    if not script_loop.has_run or not isinstance(error, RuntimeError):
        return None
    if not any(words in str(error) for words in LOOP_RUNS):
        return None
    return (
        "a script with `await` outside of functions runs in an event loop: "
        "write `await main()` in place of asyncio.run(main())"
    )


EXPLANATIONS = (
    _missing_module,
    _no_network,
    _no_process,
    _no_space,
    _file_too_large,
    _too_many_descriptors,
    _no_memory,
    _loop_runs,
)
