"""Tools: what they are, how scripts see them, and async ones."""

import os
import subprocess
import sys
import unittest

from tests.fake_init import HARNESS, Harness, SharedHarness

PLAIN = '''
import dataclasses, pickle
print("loading prints, which is harmless")
calls = 0
def add(a, b=1):
    """Adds."""
    return a + b
def count():
    global calls
    calls += 1
    return calls
def look_up(user_id):
    return ToolResult(True, {"name": user_id}, "found")
@dataclasses.dataclass
class Point:
    x: "int"
    y: int = 0
def log_from_tool():
    emit_log("from a tool")
if __name__ == "__main__":
    raise RuntimeError("tools are not scripts")
'''

ASYNC = """
import asyncio, functools, threading
def traced(function):
    @functools.wraps(function)
    async def call(*args):
        return "traced " + str(await function(*args))
    return call
async def double(x):
    await asyncio.sleep(0)
    return 2 * x
async def quadruple(x):
    first, = await asyncio.gather(double(x))
    return await double(first)
@traced
async def decorated(x):
    return x
async def thread_id():
    return threading.get_ident()
async def fail():
    await asyncio.sleep(0)
    raise LookupError("not found")
async def forever(mark):
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        print(mark, flush=True)
        raise
async def finish():
    emit_result("from the loop")
async def leave():
    raise SystemExit(5)
async def numbers(n):
    try:
        for i in range(n):
            yield await double(i)
    finally:
        print("closed")
async def endless():
    while True:
        await asyncio.sleep(3600)
        yield 1
async def total(n):
    return sum([x async for x in numbers(n)])
def sync_uses_async(x):
    return double(x) + 1
"""


class Tools(SharedHarness):
    options = {
        "tools": {
            "plain.py": PLAIN,
            "readme.txt": "not python(",
            "latin.py": "# coding: latin-1\nword = 'caf\xe9'\n".encode("latin-1"),
        }
    }

    def test_H5_functions_of_every_py_file_are_callable(self):
        turn = self.run_script("print(add(2), add(2, 5), word, add.__doc__)")
        self.assertEqual(turn.stdout, "3 7 caf\xe9 Adds.\n")

    def test_H27_a_tool_result_has_success_data_and_message(self):
        turn = self.run_script(
            "r = look_up('ann')\n"
            "print(r.success, r.data['name'], r.message, r == ToolResult(True, {'name': "
            "'ann'}, 'found'))\n"
            "print(r, ToolResult(False))\nemit_result(r)"
        )
        self.assertEqual(
            turn.stdout,
            "True ann found True\nToolResult(success=True, data={'name': 'ann'}, message='found')"
            " ToolResult(success=False, data=None, message='')\n",
        )
        data = {"success": True, "data": {"name": "ann"}, "message": "found"}
        self.assertEqual(turn.only("final_result")["data"], data)

    def test_helpers_pickle(self):
        script = (
            "import pickle\n"
            "print(all(pickle.loads(pickle.dumps(f)) is f for f in (emit_log, "
            "emit_intermediate, emit_result)))"
        )
        self.assertEqual(self.run_script(script).stdout, "True\n")

    def test_tool_results_and_tool_classes_pickle(self):
        turn = self.run_script(
            "import pickle; print(pickle.loads(pickle.dumps([Point(1), ToolResult(True)])))"
        )
        self.assertEqual(
            turn.stdout, "[Point(x=1, y=0), ToolResult(success=True, data=None, message='')]\n"
        )

    def test_H9_what_a_script_does_to_a_tool_is_gone_in_the_next_turn(self):
        self.assertEqual(self.run_script("add = None; print(count(), count())").stdout, "1 2\n")
        self.assertEqual(self.run_script("print(add(1), count())").stdout, "2 1\n")

    def test_tools_may_emit(self):
        self.assertEqual(self.run_script("log_from_tool()").only("log")["message"], "from a tool")


class ToolOrder(unittest.TestCase):
    def test_H5_files_load_in_the_order_of_their_names(self):
        tools = {"b.py": "order.append('b')", "a.py": "order = ['a']", "c.py": "order.append('c')"}
        with Harness(tools=tools) as harness:
            self.assertEqual(harness.run("print(order)").stdout, "['a', 'b', 'c']\n")

    def test_H34_a_tool_cannot_take_the_name_of_a_helper(self):
        with Harness(tools={"a.py": "def emit_log(x):\n    raise RuntimeError"}) as harness:
            self.assertEqual(harness.run("emit_log('a')").only("log")["message"], "a")

    def test_exit_handlers_of_tools_do_not_run_in_workers(self):
        tool = (
            "import atexit, tempfile, weakref\natexit.register(print, 'of the tool')\n"
            "class Kept: pass\nkept = Kept()\n"
            "weakref.finalize(kept, print, 'finalizer of the tool')\n"
        )
        script = (
            "import atexit, weakref\natexit.register(print, 'of the script')\n"
            "class Mine: pass\nmine = Mine()\n"
            "weakref.finalize(mine, print, 'finalizer of the script')\n"
        )
        with Harness(tools={"a.py": tool}) as harness:
            self.assertEqual(harness.run(script).stdout, "finalizer of the script\nof the script\n")

    def test_exit_handlers_that_come_with_every_fork_do_not_run_in_workers(self):
        tool = (
            "import atexit, os\n"
            "os.register_at_fork(after_in_child=lambda: atexit.register(lambda: "
            "open('left', 'w')))\n"
        )
        with Harness(tools={"a.py": tool}) as harness:
            self.assertEqual(harness.run("import os\nprint(os.listdir('.'))").stdout, "[]\n")


