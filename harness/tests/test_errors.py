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

    def test_H18_an_exit_without_a_code_or_with_0_completes_the_script(self):
        for call in ("sys.exit()", "sys.exit(0)", "exit(0)", "quit()", "raise SystemExit"):
            turn = self.run_script("import sys\n" + call + "\nprint('not reached')")
            self.assertEqual((turn.stdout, turn.stderr), ("", ""), call)
            self.assertEqual(
                turn.events, [{"type": "end", "outcome": "completed", "exit_code": 0}], call
            )

    def test_H18_any_other_exit_fails_with_its_code_and_without_a_traceback(self):
        for call, code, message, printed in (
            ("sys.exit(3)", 3, "sys.exit(3) called", ""),
            ("exit(True)", 1, "sys.exit(True) called", ""),
            ("sys.exit(-1)", 255, "sys.exit(-1) called", ""),
            ("sys.exit(1 << 64)", 255, "sys.exit(18446744073709551616) called", ""),
            ("sys.exit('no data')", 1, "no data", "no data\n"),
            ("sys.exit(('a', 2))", 1, "sys.exit(('a', 2)) called", "('a', 2)\n"),
        ):
            turn = self.run_script("import sys\n" + call)
            error = {
                "type": "error",
                "name": "SystemExit",
                "message": message,
                "traceback": "",
            }
            end = {"type": "end", "outcome": "failed", "exit_code": code}
            self.assertEqual((turn.events, turn.stderr), ([error, end], printed), call)

    def test_H18_an_exit_of_256_is_0_as_for_every_process(self):
        self.assertEqual(self.run_script("exit(256)").outcome, "completed")

    def test_H18_a_thread_that_exits_ends_alone(self):
        turn = self.run_script(
            "import sys, threading\nt = threading.Thread(target=sys.exit, args=(3,))\n"
            "t.start()\nt.join()\nprint('on')"
        )
        self.assertEqual((turn.stdout, turn.stderr, turn.outcome), ("on\n", "", "completed"))

    def test_H18_an_exit_whose_code_cannot_be_told_is_an_ordinary_failure(self):
        for body in ("code = property(lambda self: 1 / 0)", "def __init__(self): self.code = self"):
            script = "class E(SystemExit):\n    %s\n    def __str__(self): return 1 / 0\n" % body
            turn = self.run_script(script + "    __repr__ = __str__\nraise E()")
            self.assertEqual((turn.outcome, len(turn.of("error"))), ("failed", 1))

    def test_H18_a_strict_blueprint_makes_every_exit_an_error(self):
        for call, end in (
            ("exit()", {"type": "end", "outcome": "failed"}),
            ("exit(0)", {"type": "end", "outcome": "failed"}),
            ("exit(4)", {"type": "end", "outcome": "failed", "exit_code": 4}),
        ):
            turn = self.run_script(call, sys_exit="error")
            self.assertEqual(turn.events[-1], end)
            error = turn.only("error")
            self.assertIn("in <module>", error["traceback"])
            note = 'note: sys_exit = "error" in the blueprint makes every sys.exit() an error'
            self.assertEqual(error["message"], "sys.%s called\n%s" % (call, note))
            self.assertTrue(error["traceback"].endswith("\n%s\n" % note), error["traceback"])

    def test_H17_an_error_of_the_compiler_shows_line_and_caret(self):
        for script in ("x = 1\nreturn 5", "x = 1\nreturn 5\ny = 2\n", "x = 1\nreturn 5 # €"):
            text = self.error_of(script)["traceback"]
            self.assertIn('script.py", line 2\n    return 5', text, script)
            self.assertIn("\n    ^", text, script)

    def test_H17_an_unfinished_script_shows_the_line(self):
        for script, line in (("x = 1\nf(2,\n", "f(2,"), ("x = 1\nprint('oops", "print('oops")):
            if sys.version_info < (3, 10) and "f(" in script:
                line = ""  # older ones name the end of the script, which is empty
            self.assertIn("\n    %s" % line, self.error_of(script)["traceback"], script)

    def test_a_traceback_names_the_file_that_the_caller_named(self):
        error = self.error_of("1 / 0", name="report.py")
        self.assertIn('File "%s/report.py", line 1' % self.harness.workspace, error["traceback"])
        turn = self.run_script("import sys; print(__file__, sys.argv)", name="report.py")
        path = self.harness.workspace + "/report.py"
        self.assertEqual(turn.stdout, "%s %s\n" % (path, [path]))

    def test_H17_a_keyboard_interrupt_without_a_signal_is_an_ordinary_failure(self):
        self.assertEqual(self.error_of("raise KeyboardInterrupt")["name"], "KeyboardInterrupt")

    def test_input_is_refused_at_once(self):
        error = self.error_of("input('name? ')")
        message = "input() is not available: scripts run without a terminal"
        self.assertEqual((error["name"], error["message"]), ("EOFError", message))

    def test_H31_a_malformed_request_is_an_error_with_an_end(self):
        for settings, script in (
            (b"", b"\xff\xfe"),
            (b"garbage", b"1"),
            (b"[]]", b"1"),
            (b"[1]", b"1"),
            (b'{"env":{"A":1}}', b"1"),
        ):
            with self.harness.worker() as worker:
                worker.send_bytes(
                    b"plan 20.0 a1b2 %d %d\n%b%b" % (len(settings), len(script), settings, script)
                )
                turn = worker.wait_exit()
                self.assertEqual(
                    [event["type"] for event in turn.events], ["error", "end"], (settings, script)
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
