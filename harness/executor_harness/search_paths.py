"""Where scripts and their child processes find the packages of the environment."""

import os
import sys


def add_path(path):
    """Behind the standard library, but before the machine's own packages: the blueprint chose its
    versions."""
    before = list(sys.path)
    try:
        import site
    except ImportError:
        sys.path.append(path)
    else:
        site.addsitedir(path)  # reads .pth files too
    added = [entry for entry in sys.path if entry not in before]
    ends = ("site-packages", "dist-packages")
    machines = [at for at, entry in enumerate(before) if entry.endswith(ends)]
    place = min(machines, default=len(before))
    sys.path[:] = before[:place] + added + before[place:]


def show_to_children(paths):
    """A Python process that a script starts, for instance pytest, is the same Python and finds the
    same packages."""
    programs = os.path.dirname(sys.executable)
    path = os.environ.get("PATH", "")
    if programs and programs not in path.split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join(filter(None, [programs, path]))
    known = os.environ.get("PYTHONPATH")
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *([known] if known else [])])
