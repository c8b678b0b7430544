"""`await` outside of functions."""

import re

from tests.fake_init import SharedHarness

SLEEPER = "import asyncio, time\nasync def sleep():\n    await asyncio.sleep(60)\n"


class Await(SharedHarness):
    # So that a time limit is not over before a busy machine has imported it.
    options = {"tools": {"waiting.py": "import asyncio, time\n"}}

    def test_a_script_awaits_and_shows_its_last_value(self):
        turn = self.run_script(
            "import asyncio\nasync def twice(x):\n    await asyncio.sleep(0)\n    return 2 * x\n"
            "print(await twice(4))\nawait twice(21)"
        )
        self.assertEqual((turn.stdout, turn.outcome), ("8\n", "completed"))
        self.assertEqual(turn.only("display")["data"], {"text/plain": "42"})

    def test_every_form_of_waiting_works(self):
        for script in (
            "async def g():\n    yield 1\nasync for x in g():\n    print(x)",
            "async def g():\n    yield 1\nprint([x async for x in g()][0])",
            "import contextlib\n@contextlib.asynccontextmanager\nasync def c():\n    yield 1\n"
            "async with c() as x:\n    print(x)",
            "import asyncio\nt = asyncio.create_task(asyncio.sleep(0, 1))\n"
            "if True:\n    print(await t)",
        ):
            turn = self.run_script(script)
            self.assertEqual((turn.stdout, turn.of("error")), ("1\n", []), script)

    def test_a_script_without_it_may_use_asyncio_run(self):
        turn = self.run_script(
            "import asyncio\nasync def main():\n    return 5\nprint(asyncio.run(main()))\n"
            "print(asyncio.run(main()))"
        )
        self.assertEqual((turn.stdout, turn.outcome), ("5\n5\n", "completed"))

    def test_asyncio_run_within_the_loop_is_refused_with_the_way_out(self):
        error = self.run_script(
            "import asyncio\nasync def main():\n    pass\nc = main()\nawait c\nasyncio.run(main())"
        ).only("error")
        self.assertEqual(error["name"], "RuntimeError")
        self.assertIn("write `await main()` in place of asyncio.run(main())", error["message"])

    def test_an_exception_shows_the_scripts_lines_alone(self):
        error = self.run_script(
            "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    1 / 0\nawait f()"
        ).only("error")
        text = re.sub(r"\n +[\^~]+(?=\n)", "", error["traceback"])
        self.assertEqual(
            text,
            'Traceback (most recent call last):\n  File "%(f)s", line 5, in <module>\n'
            '    await f()\n  File "%(f)s", line 4, in f\n    1 / 0\n'
            "ZeroDivisionError: division by zero\n" % {"f": self.harness.workspace + "/script.py"},
        )

    def test_H15_a_time_out_while_waiting_shows_where(self):
        for ending in ("await sleep()", "await asyncio.gather(sleep(), sleep())"):
            turn = self.run_script(SLEEPER + ending, timeout=0.3)
            self.assertEqual((turn.outcome, len(turn.of("error"))), ("timeout", 1), ending)
            error = turn.only("error")
            self.assertEqual(error["name"], "ScriptTimeout")
            self.assertIn('script.py", line 4, in <module>', error["traceback"])
            self.assertNotIn("executor_harness", error["traceback"])
            self.assertNotIn("CancelledError", error["traceback"])

    def test_H15_a_time_out_of_busy_code_in_the_loop_shows_where(self):
        for start in ("await busy()", "t = asyncio.create_task(busy())\nawait sleep()"):
            script = SLEEPER + "async def busy():\n    while True: pass\n" + start
            turn = self.run_script(script, timeout=0.3)
            self.assertEqual((turn.outcome, len(turn.of("error"))), ("timeout", 1), start)

    def test_H15_finally_runs(self):
        turn = self.run_script(
            SLEEPER + "try:\n    await sleep()\nfinally:\n    print('finally')", timeout=0.3
        )
        self.assertEqual((turn.stdout, turn.outcome), ("finally\n", "timeout"))

    def test_H18_an_exit_ends_the_script(self):
        for call in ("await leave()", "t = asyncio.create_task(leave())\nawait sleep()"):
            script = SLEEPER + "async def leave():\n    raise SystemExit(4)\n" + call
            turn = self.run_script(script)
            end = {"type": "end", "outcome": "failed", "exit_code": 4}
            self.assertEqual(turn.events[-1], end, call)

    def test_H11_emit_result_ends_the_script(self):
        turn = self.run_script(
            "import asyncio\nawait asyncio.sleep(0)\nemit_result(3)\nprint('not reached')"
        )
        self.assertEqual((turn.stdout, turn.only("final_result")["data"]), ("", 3))

    def test_what_still_runs_at_the_end_is_cancelled(self):
        turn = self.run_script(
            "import asyncio\nasync def endless():\n    try:\n        await asyncio.sleep(60)\n"
            "    finally:\n        print('cancelled')\nt = asyncio.create_task(endless())\n"
            "await asyncio.sleep(0)\nprint('end')"
        )
        self.assertEqual((turn.stdout, turn.stderr), ("end\ncancelled\n", ""))
        self.assertEqual(turn.outcome, "completed")

    def test_what_does_not_end_when_it_is_cancelled_ends_with_the_time_limit(self):
        turn = self.run_script(
            "import asyncio\nasync def stubborn():\n    while True:\n        try:\n"
            "            await asyncio.sleep(60)\n        except asyncio.CancelledError:\n"
            "            pass\nt = asyncio.create_task(stubborn())\nawait asyncio.sleep(0)",
            timeout=0.5,
        )
        self.assertEqual(turn.outcome, "timeout")


class Steps(SharedHarness):
    def test_steps_share_a_loop(self):
        with self.harness.worker() as worker:
            worker.step("import asyncio\nq = asyncio.Queue()\nawait q.put(5)")
            worker.step(
                "async def put():\n    await q.put(6)\nt = asyncio.create_task(put())\n"
                "await asyncio.sleep(0)"
            )
            turn = worker.step("(await q.get(), await q.get())")
            self.assertEqual(turn.only("display")["data"], {"text/plain": "(5, 6)"})
            self.assertEqual(worker.step("_").only("display")["data"], {"text/plain": "(5, 6)"})

    def test_C2_a_step_that_times_out_keeps_the_loop_and_the_variables(self):
        with self.harness.worker() as worker:
            worker.step("import asyncio\nx = 7\nlock = asyncio.Lock()\nawait lock.acquire()")
            turn = worker.step("await lock.acquire()", timeout=0.2)
            self.assertEqual(turn.outcome, "timeout")
            self.assertIn('File "<step 2>", line 1', turn.only("error")["traceback"])
            turn = worker.step("lock.release()\nawait lock.acquire()\nprint(x)")
            self.assertEqual((turn.stdout, turn.outcome), ("7\n", "completed"))

    def test_asyncio_run_works_in_a_step_between_two_that_await(self):
        with self.harness.worker() as worker:
            worker.step("import asyncio\nasync def f():\n    return 3\nawait f()")
            self.assertEqual(worker.step("print(asyncio.run(f()))").stdout, "3\n")
            self.assertEqual(worker.step("print(await f())").stdout, "3\n")
