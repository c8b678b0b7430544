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
            "pool_size = ",
        ):
            self.assertIn(word, done.stdout)
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

    def test_a_script_of_ones_own_and_its_verdicts(self):
        done = bench("--script", "-", "-t", "6", "--json", input="raise ValueError('no')")
        self.assertEqual(json.loads(done.stdout)["verdicts"], {"error": 6})

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
