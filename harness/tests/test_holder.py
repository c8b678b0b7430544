"""The companion that keeps a worker's memory alive past its end."""

import os
import signal
import unittest

from .fake_init import SharedHarness, reap


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
        for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGSEGV, signal.SIGUSR1):
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


if __name__ == "__main__":
    unittest.main()
