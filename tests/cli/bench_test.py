#!/usr/bin/env python3
"""`hearth bench` measures, reports and ends, whatever is asked of it.

Argument: the hearth program.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HEARTH = os.path.abspath(sys.argv.pop(1))


def bench(*arguments, **options):
    return subprocess.run(
        [HEARTH, "bench", *arguments], capture_output=True, text=True, timeout=120, **options
    )


class Bench(unittest.TestCase):
    def test_a_table_for_people(self):
        done = bench("-n", "2", "-t", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("20 turns in ", done.stdout)
        for word in (
            "p50",
            "p99.9",
            "checkout",
            "whole turn",
            "spawn",
            "warm",
            "ok 20",
        ):
            self.assertIn(word, done.stdout)
        self.assertRegex(done.stdout, "\n(For this load: pool_size = |The machine is the limit: )")
        self.assertEqual(done.stderr, "")  # no progress without a terminal

    def test_a_line_for_programs(self):
        done = bench("-n", "3", "-t", "30", "--json", "--pool-size", "4")
        report = json.loads(done.stdout)
        self.assertEqual(report["turns"], 30)
        self.assertEqual(report["verdicts"], {"ok": 30})
        self.assertEqual(sum(report["checkouts"].values()), 30)
        self.assertEqual(report["turn_us"]["count"], 30)
        self.assertLessEqual(report["turn_us"]["p50"], report["turn_us"]["max"])
        self.assertGreaterEqual(report["recommended"]["pool_size"], 1)

    def test_a_warm_sandbox_costs_a_fraction_of_a_cold_one(self):
        done = bench("-n", "1", "-t", "60", "--json", "--pool-size", "40")
        report = json.loads(done.stdout)
        self.assertGreater(report["checkouts"]["warm"], 30)
        self.assertGreater(report["spawn_us"]["count"], 30)
        # Medians of the same seconds on the same machine, however busy it is.
        self.assertLess(report["checkout_us"]["p50"] * 3, report["spawn_us"]["p50"])

    def test_a_script_of_ones_own_and_its_verdicts(self):
        done = bench("--script", "-", "-t", "6", "--json", input="raise ValueError('no')")
        report = json.loads(done.stdout)
        self.assertEqual((report["verdicts"], report["failed"]), ({"error": 6}, 6))
        self.assertIn("ValueError: no", report["failure"])
        self.assertEqual(done.returncode, 1)

    def test_failed_turns_are_shown_once_with_their_traceback(self):
        done = bench("--script", "-", "-t", "6", input="raise ValueError('no')")
        self.assertEqual(done.returncode, 1)
        self.assertIn("6 of 6 turns failed; the first said:\nTraceback", done.stdout)
        self.assertEqual(done.stdout.count("ValueError: no"), 1)

    def test_imports_worth_preloading_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            module = os.path.join(folder, "slow_to_load.py")
            with open(module, "w") as file:
                file.write("import time\ntime.sleep(0.3)\n")
            os.chmod(folder, 0o755)
            arguments = ("-n", "1", "-t", "2", "--script", "-", "--mount", folder + ":/data")
            script = "import sys, json\nsys.path.append('/data')\nimport slow_to_load\n"
            done = bench(*arguments, input=script)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            # First what helps most.
            self.assertRegex(
                done.stdout,
                r'(?s)\nOf each turn 0\.\d+ s are imports: preload = \[.*"slow_to_load".*\n'
                r"(For this load: pool_size = |The machine is the limit: )",
            )
            report = json.loads(bench(*arguments, "--json", input=script).stdout)
            self.assertGreaterEqual(report["import_seconds"]["slow_to_load"], 0.3)
            self.assertEqual(report["turns"], 2)

    def test_what_a_script_gets_is_given_as_for_run(self):
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "greet.py")
            with open(tool, "w") as file:
                file.write("def greet(): return 'hello'\n")
            script = "import os\nassert greet() == 'hello' and os.environ['WHO'] == 'me'"
            done = bench("-t", "2", "--script", "-", "--tool", tool, "-e", "WHO=me", input=script)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_without_pauses_the_machine_is_named_as_the_limit(self):
        done = bench("--think", "0", "-n", "16", "--pool-size", "16", "-t", "600", "--json")
        self.assertTrue(json.loads(done.stdout)["machine_limit"], done.stdout)
        self.assertNotRegex(done.stdout, r"\d[eE][+-]?\d")
        done = bench("--think", "0", "-n", "16", "--pool-size", "16", "-t", "600")
        self.assertIn("The machine is the limit: it makes ", done.stdout)
        self.assertNotIn("pool_size = ", done.stdout)

    def test_a_pool_that_is_too_small_is_told_its_size(self):
        arguments = ("-n", "6", "--pool-size", "1", "--max-overflow", "0", "-t", "12")
        script = "import time; time.sleep(0.2)"
        done = bench(*arguments, "--script", "-", "--json", input=script)
        report = json.loads(done.stdout)
        self.assertFalse(report["machine_limit"], done.stdout)
        self.assertEqual(report["spawned_before"], 1)

    def test_sandboxes_are_used_as_often_as_allowed(self):
        report = json.loads(
            bench("-n", "1", "-t", "20", "--max-uses", "10", "--pool-size", "1", "--json").stdout
        )
        self.assertLessEqual(report["spawned"], 3)
        self.assertEqual(report["retired"]["used_up"], 2)

    def test_a_blueprint_of_a_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hearth.toml")
            version = "%d.%d" % sys.version_info[:2]
            with open(path, "w") as file:
                file.write(
                    '[[blueprint]]\nname = "other"\npython_version = "%s"\npool_size = 1\n'
                    % version
                )
            done = bench("-c", path, "-b", "other", "-t", "4")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = bench("-c", path, "-b", "nope", "-t", "4")
            self.assertEqual(done.returncode, 2)
            self.assertIn("nope", done.stderr)

    def test_nonsense_is_refused(self):
        self.assertEqual(bench("-n", "0").returncode, 2)
        self.assertEqual(bench("-t", "5", "-d", "5").returncode, 2)
        self.assertEqual(bench("--script", "/nowhere/at/all").returncode, 2)

    def test_an_interrupt_ends_it_with_what_was_seen_so_far(self):
        process = subprocess.Popen(
            [HEARTH, "bench", "-d", "1000", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("turns_per_second", json.loads(out))


unittest.main()
