"""Rules for the modules of the harness that no script could notice."""

import ast
import os
import unittest

from tests.fake_init import HARNESS, MODULES

DOCUMENTED = {"os._exit"}
OF_NUMPY = {"random.mtrand._rand", "random.mtrand._rand._bit_generator"}


def tree_of(module):
    with open(os.path.join(HARNESS, module + ".py"), encoding="utf-8") as file:
        return ast.parse(file.read())


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def dotted(node):
    """The text of a chain of attributes, or None."""
    if isinstance(node, ast.Name):
        return node.id
    before = dotted(node.value) if isinstance(node, ast.Attribute) else None
    return None if before is None else before + "." + node.attr


def private_names(module):
    """Of other modules: private modules that are imported, and private attributes."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_private(alias.name))
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if is_private(alias.name))
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            name = dotted(node)
            if name is None or name.partition(".")[0] not in ("self", "cls"):
                yield name


def imported_modules(module):
    """Those of the package that are imported when `module` is."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module is not None:
            yield node.module


class Structure(unittest.TestCase):
    def test_only_one_module_uses_private_names_of_cpython(self):
        self.assertIn("_thread._count", private_names("cpython"))
        used = {name for module in MODULES if module != "cpython" for name in private_names(module)}
        self.assertEqual(used - DOCUMENTED - OF_NUMPY, set())

    def test_imports_form_no_circle(self):
        left = {module: set(imported_modules(module)) for module in MODULES}
        self.assertIn("cpython", left["channel"])
        while True:
            free = {module for module, needs in left.items() if not needs & left.keys()}
            if not free:
                break
            for module in free:
                del left[module]
        self.assertEqual(left, {})
