"""The Python side of a sandbox: loads the tools once, then forks one worker per turn.

Three processes share the work. `hearth-init` talks to the host. The harness loads tools and
preloaded modules and never runs a script. A worker is a fork of the harness. It is forked and
warmed up before its turn arrives, runs one script (PLAN) or the steps of one lease (INTERACTIVE),
and exits.

In a container, init starts the harness (control.py). On the native backend, one harness outside
the sandboxes forks all sandboxes of an environment (zygote.py).

  control socket   init -> harness   {"type":"prepare","number":n} with four descriptors:
                                     stdout, stderr, emit, run
                   harness -> init   ready | failed | prepare_failed
  run pipe         init -> worker    "<mode> <timeout> <mark> <bytes of settings> <bytes of
                                     script>\\n", then the settings as JSON, then the script; an
                                     empty line is no request, init sends it to see whether the pipe
                                     is read
  emit pipe        worker -> init    "<stdout bytes so far> <stderr bytes so far> <mark> <json>",
                                     or only the two totals

With the two totals, init puts what came through three pipes back into the order in which the
script wrote it. The mark is random and new for each turn. A record with another mark, or with
none, belongs to no turn.

Standard library only, Python 3.8 and newer, also under `python -I -S`. The lowest modules:

  cpython           private names of the interpreter, and nothing private anywhere else
  kernel            libc and file descriptors
  interrupts        signals as exceptions in the script
  payload           events as JSON
  channel           stdout, stderr and the emit pipe

What a script sees: tool_result, emit, step_threads, display, async_tools, import_hooks,
surroundings. How a script runs: run_pipe, compiling, script_runner, script_loop, script_exit,
script_errors, notes, wind_down. How a worker starts: loading, shared_memory, search_paths,
rehearsal, numpy_seed, worker, memory_holder. program.py puts it all together.
"""

HARNESS_VERSION = "2"  # registry/harness_version.h says when it changes
