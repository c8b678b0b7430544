#!/usr/bin/env python3
"""`hearth exec`: a command in a fresh sandbox, with the standard streams of hearth.

Argument: the hearth program.
"""
import json
import os
import signal
import subprocess
import unittest

from run_case import HEARTH, PATIENCE_SECONDS, RunCase


class Exec(RunCase):
    def run_command(self, *arguments, given=b"", **options):
        return subprocess.run(
            [HEARTH, "exec", *arguments],
            input=given,
            cwd=self.folder.name,
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            timeout=PATIENCE_SECONDS,
            **options,
        )

    def start(self, *arguments, **options):
        process = subprocess.Popen(
            [HEARTH, "exec", *arguments],
            cwd=self.folder.name,
            stdin=options.pop("stdin", subprocess.PIPE),
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            **options,
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:  # what was not read of its input
                    pass


class Streams(Exec):
    def test_what_a_command_prints_comes_as_it_is_on_two_streams(self):
        line = r"printf 'a\377\000b'; printf 'c\376' >&2"
        done = self.run_command("-q", "--shell", line)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"a\xff\0b", b"c\xfe"))

    def test_standard_input_arrives_as_it_is_and_ends(self):
        given = os.urandom(3_000_000)
        done = self.run_command("-q", "--", "cat", given=given)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertTrue(done.stdout == given)
        done = self.run_command("-q", "--", "wc", "-c")
        self.assertEqual(done.stdout, b"0\n")
        with open(self.file("data", "from a file\n")) as data:
            process = self.start("-q", "--", "cat", stdin=data)
            self.assertEqual(process.communicate(timeout=PATIENCE_SECONDS)[0], b"from a file\n")

    def test_input_and_output_stream_while_the_command_runs(self):
        process = self.start("-q", "--", "cat", bufsize=0)
        for piece in (b"one\n", b"two\n"):
            process.stdin.write(piece)
            self.assertEqual(process.stdout.read(len(piece)), piece)
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE_SECONDS), 0)

    def test_a_command_that_reads_no_more_ends_although_there_is_more_to_read(self):
        process = self.start("-q", "--", "head", "-1", stdin=self.endless())
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((process.returncode, output, errors), (0, b"y\n", b""))

    def endless(self):
        source = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
        self.addCleanup(source.wait)
        self.addCleanup(source.stdout.close)
        self.addCleanup(source.kill)
        return source.stdout

    def test_a_reader_that_is_gone_ends_the_command_without_a_word(self):
        process = self.start("--", "yes", stdin=subprocess.DEVNULL)
        self.assertEqual(process.stdout.read(2), b"y\n")
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE_SECONDS), 128 + signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), b"")

    def test_neither_a_slow_reader_nor_a_slow_command_makes_memory_grow(self):
        def peak_kb(pid):
            with open(f"/proc/{pid}/status") as status:
                (line,) = [line for line in status if line.startswith("VmHWM")]
            return int(line.split()[1])

        size = 200 << 20
        process = self.start("-q", "--", "cat", bufsize=0)
        process.stdin.write(b"x")
        process.stdout.read(1)
        before = peak_kb(process.pid)
        if os.fork() == 0:
            piece = bytes(1 << 20)
            for _ in range(size >> 20):
                os.writev(process.stdin.fileno(), [piece])
            os._exit(0)
        process.stdin.close()
        taken = 0
        while piece := process.stdout.read(1 << 20):
            taken += len(piece)
            most = peak_kb(process.pid) if taken > size // 2 else before
        self.assertEqual(process.wait(PATIENCE_SECONDS), 0)
        os.wait()
        self.assertEqual(taken, size)
        self.assertLess(most - before, 16 << 10)

    def test_a_disk_that_is_full_is_no_success(self):
        with open("/dev/full", "wb") as full:
            done = self.run_command("-q", "--", "echo", "lost", stdout=full)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output cannot be written to: No space left", done.stderr)


