"""Time-outs and cancelling, and that neither ever hits anything but the script."""

import os
import signal
import subprocess
import sys

from tests.fake_init import HARNESS, SharedHarness


def timed_out(seconds):
    limit = "resource_limits.execution_timeout_sec, or the timeout of the run"
    return "Script timed out after %ss (%s)" % (seconds, limit)


class Timeouts(SharedHarness):
    def test_H15_a_time_out_is_an_error_that_says_where_and_when(self):
        turn = self.run_script("import time\ndef wait():\n    time.sleep(60)\nwait()", timeout=0.15)
        error = turn.only("error")
        self.assertEqual((error["name"], error["message"]), ("ScriptTimeout", timed_out("0.15")))
        self.assertIn("line 3, in wait\n    time.sleep(60)", error["traceback"])
        self.assertNotIn("executor_harness", error["traceback"])
        self.assertEqual(turn.events[-1], {"type": "end", "outcome": "timeout"})

    def test_H15_a_busy_loop_times_out(self):
        self.assertEqual(self.run_script("while True: pass", timeout=0.1).outcome, "timeout")

    def test_H15_except_Exception_does_not_catch_it_and_finally_runs(self):
        turn = self.run_script(
            "import time\ntry:\n    time.sleep(60)\nexcept Exception:\n    print('no')\n"
            "finally:\n    print('finally')",
            timeout=0.1,
        )
        self.assertEqual((turn.stdout, turn.outcome), ("finally\n", "timeout"))

    def test_H15_a_script_that_catches_it_completes(self):
        turn = self.run_script(
            "import time\ntry:\n    time.sleep(60)\nexcept BaseException as e:\n"
            "    print(type(e).__name__)",
            timeout=0.1,
        )
        self.assertEqual((turn.stdout, turn.outcome), ("ScriptTimeout\n", "completed"))

    def test_H15_the_alarm_is_reset_for_the_next_step(self):
        with self.harness.worker() as worker:
            self.assertEqual(worker.step("pass", timeout=0.2).outcome, "completed")
            turn = worker.step("import time; time.sleep(0.4); print('still here')", timeout=0)
            self.assertEqual((turn.stdout, turn.outcome), ("still here\n", "completed"))

    def test_H15_two_time_outs_one_after_the_other(self):
        with self.harness.worker() as worker:
            for seconds in (0.1, 0.12):
                turn = worker.step("while True: pass", timeout=seconds)
                self.assertEqual(turn.only("error")["message"], timed_out("%g" % seconds))
            self.assertEqual(worker.step("print(1)").stdout, "1\n")

    def test_H15_even_the_shortest_limit_ends_as_a_time_out(self):
        for microseconds in (1, 5, 20, 50, 100, 200, 400, 800, 1600):
            turn = self.run_script("while True: pass", timeout=microseconds / 1e6)
            self.assertEqual((turn.outcome, len(turn.of("error"))), ("timeout", 1), microseconds)

    def test_H15_no_limit_and_absurd_limits(self):
        for seconds in (0, -1, 1e300):
            self.assertEqual(self.run_script("print(1)", timeout=seconds).stdout, "1\n")

    def test_H15_threads_and_exit_handlers_are_under_the_limit(self):
        for script in (
            "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()",
            "import atexit, time\natexit.register(time.sleep, 60)",
        ):
            turn = self.run_script(script, timeout=0.15)
            self.assertEqual(
                (turn.outcome, turn.only("error")["name"]), ("timeout", "ScriptTimeout"), script
            )

    def test_H15_the_display_of_a_value_is_under_the_limit(self):
        turn = self.run_script(
            "class C:\n    def __repr__(self):\n        while True: pass\nC()", timeout=0.1
        )
        self.assertEqual(turn.outcome, "timeout")

    def test_H15_printing_an_error_is_under_the_limit(self):
        turn = self.run_script(
            "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
            timeout=0.1,
        )
        self.assertEqual((turn.outcome, turn.only("error")["name"]), ("timeout", "E"))

    def test_H15_a_limit_never_tears_a_record_or_loses_count(self):
        """The limit falls at a different point of emitting and printing each time."""
        script = (
            "import sys\nbig = 'x' * 100000\nwhile True:\n    emit_intermediate('a', big)\n"
            "    print('line')\n    print('other', file=sys.stderr)\n    emit_log('b')\n"
        )
        with self.harness.worker() as worker:
            for round_number in range(60):
                turn = worker.step(script, timeout=0.003 + round_number * 0.00037)
                self.assertEqual(turn.outcome, "timeout")
                self.assertEqual(set(turn.stdout.splitlines()) | {"line"}, {"line"})
                self.assertEqual(set(turn.stderr.splitlines()) | {"other"}, {"other"})
                self.assertEqual(turn.records[-1].out, worker.taken_out)
                self.assertEqual(turn.records[-1].err, worker.taken_err)

    def test_H22_a_raising_handler_of_the_script_tears_no_record(self):
        script = (
            "import signal\ndef h(*_): raise ValueError\nsignal.signal(signal.SIGALRM, h)\n"
            "big = 'x' * 300000\nfor i in range(30):\n    try:\n"
            "        signal.setitimer(signal.ITIMER_REAL, 0.0001 + i * 0.00005)\n"
            "        while True: emit_intermediate('a', big)\n"
            "    except ValueError: emit_log('b')\n"
        )
        turn = self.run_script(script, timeout=0)
        self.assertEqual((len(turn.of("log")), turn.outcome), (30, "completed"))
        self.assertEqual(
            {len(event["data"]) for event in turn.of("intermediate")} | {300000}, {300000}
        )

    def test_a_signal_outside_the_script_waits_until_it_may_be_raised(self):
        """The windows are too small to hit from outside, so this calls the handler where it must
        not raise."""
        code = (
            "import signal, sys, time\nsys.path.insert(0, %r)\n"
            "from executor_harness.interrupts import attempt, interrupts as i\n"
            "i.restore()\ni.arm(0)\ni.on_signal(signal.SIGINT, sys._getframe())\n"
            "print(type(attempt(time.sleep, 60)).__name__)\ni.disarm()\n"
            "i.on_signal(signal.SIGINT, None)"
        )
        command = [sys.executable, "-c", code % os.path.dirname(HARNESS)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20)
        self.assertEqual((done.stdout, done.returncode), (b"KeyboardInterrupt\n", 0))

    def test_H32_threads_left_by_one_step_cannot_emit_between_steps(self):
        with self.harness.worker() as worker:
            worker.step(
                "import os, threading\nos.mkfifo('go'); os.mkfifo('done')\n"
                "def work():\n    open('go').read(); emit_log('late'); open('done', 'w').close()\n"
                "threading.Thread(target=work, daemon=True).start()"
            )
            with open(self.harness.workspace + "/go", "w"):
                pass
            with open(self.harness.workspace + "/done") as done:
                done.read()
            self.assertEqual(worker.step("emit_log('own')").only("log")["message"], "own")

    def test_H33_threads_left_by_one_step_may_emit_in_the_next(self):
        with self.harness.worker() as worker:
            worker.step(
                "import threading\ngo, done = threading.Event(), threading.Event()\n"
                "def work():\n    go.wait(); emit_log('late'); done.set()\n"
                "threading.Thread(target=work, daemon=True).start()"
            )
            turn = worker.step("go.set(); done.wait(); emit_log('own')")
            self.assertEqual(
                [event["message"] for event in turn.of("log")], ["[thread of step 1] late", "own"]
            )

    def test_a_signal_handler_of_the_script_cannot_disturb_the_end(self):
        script = (
            "import signal\ndef h(*_): raise ValueError('mine')\nsignal.signal(signal.SIGALRM, h)\n"
            "signal.setitimer(signal.ITIMER_REAL, %g, 0.0001)"
        )
        with self.harness.worker() as worker:
            for microseconds in range(1, 60, 2):
                worker.ask(script % (microseconds / 1e6), mode="interactive")
                turn = worker.wait_end()
                self.assertIn(turn.outcome, ("completed", "failed"))
            self.assertEqual(worker.step("print('fine')").stdout, "fine\n")

    def test_a_script_may_use_signals_as_in_any_python(self):
        script = (
            "import signal, time\ndef h(number, frame): raise ValueError(frame.f_code.co_name)\n"
            "old = signal.signal(signal.SIGALRM, h)\nprint(signal.getsignal(signal.SIGALRM) is h)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.01)\ntry:\n    time.sleep(60)\n"
            "except ValueError as e: print(e)\n"
            "print(signal.signal(signal.SIGALRM, old) is h, "
            "signal.getsignal(signal.SIGALRM) == old)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(60)"
        )
        turn = self.run_script(script)
        self.assertEqual((turn.stdout, turn.outcome), ("True\n<module>\nTrue True\n", "timeout"))

    def test_a_step_that_masks_signals_does_not_disarm_the_next(self):
        with self.harness.worker() as worker:
            worker.step("import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])")
            self.assertEqual(worker.step("while True: pass", timeout=0.1).outcome, "timeout")


