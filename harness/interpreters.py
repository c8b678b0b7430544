"""Finds every Python from 3.8 on that this machine has."""

import glob
import os
import shutil
import subprocess

IDENTIFY = (
    "import os, sys; print(sys.version_info >= (3, 8)); "
    "print(os.path.realpath(sys.executable), sys.version)"
)


def interpreters():
    """Each one once, however many names lead to it."""
    found = {}
    for path in _candidates():
        try:
            command = [path, "-c", IDENTIFY]
            answer = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError:
            continue
        is_recent, _, identity = answer.stdout.decode().partition("\n")
        if answer.returncode == 0 and is_recent == "True":
            found.setdefault(identity, path)
    return list(found.values())


def _candidates():
    names = ["python3", *("python3.%d" % minor for minor in range(8, 15))]
    yield from filter(None, map(shutil.which, names))
    yield "/usr/bin/python3"
    yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))
