"""emit_result, emit_intermediate, emit_log, and the JSON they become."""

import json
import unittest
from importlib.util import find_spec

from tests.fake_init import SharedHarness

COMPLETED = {"type": "end", "outcome": "completed"}
FAILED = {"type": "end", "outcome": "failed"}


class Emit(SharedHarness):
    def result_of(self, expression):
        return self.run_script("emit_result(%s)" % expression).only("final_result")["data"]

    def error_of(self, script):
        turn = self.run_script(script)
        self.assertEqual(turn.events[-1], FAILED)
        return turn.only("error")

    def test_H11_emit_result_ends_the_script(self):
        turn = self.run_script(
            "try:\n    emit_result({'a': 1})\n    print('no')\nfinally:\n"
            "    print('finally')\nprint('no')"
        )
        self.assertEqual(turn.stdout, "finally\n")
        self.assertEqual(turn.events, [{"type": "final_result", "data": {"a": 1}}, COMPLETED])

    def test_H11_except_Exception_does_not_stop_it(self):
        turn = self.run_script(
            "try:\n    emit_result(1)\nexcept Exception:\n    print('no')\nprint('no')"
        )
        self.assertEqual((turn.stdout, turn.outcome), ("", "completed"))

    def test_H11_a_second_result_is_ignored_and_logged(self):
        turn = self.run_script("try:\n    emit_result(1)\nexcept:\n    emit_result(2)\nprint('no')")
        self.assertEqual([event["type"] for event in turn.events], ["final_result", "log", "end"])
        self.assertEqual(turn.only("final_result")["data"], 1)
        self.assertEqual(turn.only("log")["level"], "warning")
        self.assertEqual(turn.stdout, "")

    def test_H11_a_result_from_a_thread_ends_only_that_thread(self):
        turn = self.run_script(
            "import threading\ndef work():\n    emit_result('t')\n    print('no')\n"
            "t = threading.Thread(target=work); t.start(); t.join()\nprint('main goes on')"
        )
        self.assertEqual((turn.stdout, turn.stderr), ("main goes on\n", ""))
        self.assertEqual(turn.events, [{"type": "final_result", "data": "t"}, COMPLETED])

    def test_H11_an_error_in_finally_after_the_result_fails_and_hides_our_machinery(self):
        turn = self.run_script("try:\n    emit_result(1)\nfinally:\n    1 / 0")
        self.assertEqual([event["type"] for event in turn.events], ["final_result", "error", "end"])
        self.assertEqual(turn.outcome, "failed")
        self.assertNotIn("ScriptFinished", turn.only("error")["traceback"])

    def test_H12_intermediates_come_in_order_and_while_the_script_runs(self):
        with self.harness.worker() as worker:
            worker.ask(
                "for i in range(3):\n    emit_intermediate('step', i)\n"
                "import signal; signal.pause()"
            )
            worker.wait_for(b'"data":2}')  # the script is still waiting for a signal
            sent = [
                json.loads(line.split(b" ", 3)[3]) for line in worker.data[worker.emit].splitlines()
            ]
        self.assertEqual(
            sent, [{"type": "intermediate", "label": "step", "data": i} for i in range(3)]
        )

    def test_H13_every_level_and_any_message(self):
        turn = self.run_script(
            "emit_log(42)\n"
            "for l in ('debug', 'info', 'warning', 'error', 'critical'): emit_log('m', l)"
        )
        self.assertEqual(turn.events[0], {"type": "log", "level": "info", "message": "42"})
        levels = [event["level"] for event in turn.of("log")[1:]]
        self.assertEqual(levels, ["debug", "info", "warning", "error", "critical"])

    def test_H13_levels_have_the_names_that_logging_knows(self):
        turn = self.run_script("for l in ('WARNING', 'warn', 'fatal', 'Info'): emit_log('', l)")
        levels = [event["level"] for event in turn.of("log")]
        self.assertEqual(levels, ["warning", "warning", "critical", "info"])

    def test_H14_values_of_the_standard_library_have_a_form(self):
        for value, expected in (
            ("__import__('decimal').Decimal('99.50')", "99.50"),
            ("__import__('decimal').Decimal('NaN')", "NaN"),
            ("__import__('fractions').Fraction(1, 3)", "1/3"),
            ("__import__('uuid').UUID(int=1)", "00000000-0000-0000-0000-000000000001"),
            ("__import__('datetime').timedelta(minutes=2)", 120.0),
            ("__import__('datetime').date(2024, 5, 1)", "2024-05-01"),
            ("__import__('enum').Enum('E', 'a b').b", 2),
            ("{__import__('datetime').date(2024, 5, 1): 1}", {"2024-05-01": 1}),
            ("{__import__('decimal').Decimal('1.5'): float('nan')}", {"1.5": None}),
        ):
            turn = self.run_script("emit_result(%s)" % value)
            self.assertEqual(turn.only("final_result")["data"], expected, value)

    def test_H14_a_key_without_a_form_is_an_error_that_names_the_way_out(self):
        error = self.error_of("emit_result({(1, 2): 3})")
        text = "emit_result: a key of type tuple has no JSON form; make it a text, "
        self.assertEqual(error["message"], text + "for instance str(key)")

    def test_H14_frames_become_records(self):
        turn = self.run_script(
            "class Frame:\n"
            "    def __init__(self, names, rows): self.index, self.rows = Index(names), rows\n"
            "    columns = ['a']\n"
            "    def reset_index(self):\n"
            "        if self.index.names == ['a']: raise ValueError('cannot insert a')\n"
            "        return Frame([None], [dict(row, i=n) for n, row in enumerate(self.rows)])\n"
            "    def to_dict(self, orient): return {'records': self.rows}[orient]\n"
            "class Index:\n    def __init__(self, names): self.names = names\n"
            "rows = [{'a': 1}, {'a': float('nan')}]\n"
            "emit_result([Frame([None], rows), Frame(['i'], rows), Frame(['a'], rows)])"
        )
        plain = [{"a": 1}, {"a": None}]
        numbered = [{"a": 1, "i": 0}, {"a": None, "i": 1}]
        self.assertEqual(turn.only("final_result")["data"], [plain, numbered, plain])

    @unittest.skipUnless(find_spec("pandas"), "needs pandas")
    def test_H14_types_of_pandas_and_numpy_have_a_form(self):
        turn = self.run_script(
            "import numpy as np, pandas as pd\n"
            "frame = pd.DataFrame({'k': ['x', 'y'], 'n': [1, 2],\n"
            "                      't': pd.to_datetime(['2024-05-01', None])})\n"
            "emit_result([frame, frame.groupby('k').n.sum().to_frame(), frame.n, pd.NA, pd.NaT,\n"
            "             np.int64(3), np.float32(0.5), np.bool_(True), np.arange(2),\n"
            "             np.datetime64('2024-05-01T00:00:00.000000000'), {np.int64(1): 2}])"
        )
        time = "2024-05-01T00:00:00"
        rows = [{"k": "x", "n": 1, "t": time}, {"k": "y", "n": 2, "t": None}]
        sums = [{"k": "x", "n": 1}, {"k": "y", "n": 2}]
        self.assertEqual(
            turn.only("final_result")["data"],
            [rows, sums, [1, 2], None, None, 3, 0.5, True, [0, 1], time + ".000000000", {"1": 2}],
        )

    def test_H13_an_unknown_level_is_the_scripts_error(self):
        error = self.error_of("emit_log('x', level='loud')")
        self.assertEqual(error["name"], "ValueError")
        self.assertIn("'loud'", error["message"])

    def test_H14_unserialisable_data_is_an_error_at_the_scripts_line(self):
        error = self.error_of("x = 1\nemit_result({'a': object()})")
        self.assertEqual(error["name"], "TypeError")
        self.assertEqual(
            error["message"],
            "emit_result: an object of type object has no JSON form; "
            "give a dict, a list or a text, for instance vars(value) or str(value)",
        )
        self.assertIn("line 2, in <module>\n    emit_result({'a': object()})\n", error["traceback"])
        self.assertNotIn("executor_harness", error["traceback"])

    def test_H14_the_script_may_catch_it_and_try_again(self):
        turn = self.run_script(
            "try:\n    emit_result({1j})\nexcept TypeError:\n    emit_result('fallback')"
        )
        self.assertEqual(turn.events, [{"type": "final_result", "data": "fallback"}, COMPLETED])

    def test_H14_keys_that_json_lacks_are_an_error(self):
        self.assertEqual(self.error_of("emit_result({(1, 2): 3})")["name"], "TypeError")

    def test_H14_a_circle_is_an_error(self):
        error = self.error_of("a = []; a.append(a); emit_result(a)")
        self.assertEqual(
            (error["name"], error["message"]),
            ("ValueError", "emit_result: Circular reference detected"),
        )

    def test_keys_that_json_can_name(self):
        self.assertEqual(
            self.result_of("{1: 1, 2.5: 2, True: 3, None: 4}"), {"1": 3, "2.5": 2, "null": 4}
        )

    def test_values_that_have_an_obvious_form(self):
        turn = self.run_script(
            "import dataclasses, datetime, pathlib\n"
            "@dataclasses.dataclass\nclass P:\n    x: int\n    y: object = None\n"
            "class Array:\n    def tolist(self): return [1, 2]\n"
            "emit_result([P(1, P(2)), datetime.date(2024, 1, 2), {3}, frozenset([4]), "
            "pathlib.Path('/a'), Array(), (5,), ToolResult(False)])"
        )
        self.assertEqual(
            turn.only("final_result")["data"],
            [{"x": 1, "y": {"x": 2, "y": None}}, "2024-01-02", [3], [4], "/a", [1, 2], [5]]
            + [{"success": False, "data": None, "message": ""}],
        )

    def test_a_class_is_not_taken_for_its_instances(self):
        self.assertEqual(
            self.error_of("import datetime; emit_result(datetime.date)")["name"], "TypeError"
        )

    def test_nan_becomes_null_with_one_warning_per_turn(self):
        turn = self.run_script(
            "n = float('nan')\nclass Array:\n    def tolist(self): return [n, 1.5]\n"
            "emit_intermediate('a', [n, float('inf'), {'k': -float('inf'), n: 1}])\n"
            "emit_intermediate('b', Array())"
        )
        data = [event["data"] for event in turn.of("intermediate")]
        self.assertEqual(data, [[None, None, {"k": None, "nan": 1}], [None, 1.5]])
        self.assertEqual(turn.only("log")["level"], "warning")

    def test_integers_keep_every_digit(self):
        self.assertEqual(self.result_of("[2 ** 64, -10 ** 30]"), [2**64, -(10**30)])
        turn = self.run_script("emit_result(10 ** 5000)")
        self.assertEqual(len(json.dumps(turn.events[0]["data"] // 10**4990)), 11)
        self.assertEqual(turn.of("log"), [])

    def test_text_outside_ascii_is_kept_and_lone_surrogates_are_replaced(self):
        self.assertEqual(self.result_of(r"'h\u00e9 \U0001f525'"), "h\xe9 \U0001f525")
        self.assertEqual(
            self.result_of(r"'a\ud800b\udfffc\ud83d\ude00'"), "a\ufffdb\ufffdc\U0001f600"
        )

    def test_a_payload_over_the_limit_is_refused_by_name_and_size(self):
        error = self.error_of("emit_result('x' * (8 << 20))")
        self.assertEqual(error["name"], "ValueError")
        self.assertIn("the limit is 8388608", error["message"])
        self.assertRegex(error["message"], "has 83886[0-9]{2} bytes")

    def test_a_payload_just_under_the_limit_arrives_whole(self):
        turn = self.run_script("emit_intermediate('a', 'x' * 8388000)\nemit_log('after')")
        self.assertEqual(len(turn.only("intermediate")["data"]), 8388000)
        self.assertEqual(turn.only("log")["message"], "after")

    def test_deep_nesting_is_refused_and_200_levels_are_not(self):
        nest = "x = 0\nfor _ in range(%d): x = [x, '}{][\"']\nemit_result(x)"
        self.assertEqual(self.run_script(nest % 200).outcome, "completed")
        for depth in (201, 5000, 200000):
            error = self.error_of(nest % depth)
            self.assertEqual((error["name"], depth), ("ValueError", depth))
            self.assertIn("deeper than 200", error["message"])

    def test_wide_data_is_not_deep(self):
        self.assertEqual(
            self.run_script("emit_result([{'a': [i]} for i in range(5000)])").outcome, "completed"
        )

    def test_H22_concurrent_emits_and_prints_stay_whole(self):
        turn = self.run_script(
            "import threading\ndef work(n):\n    for i in range(1250):\n"
            "        emit_intermediate(str(n), [i, 'x' * (i % 50)])\n"
            "        if i % 50 == 0: print('line', n, i)\n"
            "threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]\n"
            "[t.start() for t in threads]\n[t.join() for t in threads]\nNone"
        )
        self.assertEqual(len(turn.of("intermediate")), 10000)
        for n in range(8):
            own = [
                event["data"][0] for event in turn.of("intermediate") if event["label"] == str(n)
            ]
            self.assertEqual(own, list(range(1250)))
        self.assertEqual(turn.outcome, "completed")

    def test_H22_large_records_of_many_threads_stay_whole(self):
        turn = self.run_script(
            "import threading\ndef work(n):\n    for i in range(5):\n"
            "        emit_intermediate('l', str(n) * 200000)\n"
            "ts = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
            "[t.start() for t in ts]\n[t.join() for t in ts]\nNone"
        )
        self.assertEqual(
            sorted({event["data"] for event in turn.of("intermediate")}),
            [str(n) * 200000 for n in range(4)],
        )

    def test_a_forked_child_cannot_emit_and_does_not_end_the_turn(self):
        turn = self.run_script(
            "import os\npid = os.fork()\nif pid == 0:\n    emit_log('from the child')\n"
            "_, status = os.waitpid(pid, 0)\nprint(os.WEXITSTATUS(status))\nemit_result('parent')"
        )
        self.assertEqual([event["type"] for event in turn.events], ["final_result", "end"])
        self.assertIn("RuntimeError: emit_log: only the script's own process can emit", turn.stderr)
        self.assertEqual(turn.stdout, "1\n")

    def test_a_forked_child_that_reaches_the_end_leaves_like_any_python(self):
        turn = self.run_script(
            "import os, sys\npid = os.fork()\nif pid == 0:\n    print('child')\n    sys.exit(7)\n"
            "_, status = os.waitpid(pid, 0)\nprint('status', os.WEXITSTATUS(status))"
        )
        self.assertEqual((turn.stdout, turn.events), ("child\nstatus 7\n", [COMPLETED]))

    def test_multiprocessing_works(self):
        turn = self.run_script(
            "import multiprocessing\ndef square(x): return x * x\n"
            "with multiprocessing.get_context('fork').Pool(2) as pool:\n"
            "    print(pool.map(square, range(4)))"
        )
        self.assertEqual((turn.stdout, turn.outcome), ("[0, 1, 4, 9]\n", "completed"))
