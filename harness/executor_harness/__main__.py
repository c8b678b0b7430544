"""Starts the harness: `python3 -s -B executor_harness OPTION VALUE ...`.

Python puts this directory on sys.path. Scripts must not find the modules in it, neither there nor
in sys.modules, so they are loaded as a package that nothing else can import.
"""

import importlib.util
import os
import sys

PACKAGE = "executor_harness"


def load_package(directory):
    file = os.path.join(directory, "__init__.py")
    spec = importlib.util.spec_from_file_location(PACKAGE, file)
    package = sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


def hide_package():
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def load_main():
    own_directory = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != own_directory]
    load_package(own_directory)
    try:
        return importlib.import_module(PACKAGE + ".program").main
    finally:
        hide_package()


if __name__ == "__main__":
    sys.exit(load_main()(sys.argv[1:]))