class AsyncTools(SharedHarness):
    options = {"tools": {"tools.py": ASYNC}}

    def test_H7_async_tools_are_called_like_functions(self):
        turn = self.run_script(
            "print(double(2), double(3), decorated(1), sync_uses_async(4), double.__name__)"
        )
        self.assertEqual(turn.stdout, "4 6 traced 1 9 double\n")

    def test_H7_async_tools_can_await_each_other(self):
        self.assertEqual(self.run_script("print(quadruple(3))").stdout, "12\n")

    def test_H8_the_loop_has_one_thread_that_is_not_the_main_one(self):
        turn = self.run_script(
            "import threading\na, b = thread_id(), thread_id()\n"
            "print(a == b, a != threading.get_ident())"
        )
        self.assertEqual(turn.stdout, "True True\n")

    def test_H7_async_generators_become_generators(self):
        self.assertEqual(
            self.run_script("print(list(numbers(3)), total(4))").stdout,
            "closed\nclosed\n[0, 2, 4] 12\n",
        )

    def test_H7_a_generator_left_early_is_closed(self):
        turn = self.run_script(
            "for n in numbers(9):\n    break\ndel n\nimport gc; gc.collect()\nprint('after')"
        )
        self.assertEqual(turn.stdout, "closed\nafter\n")

    def test_H17_an_error_in_an_async_tool_shows_the_script_and_the_tool_only(self):
        text = self.run_script("x = 1\nfail()").only("error")["traceback"]
        self.assertIn('script.py", line 2, in <module>\n    fail()\n', text)
        self.assertIn("tools.py", text)
        self.assertEqual(text.count("  File "), 2)
        self.assertTrue(text.endswith("LookupError: not found\n"))

    def test_H11_an_async_tool_may_end_the_script(self):
        turn = self.run_script("finish()\nprint('no')")
        self.assertEqual((turn.stdout, turn.only("final_result")["data"]), ("", "from the loop"))

    def test_H18_an_async_tool_that_exits_ends_the_script_not_the_loop(self):
        turn = self.run_script(
            "try:\n    leave()\nexcept SystemExit as e: print(e.code, double(2))\nleave()",
            timeout=5,
        )
        self.assertEqual(
            (turn.stdout, turn.only("error")["message"]), ("5 4\n", "sys.exit(5) called")
        )

    def test_H15_a_time_out_in_an_async_tool_shows_the_scripts_line_alone(self):
        text = self.run_script("x = 1\nforever('x')", timeout=0.1).only("error")["traceback"]
        self.assertIn("line 2, in <module>", text)
        self.assertEqual(text.count("  File "), 1)

    def test_H15_a_time_out_in_an_async_generator(self):
        turn = self.run_script("for x in endless(): pass", timeout=0.1)
        self.assertEqual((turn.outcome, turn.only("error")["name"]), ("timeout", "ScriptTimeout"))

    def test_H33_a_time_out_cancels_the_pending_tool(self):
        with self.harness.worker() as worker:
            turn = worker.step("forever('cancelled')", timeout=0.1)
            self.assertEqual(turn.outcome, "timeout")
            following = worker.step("print(double(1))")
            self.assertIn("2\n", following.stdout)
            self.assertIn("cancelled\n", turn.stdout + following.stdout)

    def test_the_scripts_own_asyncio_works_in_the_main_thread(self):
        turn = self.run_script(
            "import asyncio, threading\nasync def main():\n    await asyncio.sleep(0)\n"
            "    return threading.current_thread() is threading.main_thread()\n"
            "print(asyncio.run(main()))"
        )
        self.assertEqual(turn.stdout, "True\n")

    def test_async_tools_work_in_a_process_the_script_forks(self):
        turn = self.run_script(
            "import os\ndouble(1)\npid = os.fork()\nif pid == 0:\n"
            "    print('child', double(5), flush=True)\n"
            "    os._exit(0)\nos.waitpid(pid, 0)\nprint('parent', double(6))"
        )
        self.assertEqual(turn.stdout, "child 10\nparent 12\n")


class Loading(unittest.TestCase):
    def test_what_loading_has_written_is_removed_and_no_link_is_followed(self):
        code = (
            "import importlib, os, sys, tempfile; sys.path.insert(0, %r)\n"
            "empty = importlib.import_module('executor_harness.zygote').empty\n"
            "with tempfile.TemporaryDirectory() as top:\n"
            "    place, other = os.path.join(top, 'place'), os.path.join(top, 'other')\n"
            "    os.makedirs(place + '/deep/er'); os.makedirs(other + '/kept')\n"
            "    open(place + '/deep/file', 'w').close()\n"
            "    os.symlink(other, place + '/link')\n"
            "    empty(place)\n"
            "    print(os.listdir(place), os.listdir(other))" % os.path.dirname(HARNESS)
        )
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.assertEqual(done.stdout.decode(), "[] ['kept']\n")
