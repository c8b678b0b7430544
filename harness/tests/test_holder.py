"""The companion that keeps a worker's memory alive past its end."""

import os
import signal
import unittest

from .fake_init import Harness, SharedHarness, reap

# The harness forks twice for a worker; here, the process between is slow to end.
SLOW_BETWEEN = (
    "import os, time\nharness = os.getpid()\n"
    "os.register_at_fork(after_in_parent=lambda: os.getpid() == harness or time.sleep(0.5))\n"
)


class HolderTest(SharedHarness):
    def setUp(self):
        self.worker = self.harness.prepare(keep_holder=True)
        self.addCleanup(self.worker.close)

    def status_of_holder(self):
        with open("/proc/%d/status" % self.worker.holder) as file:
            return dict(line.split(":", 1) for line in file)

    def test_it_outlives_the_worker_and_is_a_child_of_init(self):
        self.worker.ask("pass")
        self.assertEqual(self.worker.wait_end().outcome, "completed")
        self.assertEqual(reap(self.worker.pid), 0)
        self.assertEqual(int(self.status_of_holder()["PPid"]), os.getpid())
        self.assertTrue(os.WIFSIGNALED(self.worker.end_holder()))

    def test_no_signal_but_the_kernels_reaches_it(self):
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            os.kill(self.worker.holder, number)
        self.assertIn(self.status_of_holder()["State"].split()[0], "RS")  # alive
        blocked = int(self.status_of_holder()["SigBlk"], 16)
        for number in (
            signal.SIGALRM,
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGSEGV,
            signal.SIGUSR1,
        ):
            self.assertTrue(blocked >> (number - 1) & 1, number)
        self.worker.end_holder()

    def test_a_script_that_waits_for_all_its_children_does_not_wait_for_it(self):
        self.worker.ask(
            "import os\n"
            "if os.fork() == 0:\n    os._exit(0)\n"
            "os.wait()\n"
            "try:\n    os.wait()\nexcept ChildProcessError:\n    emit_result('no more')\n"
        )
        self.assertEqual(self.worker.wait_end().only("final_result")["data"], "no more")
        self.worker.end_holder()


class SlowForkTest(unittest.TestCase):
    def test_when_a_worker_is_prepared_it_and_its_holder_are_children_of_init(self):
        with Harness(tools={"a.py": SLOW_BETWEEN}) as harness:
            worker = harness.prepare(keep_holder=True)
            self.addCleanup(worker.close)
            self.assertEqual([parent_of(worker.pid), parent_of(worker.holder)], [os.getpid()] * 2)
            worker.end_holder()


def parent_of(pid):
    with open("/proc/%d/stat" % pid) as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


if __name__ == "__main__":
    unittest.main()
