"""What a paused session keeps of its variables."""

import json
import os
import tempfile

from tests.fake_init import HARNESS, SharedHarness

HEADER = os.path.join(HARNESS, "../../src/session/variables_script.h")
MB = 1 << 20


def own_step(call):
    """What the host sends: src/session/sandbox_variables.cpp."""
    with open(HEADER, encoding="utf-8") as file:
        script = file.read().partition('R"PYTHON(')[2].partition(')PYTHON"')[0]
    return (
        "exec(r'''%s\n%s\n''', {'namespace': globals(), 'emit_result': emit_result, "
        "'emit_intermediate': emit_intermediate})" % (script, call)
    )


class Variables(SharedHarness):
    options = {"tools": {"a.py": "import math\ndef tool():\n    return 'tool'\n"}}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "variables")

    def paused(self, *steps, limit=MB):
        """What keep() says after these steps: the names that are kept, and those that are lost."""
        with self.harness.worker() as worker:
            for step in steps:
                self.assertEqual(worker.step(step).outcome, "completed")
            turn = worker.step(own_step("keep(namespace, %r, %d)" % (self.path, limit)))
        self.assertEqual(turn.outcome, "completed", turn.events)
        said = turn.only("final_result")["data"]
        announced = turn.only("intermediate")["data"]
        self.assertEqual(sorted(announced), sorted(said["kept"] + said["lost"]))
        return sorted(said["kept"]), sorted(said["lost"])

    def resumed(self, step):
        """What restore() says is lost, and what a step after it prints."""
        with self.harness.worker() as worker:
            turn = worker.step(own_step("restore(namespace, %r)" % self.path))
            self.assertEqual(turn.outcome, "completed", turn.events)
            return turn.only("final_result")["data"]["lost"], worker.step(step).stdout

    def test_values_and_imports_come_back_and_stay_the_same_objects(self):
        kept, lost = self.paused(
            "import json, os.path as p\nfrom math import sqrt",
            "a = [1, {2: 'x'}]\nb = a\n_private = 3\n1 + 1",
        )
        self.assertEqual((kept, lost), (["_private", "a", "b", "json", "p", "sqrt"], []))
        lost, text = self.resumed("print(a, b is a, _private, json.loads('1'), p.sep, sqrt(4))")
        self.assertEqual((lost, text), ([], "[1, {2: 'x'}] True 3 1 / 2.0\n"))
        self.assertFalse(os.path.exists(self.path))

    def test_functions_classes_and_what_is_made_of_them_are_named_as_lost(self):
        kept, lost = self.paused(
            "def f(): pass\nclass C: pass\nc = C()\ng = lambda: 0\nx = 1\nlist_of = [f]\n"
            "import socket\nconn = socket.socket()\nthing = iter(open('/dev/null'))"
        )
        self.assertEqual(kept, ["socket", "x"])
        self.assertEqual(lost, ["C", "c", "conn", "f", "g", "list_of", "thing"])
        self.assertEqual(self.resumed("print(x, 'f' in globals())"), ([], "1 False\n"))

    def test_tools_and_helpers_are_not_variables(self):
        self.assertEqual(self.paused("tool()"), ([], []))
        kept, lost = self.paused("mine = tool\nhelper = emit_log")
        self.assertEqual((kept, lost), (["helper", "mine"], []))
        self.assertEqual(self.resumed("print(mine(), helper is emit_log)"), ([], "tool True\n"))

    def test_the_largest_is_lost_when_all_together_are_too_large(self):
        kept, lost = self.paused("a = 'x' * 500\nb = 'y' * 600\nc = 'z' * 100000", limit=1000)
        self.assertEqual((kept, lost), (["a"], ["b", "c"]))
        self.assertLessEqual(os.path.getsize(self.path), 1000)

    def test_what_raises_while_it_is_pickled_harms_only_itself(self):
        kept, lost = self.paused(
            "import sys\nclass Liar(dict):\n    pass\n"
            "class Leaver:\n    def __reduce__(self): sys.exit(3)\n"
            "leaver = Leaver()\ndeep = []\nfor _i in range(100000): deep = [deep]\nx = 1"
        )
        self.assertEqual(kept, ["_i", "sys", "x"])
        self.assertEqual(lost, ["Leaver", "Liar", "deep", "leaver"])

    def test_what_does_not_unpickle_is_named(self):
        with open(os.path.join(self.harness.workspace, "own.py"), "w") as file:
            file.write("class Own:\n    pass\n")
        kept, lost = self.paused("import own\nvalue = own.Own()\nimport json")
        self.assertEqual((kept, lost), (["json", "own", "value"], []))
        os.unlink(os.path.join(self.harness.workspace, "own.py"))
        lost, text = self.resumed("print(json.dumps(1))")
        self.assertEqual((sorted(lost), text), (["own", "value"], "1\n"))

    def test_names_that_are_none_are_lost_and_bounded(self):
        kept, lost = self.paused(
            "globals()['no name' * 100] = 1\nfor n in range(1500): globals()['v%d' % n] = n"
        )
        self.assertEqual(len(kept), 1000)
        self.assertEqual(len(lost), 502)
        self.assertLessEqual(max(map(len, lost)), 200)
        self.assertLess(len(json.dumps(lost)), 20000)