class Endings(Exec):
    def test_the_exit_code_is_the_commands_own(self):
        for line, code in (("exit 3", 3), ("true", 0), ("exit 255", 255), ("kill -9 $$", 137)):
            done = self.run_command("-q", "--", "sh", "-c", line)
            self.assertEqual((done.returncode, done.stdout), (code, b""), done.stderr)

    def test_the_summary_says_the_verdict_unless_it_is_not_wanted(self):
        done = self.run_command("--", "sh", "-c", "exit 3")
        self.assertRegex(done.stderr, rb"^error with exit code 3 in .* of CPU, .* MB")
        done = self.run_command("--", "true")
        self.assertRegex(done.stderr, rb"^ok in ")
        self.assertEqual(self.run_command("-q", "--", "true").stderr, b"")

    def test_a_program_that_is_not_there_was_not_started(self):
        done = self.run_command("-q", "--", "no-such-program")
        self.assertEqual((done.returncode, done.stdout), (127, b""))
        self.assertIn(b"no-such-program", done.stderr)
        done = self.run_command("--json=result", "--", "no-such-program")
        result = json.loads(done.stdout)
        self.assertEqual(
            (done.returncode, result["exit_code"], result["started"]), (127, 127, False)
        )
        self.assertEqual(self.run_command("-q", "--", "/etc/passwd").returncode, 126)
        done = self.run_command("-q", "--cwd", "/nowhere", "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"directory cannot be entered", done.stderr)

    def test_a_limit_ends_it_and_is_named(self):
        done = self.run_command("-t", "0.5", "--", "sleep", "600")
        self.assertEqual(done.returncode, 124)
        self.assertIn(b"timeout", done.stderr)
        self.assertIn(b"0.5", done.stderr)
        greedy = "x = bytearray(1 << 30)"
        done = self.run_command("-m", "64M", "--", "python3", "-c", greedy)
        self.assertIn(done.returncode, (137, 1), done.stderr)  # 1: without cgroups, a MemoryError

    def test_bytes_have_no_limit_and_events_have_that_of_the_blueprint(self):
        line = "head -c 5000000 /dev/zero"
        done = self.run_command("-q", "--shell", line)
        self.assertEqual((done.returncode, len(done.stdout)), (0, 5_000_000))
        done = self.run_command("--json=result", "--shell", line)
        self.assertEqual((done.returncode, json.loads(done.stdout)["verdict"]), (1, "output_limit"))

    def test_a_time_limit_does_not_wait_for_a_reader_that_does_not_read(self):
        process = self.start("-q", "-t", "0.5", "--", "yes", stdin=subprocess.DEVNULL)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 124)

    def test_ctrl_c_is_a_sigint_for_the_command(self):
        line = 'trap "echo caught; exit 5" INT; echo ready; while :; do sleep 0.01; done'
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start("-q", "--", "sh", "-c", line)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(number)
            self.assertEqual(process.stdout.read(), b"caught\n")
            self.assertEqual(process.wait(PATIENCE_SECONDS), 130)

    def test_ctrl_c_ends_a_command_that_ignores_it_and_its_children(self):
        line = 'trap "" INT TERM; sleep 600 & echo ready; while :; do sleep 0.01; done'
        process = self.start("-q", "--", "sh", "-c", line)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 130)

    def test_ctrl_c_ends_it_although_its_output_is_not_read(self):
        process = self.start("-q", "--", "yes", stdin=subprocess.DEVNULL)
        self.assertEqual(process.stdout.read(2), b"y\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 130)


class CommandLine(Exec):
    def test_the_words_behind_the_dashes_are_the_commands(self):
        words = ["-q", "--json", "--", "-x", "", "a b", "*", "--help"]
        done = self.run_command("-q", "--", "printf", "<%s>", *words)
        self.assertEqual(done.stdout.decode(), "".join(f"<{word}>" for word in words))

    def test_a_shell_line_has_arguments(self):
        done = self.run_command("-q", "-s", 'echo "$2-$1" | tr a-z A-Z', "--", "one", "two words")
        self.assertEqual(done.stdout, b"TWO WORDS-ONE\n")

    def test_wrong_usage_is_told_and_nothing_runs(self):
        for arguments, why in (
            ([], "COMMAND after --, or --shell LINE"),
            (["--", ""], "names no program"),
            (["--tty", "--", "true"], "needs a terminal"),
            (["--tty", "--json", "--", "true"], "excludes --json"),
            (["--blueprint", "none", "--", "true"], "none"),
            (["--put", "none", "--", "true"], "--put none: No such file"),
        ):
            done = self.run_command(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(why, done.stderr.decode())
            if "--json" not in arguments:
                self.assertEqual(done.stdout, b"")

    def test_a_command_that_does_not_stand_behind_the_dashes_is_told_so(self):
        for arguments in (["ls", "-la"], ["-q", "sh", "-c", "true"], ["true"]):
            done = self.run_command(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertIn("as in: hearth exec -- ls -la", done.stderr.decode())

    def test_variables_directories_and_files_are_those_of_run(self):
        self.file("data", "1\n")
        line = 'cat data > "$OUT"; pwd'
        done = self.run_command(
            "--put", "data:in/data", "--get", "in/copy", "--save", "kept", "-e", "OUT=copy",
            "--cwd", "in", "-s", line,
        )  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (0, b"/workspace/in\n"), done.stderr)
        with open(os.path.join(self.folder.name, "copy")) as copy:
            self.assertEqual(copy.read(), "1\n")
        self.assertEqual(sorted(os.listdir(self.folder.name + "/kept/in")), ["copy", "data"])
        self.assertIn(b"copied to copy: 2 bytes", done.stderr)
        done = self.run_command("--", "touch", "left")
        self.assertIn(b"not kept: left 0 bytes", done.stderr)
        self.assertEqual(self.run_command("-q", "--get", "none", "--", "true").returncode, 1)


class Json(Exec):
    def test_events_and_the_result_are_those_of_run(self):
        done = self.run_command("--json", "--shell", "cat; echo err >&2; exit 4", given=b"in\n")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual((lines[0]["type"], lines[-1]["type"]), ("start", "end"))
        printed = {line["type"]: line["text"] for line in lines if "text" in line}
        self.assertEqual(printed, {"stdout": "in\n", "stderr": "err\n"})
        result = lines[-1]["result"]
        self.assertEqual((result["verdict"], result["exit_code"]), ("error", 4))
        done = self.run_command("--json=result", "--", "cat", given=b"in\n")
        result = json.loads(done.stdout)
        self.assertEqual((result["verdict"], result["stdout"]), ("ok", "in\n"))

    def test_what_goes_wrong_is_json_too(self):
        for arguments in ([], ["--blueprint", "none", "--", "true"], ["-t", "0", "--", "true"]):
            done = self.run_command("--json", *arguments)
            self.assertEqual(done.returncode, 2)
            (line,) = done.stdout.splitlines()
            self.assertEqual(json.loads(line)["code"], "invalid_request", arguments)


if __name__ == "__main__":
    unittest.main(verbosity=2)
