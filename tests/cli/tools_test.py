#!/usr/bin/env python3
"""`hearth tools` lists what scripts may call.

Argument: the hearth program.
"""
import json
import subprocess
import unittest

from run_case import HEARTH, PATIENCE_SECONDS, RunCase

CONFIG = """
[[blueprint]]
name = "box"
secrets = ["KEY"]
[[blueprint]]
name = "empty"
[[tool]]
name = "billing"
file = "billing.py"
blueprints = ["box"]
secrets = ["OTHER_KEY"]
"""
BILLING = '''
from dataclasses import dataclass
from json import dumps


def total(invoices: list, *, currency="EUR") -> float:
    """The sum of all invoices.

    Of none it is 0.
    """
    return 0.0


async def find(customer):
    return dumps(customer)


@dataclass
class Invoice:
    """One bill."""

    amount: float


def _helper():
    pass


LIMIT = 3
'''


class Tools(RunCase):
    def tools(self, *options):
        return subprocess.run(
            [HEARTH, "tools", "-c", self.config, *options],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def setUp(self):
        super().setUp()
        self.config = self.file("hearth.toml", CONFIG)
        self.file("billing.py", BILLING)

    def test_functions_and_classes_are_listed_with_signature_and_documentation(self):
        done = self.tools("-b", "box")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            done.stdout,
            "Invoice(amount: float) -> None\n    One bill.\n\n"
            "find(customer)\n\n"
            "total(invoices: list, *, currency='EUR') -> float\n"
            "    The sum of all invoices.\n\n    Of none it is 0.\n",
        )
        listed = json.loads(self.tools("-b", "box", "--json").stdout)
        self.assertEqual([tool["name"] for tool in listed], ["Invoice", "find", "total"])
        self.assertEqual(listed[1], {"name": "find", "signature": "find(customer)", "doc": ""})

    def test_a_tool_of_the_command_line_is_listed_too(self):
        more = self.file("more.py", "def greet(name):\n    'Says hello.'\n")
        done = self.tools("-b", "empty", "--tool", more)
        self.assertEqual(done.stdout, "greet(name)\n    Says hello.\n", done.stderr)

    def test_none_is_said_and_no_failure_and_one_that_does_not_load_is(self):
        none = self.tools("-b", "empty")
        self.assertEqual((none.returncode, none.stdout), (0, ""))
        self.assertEqual(none.stderr, "hearth: no tools\n")
        self.assertEqual(json.loads(self.tools("-b", "empty", "--json").stdout), [])
        self.file("billing.py", "raise OSError('broken')\n")
        broken = self.tools("-b", "box")
        self.assertEqual((broken.returncode, broken.stdout), (2, ""))
        self.assertIn("OSError: broken", broken.stderr)


if __name__ == "__main__":
    unittest.main()
