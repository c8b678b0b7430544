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
    """A Python process that a script starts, for instance pytest, finds the same packages."""
    known = os.environ.get("PYTHONPATH")
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *([known] if known else [])])
