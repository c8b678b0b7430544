"""Fresh globals in PLAN, shared ones in INTERACTIVE."""

import os

from tests.fake_init import SharedHarness


class Modes(SharedHarness):
    options = {"tools": {"a.py": "data = 'of the tool'\ndef tool():\n    return 'tool'\n"}}

    def test_H9_nothing_of_an_earlier_plan_turn_is_visible(self):
        for first in (
            "x = 1",
            "x = 1\n1 / 0",
            "x = 1\nimport builtins, os\nbuiltins.x = 1\nos.environ['x'] = '1'",
        ):
            self.run_script(first)
            turn = self.run_script("import os\nprint(os.environ.get('x'))\nx")
            self.assertEqual((turn.stdout, turn.only("error")["name"]), ("None\n", "NameError"))

    def test_C2_interactive_steps_share_their_globals(self):
        with self.harness.worker() as worker:
            worker.step("x = 20\ndef f(): return x + 1")
            self.assertEqual(worker.step("print(f())").stdout, "21\n")

    def test_C2_a_failed_step_keeps_what_came_before(self):
        with self.harness.worker() as worker:
            self.assertEqual(worker.step("x = 1\ny = 2\n1 / 0\nz = 3").outcome, "failed")
            self.assertEqual(worker.step("print(x, y, 'z' in globals())").stdout, "1 2 False\n")

    def test_C2_the_worker_ends_when_its_requests_end(self):
        with self.harness.worker() as worker:
            worker.step("x = 1")
            os.close(worker.requests)
            worker.wait_exit()
            self.assertEqual(worker.status, 0)

    def test_H29_every_kind_of_end_is_followed_by_a_good_step(self):
        with self.harness.worker() as worker:
            for script, outcome in (
                ("1 / 0", "failed"),
                ("while True: pass", "timeout"),
                ("import sys; sys.exit(0)", "completed"),
                ("import sys; sys.exit(2)", "failed"),
                ("emit_result(1)", "completed"),
                ("x = = 1", "failed"),
            ):
                turn = worker.step(script, timeout=0.1)
                self.assertEqual((turn.outcome, len(turn.of("end"))), (outcome, 1))
                self.assertEqual(worker.step("print('good')").stdout, "good\n")

    def test_H34_helpers_and_tools_are_back_in_the_next_step(self):
        with self.harness.worker() as worker:
            worker.step("emit_result = emit_log = tool = ToolResult = None\ndel emit_intermediate")
            turn = worker.step(
                "emit_intermediate('a', 1)\nemit_log(tool())\nemit_result(ToolResult(True))"
            )
            self.assertEqual(
                [event["type"] for event in turn.events],
                ["intermediate", "log", "final_result", "end"],
            )

    def test_C2_a_variable_named_like_a_tools_global_keeps_its_value(self):
        with self.harness.worker() as worker:
            self.assertEqual(worker.step("print(data); data = 'mine'").stdout, "of the tool\n")
            self.assertEqual(worker.step("print(data)").stdout, "mine\n")

    def test_H11_each_step_may_have_a_result(self):
        with self.harness.worker() as worker:
            for n in range(3):
                turn = worker.step("emit_result(%d)" % n)
                self.assertEqual((turn.only("final_result")["data"], turn.of("log")), (n, []))

    def test_H17_functions_of_earlier_steps_show_their_own_lines(self):
        with self.harness.worker() as worker:
            worker.step("def first():\n    raise ValueError('one')")
            worker.step("def second():\n    # comment\n    first()")
            text = worker.step("second()").only("error")["traceback"]
            self.assertIn('"<step 3>", line 1, in <module>\n    second()', text)
            self.assertIn('"<step 2>", line 3, in second\n    first()', text)
            self.assertIn("\"<step 1>\", line 2, in first\n    raise ValueError('one')", text)

    def test_modules_written_by_one_step_can_be_imported_by_the_next(self):
        with self.harness.worker() as worker:
            self.assertEqual(
                worker.step("import fresh_module").only("error")["name"], "ModuleNotFoundError"
            )
            worker.step("with open('fresh_module.py', 'w') as f: f.write('x = 8')")
            self.assertEqual(
                worker.step("import fresh_module; print(fresh_module.x)").stdout, "8\n"
            )

    def test_the_environment_of_a_request_is_set_and_stays(self):
        with self.harness.worker() as worker:
            self.assertEqual(
                worker.step("import os; print(os.environ['A'])", env={"A": "1"}).stdout, "1\n"
            )
            self.assertEqual(
                worker.step("print(os.environ['A'], os.environ['B'])", env={"B": "2"}).stdout,
                "1 2\n",
            )

    def test_underscore_is_the_last_shown_value(self):
        with self.harness.worker() as worker:
            worker.step("6 * 7")
            worker.step("None")
            self.assertEqual(worker.step("print(_)").stdout, "42\n")

    def test_every_record_has_the_mark_of_its_turn(self):
        with self.harness.worker() as worker:
            for mark in ("0a", "0b"):
                turn = worker.step("emit_log('x')\nprint('y')\n1", mark=mark)
                self.assertEqual(
                    {record.mark for record in turn.records if record.event}, {mark.encode()}
                )
                self.assertEqual(len(turn.events), 3)

    def test_an_empty_line_is_no_request(self):
        with self.harness.worker() as worker:
            for script in ("x = 1", "x += 1", "print(x)"):
                worker.send_bytes(b"\n")
                turn = worker.step(script)
                worker.send_bytes(b"\n")
            self.assertEqual(
                (turn.stdout, turn.events), ("2\n", [{"type": "end", "outcome": "completed"}])
            )

    def test_an_empty_line_right_behind_a_request_is_no_request(self):
        with self.harness.worker() as worker:
            for _ in range(2):
                worker.send_bytes(b"interactive 20.0 0a 0 8\nprint(1)\n\n")
                self.assertEqual(worker.wait_end().stdout, "1\n")

    def test_what_a_thread_of_an_earlier_step_emits_is_labelled(self):
        emit = "go.release()\ndone.acquire()"
        with self.harness.worker() as worker:
            worker.step(
                "import threading\ngo, done = threading.Semaphore(0), threading.Semaphore(0)\n"
                "def work():\n    while go.acquire():\n        emit_log('m')\n"
                "        emit_intermediate('l', 1)\n"
                "        try: emit_result(1)\n"
                "        except RuntimeError as error: print(error)\n"
                "        done.release()\n"
                "threading.Thread(target=work, daemon=True).start()"
            )
            for _ in range(2):
                turn = worker.step(emit)
                self.assertEqual(turn.only("log")["message"], "[thread of step 1] m")
                self.assertEqual(turn.only("intermediate")["label"], "[thread of step 1] l")
                self.assertEqual(turn.of("final_result"), [])
                self.assertIn("an earlier one started this thread", turn.stdout)

    def test_a_thread_of_the_running_step_is_not_labelled(self):
        thread = (
            "import threading\nt = threading.Thread(target=emit_log, args=('m',))\nt.start()\n"
            "t.join()"
        )
        with self.harness.worker() as worker:
            for _ in range(2):
                self.assertEqual(worker.step(thread).only("log")["message"], "m")


class AsyncTools(SharedHarness):
    options = {"tools": {"a.py": "async def tell():\n    emit_log('m')\n"}}

    def test_the_loop_of_async_tools_works_for_the_step_that_calls_it(self):
        with self.harness.worker() as worker:
            for _ in range(2):
                self.assertEqual(worker.step("tell()").only("log")["message"], "m")