class Cancelling(SharedHarness):
    def test_cancelling_interrupts_the_script(self):
        with self.harness.worker() as worker:
            worker.ask("import time\nemit_log('started')\ntime.sleep(60)")
            worker.wait_for(b"started")
            os.kill(worker.pid, signal.SIGINT)
            turn = worker.wait_exit()
        error = turn.only("error")
        self.assertEqual(
            (error["name"], error["message"]), ("KeyboardInterrupt", "Script cancelled")
        )
        self.assertIn("time.sleep(60)", error["traceback"])
        self.assertEqual(turn.outcome, "cancelled")

    def test_a_prepared_worker_ignores_it(self):
        with self.harness.worker() as worker:
            for _ in range(20):
                os.kill(worker.pid, signal.SIGINT)
            self.assertEqual(worker.step("print(1)").stdout, "1\n")
            for _ in range(20):
                os.kill(worker.pid, signal.SIGINT)
            turn = worker.step("print(2)")
            self.assertEqual((turn.stdout, turn.outcome), ("2\n", "completed"))

    def test_a_step_after_a_cancelled_one_keeps_the_variables(self):
        with self.harness.worker() as worker:
            worker.ask("x = 5\nemit_log('started')\nwhile True: pass", mode="interactive")
            worker.wait_for(b"started")
            os.kill(worker.pid, signal.SIGINT)
            self.assertEqual(worker.wait_end().outcome, "cancelled")
            self.assertEqual(worker.step("print(x)").stdout, "5\n")

    def test_a_storm_of_signals_around_the_ends_of_steps_never_kills_the_worker(self):
        with self.harness.worker() as worker:
            for number in range(60):
                worker.ask(
                    "for i in range(%d): emit_intermediate('i', i)" % (number % 7),
                    mode="interactive",
                )
                for _ in range(number % 11):
                    os.kill(worker.pid, signal.SIGINT)
                turn = worker.wait_end()
                self.assertIn(turn.outcome, ("completed", "cancelled"))
                self.assertEqual(len(turn.of("error")), int(turn.outcome == "cancelled"))
            self.assertEqual(
                worker.step("emit_result('alive')").only("final_result")["data"], "alive"
            )

    def test_cancelling_and_time_out_together_give_one_error(self):
        for _ in range(10):
            with self.harness.worker() as worker:
                worker.ask("emit_log('started')\nwhile True: pass", timeout=0.02)
                worker.wait_for(b"started")
                for _ in range(50):
                    os.kill(worker.pid, signal.SIGINT)
                turn = worker.wait_exit()
                self.assertIn(turn.outcome, ("timeout", "cancelled"))
                # On a busy machine the limit may pass before the script's first line.
                said = [event["type"] for event in turn.events if event["type"] != "log"]
                self.assertEqual(said, ["error", "end"])
