"""Runs a few scripts before the first real one, so that it finds pages copied and caches filled."""

import gc
import os
import sys

from .channel import channel
from .compiling import compile_script
from .cpython import exit_handler_count, forget_source
from .interrupts import interrupts
from .kernel import (
    EMIT_FD,
    FIRST_SPARE_FD,
    RUN_FD,
    STDERR_FD,
    STDIN_FD,
    STDOUT_FD,
    copied_away,
    is_open,
    moved_away,
)
from .loading import Base
from .script_runner import ScriptRunner

WARM_UP = (
    """\
import sys
print('warm')
print('warm', file=sys.stderr)
emit_log('warm')
[1, {'warm': 2.5}]""",
    """\
class Warm(ValueError):
    pass

def warm(n):
    raise Warm(f'{n}')

for n in range(2):
    warm(n)
""",
    "x = 1",
    """\
xs = [x * 0.5 for x in range(50)]
try:
    emit_result({'warm': xs, 's': str(xs)})
finally:
    xs = None""",
)

# In each worker only what most scripts do: every page written here is memory and time of every
# sandbox.
REHEARSAL = (
    """\
xs = [1, 2.5]
print('warm', xs)
emit_log('warm')
emit_result({'warm': xs, 's': str(xs)})""",
)


def warm_up(workspace):
    """A rehearsal in the process that will be forked. All workers then share what it leaves behind,
    like specialised bytecode and filled caches, instead of each writing a copy of its own."""
    main, paths, arguments = sys.modules["__main__"], list(sys.path), sys.argv
    rehearse(workspace, "interactive", WARM_UP)
    sys.modules["__main__"] = main
    sys.path[:], sys.argv = paths, arguments


def rehearse(workspace, mode="plan", scripts=REHEARSAL):
    """Runs these scripts with all pipes at /dev/null. Nothing of it stays visible."""
    places = [
        (fd, copied_away(fd), os.get_inheritable(fd)) for fd in range(FIRST_SPARE_FD) if is_open(fd)
    ]
    null = moved_away(os.open("/dev/null", os.O_RDWR))
    for fd in (STDIN_FD, STDOUT_FD, STDERR_FD):
        os.dup2(null, fd)
    os.dup2(null, EMIT_FD, inheritable=False)
    pipe_out, pipe_in = map(moved_away, os.pipe())
    os.dup2(pipe_out, RUN_FD, inheritable=False)
    _run_all(ScriptRunner(Base({}, workspace)), mode, scripts, pipe_in)
    for fd in (*range(FIRST_SPARE_FD), null, pipe_out, pipe_in):
        os.close(fd)
    for fd, copy, is_inheritable in places:
        os.dup2(copy, fd, is_inheritable)
        os.close(copy)
    gc.collect()  # only what is younger than the freeze, so little
    channel.reset()
    channel.abandon()


def _run_all(runner, mode, scripts, pipe_in):
    runner.exit_handlers = exit_handler_count()  # as they are
    runner.get_ready()
    for script in scripts:
        head = b"%b 60.0 0 0 %d\n" % (mode.encode(), len(script))
        os.write(pipe_in, head + script.encode())
        runner.run(runner.pipe.next_request())
    interrupts.disarm()  # this process lives on
    compile_script("x = 1", runner.file)  # the other way in which a script may end
    for name in (runner.file, *("<step %d>" % step for step in range(1, runner.steps + 1))):
        forget_source(name)
    del sys.modules["__main__"]
