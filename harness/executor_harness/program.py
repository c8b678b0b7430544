"""The harness from its options to its end: loads everything, says `ready`, serves."""

import gc
import os
import signal
import socket

from . import HARNESS_VERSION
from .channel import flush_streams, install_streams
from .control import send, serve_control
from .cpython import python_version
from .import_hooks import hook_imports
from .kernel import hold_standard_fds, moved_away, set_dumpable
from .loading import Base, LoadFailed, load, load_modules, load_tools
from .rehearsal import warm_up
from .script_errors import describe
from .script_runner import ScriptRunner
from .search_paths import add_path, show_to_children
from .surroundings import settle
from .zygote import Zygote, read_filter


def main(arguments):
    options, zygote = parse_arguments(arguments)
    hold_standard_fds()
    control = socket.socket(fileno=moved_away(int(os.environ.pop("HEARTH_CONTROL_FD"))))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if zygote["is_zygote"]:
            options["announce"] = lambda what: send(control, {"type": "loading", "what": what})
        runner = load_runner(**options)
    except LoadFailed as failure:
        text = failure.traceback
        send(control, {"type": "failed", "message": str(failure), "traceback": text})
        return 1
    set_dumpable(False)
    if zygote["is_zygote"]:
        sandboxes = Zygote(control, runner, read_filter(), zygote["writable_paths"])
        send_ready(control)
        return sandboxes.serve()
    send_ready(control)
    return serve_control(control, runner)


def parse_arguments(arguments):
    """The options of load_runner(), and those of a zygote."""
    options = {"tools": "/tools", "workspace": "/workspace", "preload": [], "paths": []}
    zygote = {"is_zygote": False, "writable_paths": []}
    rest = [part for argument in arguments for part in argument.split("=", 1)]
    if len(rest) % 2:
        raise SystemExit("executor_harness: every option needs a value: %s" % " ".join(arguments))
    for option, value in zip(rest[::2], rest[1::2]):
        if option == "--path":
            options["paths"].append(value)
        elif option == "--preload":
            options["preload"] += [name.strip() for name in value.split(",") if name.strip()]
        elif option in ("--tools", "--workspace"):
            options[option[2:]] = os.path.abspath(value)
        elif option == "--zygote":
            zygote["is_zygote"] = value == "yes"
        elif option == "--writable":
            zygote["writable_paths"].append(value)
        else:
            raise SystemExit("executor_harness: unknown option %s" % option)
    return options, zygote


def load_runner(tools, workspace, preload=(), paths=(), announce=lambda what: None):
    """The runner that every worker is a fork of. `announce` gets the name of each part before it is
    loaded."""
    install_streams()
    hook_imports()
    for path in paths:
        add_path(path)
    show_to_children(paths)
    names = load_tools(tools, announce)
    load_modules(preload, announce)
    load("tools and preloaded modules", load_lazy_parts, announce)
    flush_streams()
    settle()
    warm_up(workspace)
    gc.collect()
    gc.freeze()
    return ScriptRunner(Base(names, workspace), is_hidden=True)


def load_lazy_parts():
    """What formatting a traceback imports, here once rather than in each worker."""
    try:
        exec("no_such_name", {})
    except NameError as error:
        describe(error)


def send_ready(control):
    send(control, {"type": "ready", "python": python_version(), "harness": HARNESS_VERSION})
