"""Changes to modules that scripts import: matplotlib.pyplot and multiprocessing.spawn."""

import atexit
import contextlib
import functools
import importlib.machinery
import os
import sys

from .cpython import source_lines
from .display import show_figures


class ImportHook:
    """Changes one module when a script loads it, without loading it for scripts that never do."""

    def __init__(self, module, change):
        self.module, self.change = module, change

    def find_spec(self, name, path=None, target=None):
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            original = spec.loader.exec_module
            spec.loader.exec_module = functools.partial(self._execute, original)
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
    """A file with the source of a script. It exists from its first use to the exit of the process
    that needed it."""

    def __init__(self):
        self.owner = self.file = None

    def path(self, name):
        lines = source_lines(name)
        if lines is None:
            return None
        if self.owner != os.getpid():
            import tempfile

            fd, self.file = tempfile.mkstemp(prefix="script-", suffix=".py")
            with open(fd, "w", encoding="utf-8") as file:
                file.writelines(lines)
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
    changes = {"matplotlib.pyplot": change_pyplot, "multiprocessing.spawn": change_spawn}
    for module, change in changes.items():
        if module in sys.modules:
            change(sys.modules[module])
        else:
            sys.meta_path.insert(0, ImportHook(module, change))
