"""`hearth` and the programs that it starts, which the build puts beside it."""
import os
import shutil


def copy_programs(hearth, directory):
    beside = os.path.dirname(hearth)
    for name in ("hearth", "hearth-init", "hearth-launcher", "libhearth-isolate.so"):
        shutil.copy(os.path.join(beside, name), directory)
    harness = os.path.join(beside, "executor_harness")
    shutil.copytree(harness, os.path.join(directory, "executor_harness"))
