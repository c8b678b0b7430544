// session/variables_script.h: what runs as a step of a session to keep its variables over a pause,
// and to bring them back: keep(namespace, path, limit) and restore(namespace, path). Python 3.8.
//
// Pickled and unpickled in the sandbox; for the host a pickle is bytes. What a script has made of
// its process or of pickle is its own loss.
#pragma once

namespace hearth::session {

inline constexpr const char* variables_script = R"PYTHON(
import importlib
import os
import sys
import types

MOST_NAMES = 1000
MOST_NAME_CHARS = 200

# What every process of a session starts with, by name: tools and helpers.
given = vars(sys.modules["hearth_tools"]) if "hearth_tools" in sys.modules else {}


class DoesNotFit(Exception):
    pass


# Takes so many bytes, and passes them on if there is a file.
class Bounded:

    def __init__(self, limit, file=None):
        self.left = limit
        self.file = file

    def write(self, data):
        size = memoryview(data).nbytes
        if size > self.left:
            raise DoesNotFit
        self.left -= size
        if self.file is not None:
            self.file.write(data)
        return size


# Writes a pickle of the variables. The result names those that are in it, and the others.
def keep(namespace, path, limit):
    names, lost = names_to_keep(namespace)
    emit_intermediate("variables", names + lost)  # if nothing else arrives, they are lost
    imports = {name: namespace[name].__name__ for name in names if is_import(namespace[name])}
    values = {name: namespace[name] for name in names if name not in imports}
    try:
        write(path, imports, values, limit)
    except (Exception, SystemExit):
        values = {
            name: value for name, value in values.items() if not is_lost(name, value, limit, lost)
        }
        values = write_what_fits(path, imports, values, limit, lost)
    emit_result({"kept": [name for name in names if name not in lost], "lost": lost})


def names_to_keep(namespace):
    names = []
    lost = []
    for name, value in list(namespace.items()):
        if not isinstance(name, str) or name == "_" or name[:2] == name[-2:] == "__":
            continue
        if name in given and given[name] is value:
            continue
        is_plain = name.isidentifier() and len(name) <= MOST_NAME_CHARS
        if is_plain and len(names) < MOST_NAMES:
            names.append(name)
        elif len(lost) < MOST_NAMES:
            lost.append(ascii(name)[:MOST_NAME_CHARS])
    return names, lost


def is_import(value):
    return isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value


# Whether it does not pickle, or is too large by itself.
def is_lost(name, value, limit, lost):
    try:
        dump(value, Bounded(limit))
    except (Exception, SystemExit):
        lost.append(name)
    return name in lost


# Without the largest, until the rest fits.
def write_what_fits(path, imports, values, limit, lost):
    sizes = {}
    for name, value in values.items():
        counter = Bounded(limit)
        dump(value, counter)
        sizes[name] = limit - counter.left
    while True:
        try:
            write(path, imports, values, limit)
            return values
        except (Exception, SystemExit):
            if not values:
                raise
        largest = max(values, key=sizes.get)
        lost.append(largest)
        del values[largest]


# Two pickles one after the other: names, which always unpickle, and values.
def write(path, imports, values, limit):
    with open(path, "wb") as file:
        bounded = Bounded(limit, file)
        dump((imports, list(values)), bounded)
        dump(values, bounded)


def dump(value, file):
    import pickle  # most processes never need it

    class Pickler(pickle.Pickler):
        def reducer_override(self, part):
            if is_of_script(part):
                raise pickle.PicklingError("the next process does not have %r" % part)
            return NotImplemented

    Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)


# Functions and classes pickle as their names, and those of a script are gone with it.
def is_of_script(part):
    if not isinstance(part, (type, types.FunctionType)):
        return False
    return part.__module__ == "__main__" and given.get(part.__name__) is not part


# Repeats the imports and unpickles the values. The result names what is not back.
def restore(namespace, path):
    import pickle

    with open(path, "rb") as file:
        os.unlink(path)
        imports, names = pickle.load(file)
        lost = []
        for name, module in imports.items():
            try:
                namespace[name] = importlib.import_module(module)
            except (Exception, SystemExit):
                lost.append(name)
        try:
            namespace.update(pickle.load(file))
        except (Exception, SystemExit):
            lost += names
    emit_result({"lost": lost})
)PYTHON";

}  // namespace hearth::session
