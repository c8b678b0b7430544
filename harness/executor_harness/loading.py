"""Loads tools and preloaded modules, which every worker then has."""

import functools
import importlib
import os
import sys
import traceback
import types

from .async_tools import wrap_async_tools
from .emit import HELPERS
from .payload import clip
from .script_errors import format_traceback, guarded_note_for
from .shared_memory import shared_memory

TOOLS_MODULE = "hearth_tools"
MAX_PACKET_CHARS = 8 << 10  # of each of two texts in a packet to init; JSON may take six times that
MAX_NOTE_CHARS = 1 << 10


class LoadFailed(Exception):
    """A tool or a preloaded module raised while loading."""

    def __init__(self, what, error):
        last_line = "".join(traceback.format_exception_only(type(error), error)[-1:]).strip()
        super().__init__("%s: %s" % (what, clip(last_line, MAX_PACKET_CHARS)))
        note = guarded_note_for(error)
        ending = "" if note is None else "note: %s\n" % clip(note, MAX_NOTE_CHARS)
        self.traceback = clip(format_traceback(error), MAX_PACKET_CHARS) + ending


class Base:
    """What every worker starts with."""

    def __init__(self, names, workspace):
        self.names = names  # all the globals of the tool files
        self.tools = {name: tool for name, tool in names.items() if _is_tool(tool)}
        self.tools.update(HELPERS)  # a script cannot overwrite tools and helpers beyond its step
        self.workspace = workspace
        self.settled_paths = frozenset(sys.path_importer_cache)


def _is_tool(value):
    return callable(value) and getattr(value, "__module__", None) == TOOLS_MODULE


def load(what, action, announce):
    announce(what)
    try:
        action()
        shared_memory.refuse()
    except BaseException as error:
        raise LoadFailed(what, error)


def load_tools(directory, announce):
    """Every *.py of the directory, in the order of their names, into one namespace."""
    module = types.ModuleType(TOOLS_MODULE)
    sys.modules[TOOLS_MODULE] = module  # dataclasses, pickle and typing look classes up there
    tools = module.__dict__
    tools.update(HELPERS)
    files = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    for name in files:
        if name.endswith(".py"):
            path = os.path.join(directory, name)
            load("tool %s" % name, functools.partial(_load_tool, path, tools), announce)
    tools.update(HELPERS)
    wrap_async_tools(tools, TOOLS_MODULE)
    return {name: value for name, value in tools.items() if not (name[:2] == name[-2:] == "__")}


def _load_tool(path, tools):
    with open(path, "rb") as file:  # bytes, so that the file may declare its encoding
        source = file.read()
    tools["__file__"] = path
    exec(compile(source, path, "exec", dont_inherit=True), tools)


def load_modules(modules, announce):
    for module in modules:
        action = functools.partial(importlib.import_module, module)
        load("preload %s" % module, action, announce)
