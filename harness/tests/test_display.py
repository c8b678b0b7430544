"""Trailing expressions and figures."""

import base64
import unittest

from tests.fake_init import Harness, SharedHarness

PYPLOT = """
class Figure:
    def __init__(self, number): self.number = number
    def savefig(self, file, format, bbox_inches):
        file.write(b"%s of %d" % (format.encode(), self.number))
    def __repr__(self): return "<Figure %d>" % self.number
_open = {}
def figure(number=None):
    number = number or len(_open) + 1
    return _open.setdefault(number, Figure(number))
def get_fignums(): return sorted(_open)
def close(figure): del _open[figure.number]
def show(): raise RuntimeError("there is no screen")
"""


class LastExpression(SharedHarness):
    def shown(self, script):
        return [event["data"] for event in self.run_script(script).of("display")]

    def test_the_value_of_a_trailing_expression_is_shown_after_the_rest(self):
        turn = self.run_script("x = 20\nprint('first')\nx + 1")
        self.assertEqual(
            turn.sequence()[:2],
            [("out", "first\n"), {"type": "display", "data": {"text/plain": "21"}, "value": True}],
        )

    def test_what_counts_as_a_trailing_expression(self):
        for script in (
            "42",
            "\n\n42\n\n# comment\n",
            "x = 42\nx  # comment",
            "x = 1\n(\n    42\n)",
            "x = 1\nabs(\n42)",
            "x = 1\nmin(42,\n    43)",
            "x = 1; 42",
            "y = 0\nx = 1; 42",
            "x = 1\n40 + \\\n    2",
            "x = 1\n40 + \\\n2",
            "def f():\n    return 42\n\nf()",
            "x = 1\r\n42\r\n",
            "from __future__ import annotations\n42",
            "x = ';'\n42",
            "if True:\n    x = 1\n42",
        ):
            self.assertEqual(self.shown(script), [{"text/plain": "42"}], script)

    def test_a_comparison_is_no_assignment(self):
        for operator in ("<=", ">=", "==", "!="):
            self.assertEqual(len(self.shown("x = 1\nx %s 2" % operator)), 1, operator)

    def test_a_string_over_many_lines_is_a_trailing_expression_too(self):
        self.assertEqual(
            self.shown("x = 1\n'''a\nx = 2 # '''"), [{"text/plain": repr("a\nx = 2 # ")}]
        )
        self.assertEqual(self.shown("'only'"), [{"text/plain": "'only'"}])

    def test_what_is_not_shown(self):
        for script in (
            "",
            "# comment",
            "x = 42",
            "None",
            "print()",
            "42;",
            "42 ;  # comment",
            "x = 1\n(42\n);",
            "if True:\n    42",
            "for i in (1,):\n    i",
            "def f():\n    return 1",
            "x = 1\nx += 41",
            "import os",
            "'''a''';",
            "x = (\n42)",
        ):
            turn = self.run_script(script)
            self.assertEqual((turn.of("display"), turn.outcome), ([], "completed"), script)

    def test_a_failing_script_shows_nothing(self):
        self.assertEqual(self.shown("1 / 0\n42"), [])

    def test_rich_forms_are_added_and_failing_ones_left_out(self):
        (data,) = self.shown(
            "class Rich:\n    def __repr__(self): return 'plain'\n"
            "    def _repr_html_(self): return '<b>html</b>'\n"
            "    def _repr_png_(self): return b'PNG'\n"
            "    def _repr_json_(self): return {'a': 1}\nRich()"
        )
        png = base64.b64encode(b"PNG").decode()
        self.assertEqual(
            data,
            {
                "text/plain": "plain",
                "text/html": "<b>html</b>",
                "image/png": png,
                "application/json": {"a": 1},
            },
        )
        (data,) = self.shown(
            "class R:\n    def __repr__(self): return 'r'\n"
            "    def _repr_html_(self): 1 / 0\n    def _repr_png_(self): return None\nR()"
        )
        self.assertEqual(data, {"text/plain": "r"})

    def test_a_form_that_cannot_be_sent_leaves_the_text(self):
        (data,) = self.shown(
            "class R:\n    def __repr__(self): return 'r'\n"
            "    def _repr_json_(self): return object()\nR()"
        )
        self.assertEqual(data, {"text/plain": "r"})

    def test_a_class_is_shown_as_a_class(self):
        (data,) = self.shown("class R:\n    def _repr_html_(self): return 'html'\nR")
        self.assertEqual(list(data), ["text/plain"])

    def test_a_failing_repr_is_the_scripts_error(self):
        turn = self.run_script("class R:\n    def __repr__(self): return 1 / 0\nR()")
        self.assertEqual(
            (turn.of("display"), turn.only("error")["name"]), ([], "ZeroDivisionError")
        )
        self.assertNotIn("executor_harness", turn.only("error")["traceback"])

    def test_a_value_too_large_for_repr_is_shown_in_part(self):
        turn = self.run_script(
            "import resource\nresource.setrlimit(resource.RLIMIT_AS, (400 << 20,) * 2)\n"
            "b'\\0' * (90 << 20)"
        )
        text = turn.only("display")["data"]["text/plain"]
        self.assertIn("characters left out", text)
        self.assertLess(len(text), 70_000)
        digits = self.run_script("import math\nmath.factorial(3000)").only("display")["data"][
            "text/plain"
        ]
        self.assertEqual(len(digits), 9131)
        huge = self.run_script("1 << 10_000_000").only("display")["data"]["text/plain"]
        self.assertTrue(huge.startswith("0x1000"), huge[:20])

    def test_long_reprs_are_clipped(self):
        (data,) = self.shown("'x' * 1000000")
        self.assertLess(len(data["text/plain"]), 70000)


class Figures(unittest.TestCase):
    modules = {"matplotlib/__init__.py": "", "matplotlib/pyplot.py": PYPLOT}
    both = [
        {"text/plain": "<Figure %d>" % n, "image/png": base64.b64encode(b"png of %d" % n).decode()}
        for n in (1, 2)
    ]

    def check(self, harness):
        turn = harness.run(
            "import matplotlib.pyplot as plt\nplt.figure()\nf = plt.figure()\n"
            "print('drawn')\nemit_result(1)"
        )
        self.assertEqual([event["data"] for event in turn.of("display")], self.both)
        turn = harness.run(
            "from matplotlib import pyplot as plt\nf = plt.figure()\n"
            "plt.show(block=False)\nprint('shown', plt.get_fignums())"
        )
        display = {"type": "display", "data": self.both[0]}
        self.assertEqual(turn.sequence()[:2], [display, ("out", "shown []\n")])
        self.assertEqual(len(turn.of("display")), 1)

    def test_open_figures_are_shown_at_the_end_and_by_show(self):
        with Harness(modules=self.modules) as harness:
            self.check(harness)

    def test_also_when_pyplot_was_preloaded(self):
        with Harness(modules=self.modules, arguments=["--preload", "matplotlib.pyplot"]) as harness:
            self.check(harness)

    def test_the_backend_needs_no_screen_unless_the_blueprint_chose_one(self):
        with Harness() as harness:
            self.assertEqual(
                harness.run("import os; print(os.environ['MPLBACKEND'])").stdout, "Agg\n"
            )
        with Harness(env={"MPLBACKEND": "svg"}) as harness:
            self.assertEqual(
                harness.run("import os; print(os.environ['MPLBACKEND'])").stdout, "svg\n"
            )
