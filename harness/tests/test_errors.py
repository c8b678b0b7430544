"""Uncaught exceptions: names, messages, tracebacks."""

import re
import sys
import unittest

from tests.fake_init import SharedHarness


class Errors(SharedHarness):
    def error_of(self, script, **options):
        turn = self.run_script(script, **options)
        self.assertEqual(turn.outcome, "failed")
        self.assertEqual(turn.events[-2]["type"], "error")
        self.assertEqual(turn.stderr, "")
        self.assertNotIn("executor_harness", turn.only("error")["traceback"])
        return turn.only("error")

    def test_H17_an_exception_gives_name_message_and_traceback(self):
        error = self.error_of("def f(x):\n    raise ValueError('bad %d' % x)\n\nf(3)\n")
        self.assertEqual((error["name"], error["message"]), ("ValueError", "bad 3"))
        text = re.sub(r"\n +[\^~]+(?=\n)", "", error["traceback"])
        self.assertEqual(
            text,
            'Traceback (most recent call last):\n  File "%(f)s", line 4, in <module>\n    f(3)\n'
            "  File \"%(f)s\", line 2, in f\n    raise ValueError('bad %%d' %% x)\n"
            "ValueError: bad 3\n" % {"f": self.harness.workspace + "/script.py"},
        )

    def test_H17_lines_are_right_whether_or_not_the_script_ends_in_an_expression(self):
        for ending in ("1 / 0", "x = 1 / 0", "if True:\n    1 / 0", "f(\n1 / 0)", "(1 /\n 0)"):
            error = self.error_of("f = print\n\n\n" + ending)
            expected = 5 if ending.startswith(("if", "f(")) else 4
            self.assertIn('script.py", line %d, in <module>' % expected, error["traceback"], ending)

    def test_H17_a_syntax_error_shows_line_and_caret(self):
        error = self.error_of("x = 1\ny = = 2\nz = 3\n")
        self.assertEqual(error["name"], "SyntaxError")
        self.assertIn(
            'script.py", line 2\n    y = = 2\n        ^\nSyntaxError: invalid syntax',
            error["traceback"],
        )

    def test_H17_errors_in_the_last_line_alone_are_found(self):
        for script in ("x = (1\n2", "'''\nabc", "x = 1\n  y = 2", "\x00", "x = '\ud800'"):
            self.assertIn(
                self.error_of(script)["name"],
                ("SyntaxError", "IndentationError", "ValueError", "UnicodeDecodeError"),
            )

    def test_H17_causes_and_contexts_are_shown(self):
        cause = self.error_of(
            "try:\n    1 / 0\nexcept Exception as e:\n    raise KeyError('k') from e"
        )["traceback"]
        self.assertIn(
            "ZeroDivisionError: division by zero\n\nThe above exception was the direct cause", cause
        )
        context = self.error_of("try:\n    1 / 0\nexcept Exception:\n    {}['k']")["traceback"]
        self.assertIn("During handling of the above exception, another exception occurred", context)

    @unittest.skipIf(sys.version_info < (3, 11), "exception groups came with 3.11")
    def test_H17_exception_groups_are_shown(self):
        text = self.error_of(
            "def f(): raise ValueError('in')\ntry:\n    f()\nexcept ValueError as e:\n"
            "    raise ExceptionGroup('g', [e, KeyError(1)])"
        )["traceback"]
        self.assertIn("ExceptionGroup: g (2 sub-exceptions)", text)
        self.assertIn("ValueError: in", text)

    def test_H17_an_exception_that_cannot_be_printed_is_still_an_event(self):
        for body in ("raise RuntimeError", "raise SystemExit", "return 3", "return self.__str__()"):
            error = self.error_of(
                "class E(Exception):\n    def __str__(self):\n        %s\nraise E" % body
            )
            self.assertEqual(error["name"], "E")

    def test_H17_endless_recursion(self):
        error = self.error_of("def f(): f()\nf()")
        self.assertEqual(error["name"], "RecursionError")
        self.assertLess(len(error["traceback"]), 70000)

    def test_H17_out_of_memory(self):
        self.assertEqual(self.error_of("x = bytearray(1 << 60)")["name"], "MemoryError")

    def test_H17_long_tracebacks_keep_head_and_tail(self):
        error = self.error_of("raise ValueError('start' + 'x' * 1000000 + 'end')")
        self.assertLess(len(error["traceback"]), 70000)
        self.assertTrue(error["traceback"].startswith("Traceback (most recent"))
        self.assertTrue(error["traceback"].endswith("end\n"))
        self.assertTrue(error["message"].startswith("start") and error["message"].endswith("end"))

    def test_H17_a_very_long_chain_of_exceptions(self):
        error = self.error_of(
            "e = None\nfor i in range(5000):\n    n = ValueError(i)\n"
            "    n.__context__ = e\n    e = n\nraise e"
        )
        self.assertEqual((error["name"], error["message"] != ""), ("ValueError", True))

    def test_H17_a_circular_chain_of_exceptions(self):
        error = self.error_of(
            "a, b = ValueError('a'), ValueError('b')\na.__context__ = b\nb.__context__ = a\nraise a"
        )
        self.assertEqual(error["message"], "a")

    def test_H18_sys_exit_is_an_error_of_the_script(self):
        for call, message in (
            ("sys.exit(3)", "sys.exit(3) called"),
            ("sys.exit(0)", "sys.exit(0) called"),
            ("sys.exit()", "sys.exit() called"),
            ("sys.exit('no data')", "no data"),
            ("exit(0)", "sys.exit(0) called"),
            ("quit()", "sys.exit() called"),
            ("raise SystemExit", "sys.exit() called"),
        ):
            error = self.error_of("import sys\n" + call)
            self.assertEqual((error["name"], error["message"]), ("SystemExit", message), call)

    def test_H17_a_keyboard_interrupt_without_a_signal_is_an_ordinary_failure(self):
        self.assertEqual(self.error_of("raise KeyboardInterrupt")["name"], "KeyboardInterrupt")

    def test_input_is_refused_at_once(self):
        error = self.error_of("input('name? ')")
        message = "input() is not available: scripts run without a terminal"
        self.assertEqual((error["name"], error["message"]), ("EOFError", message))

    def test_H31_a_malformed_request_is_an_error_with_an_end(self):
        for env, script in (
            (b"", b"\xff\xfe"),
            (b"garbage", b"1"),
            (b"[]]", b"1"),
            (b'{"A":1}', b"1"),
        ):
            with self.harness.worker() as worker:
                worker.send_bytes(
                    b"plan 20.0 a1b2 %d %d\n%b%b" % (len(env), len(script), env, script)
                )
                turn = worker.wait_exit()
                self.assertEqual(
                    [event["type"] for event in turn.events], ["error", "end"], (env, script)
                )

    def test_H31_a_head_that_is_none_ends_the_worker(self):
        with self.harness.worker() as worker:
            worker.send_bytes(b"garbage\n")
            self.assertEqual(worker.wait_exit().events, [])

    def test_H31_a_script_of_ten_megabytes_runs(self):
        turn = self.run_script("x = '''%s'''\nprint(len(x))" % ("y" * 10_000_000))
        self.assertEqual((turn.stdout, turn.outcome), ("10000000\n", "completed"))

    def test_nothing_of_the_last_error_is_left_for_the_next_step(self):
        with self.harness.worker() as worker:
            worker.step("1 / 0")
            turn = worker.step("import sys; print(sys.exc_info(), hasattr(sys, 'last_type'))")
            self.assertEqual(turn.stdout, "(None, None, None) False\n")
