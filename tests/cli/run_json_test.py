#!/usr/bin/env python3
"""`hearth run` as programs talk to it: --json, --json=result, and a session of requests. Argument:
the hearth program."""
import json
import os
import signal
import socket
import subprocess
import sys
import unittest

from run_case import HEARTH, PATIENCE_SECONDS, SOURCE, RunCase

ALWAYS = set(
    "execution_id session_id verdict started exit_code stdout stderr text value error truncated "
    "usage sandbox".split()
)


class OneShot(RunCase):
    def answers(self, *arguments, script=""):
        done = self.run_hearth(*arguments, script=script)
        return done, [json.loads(line) for line in done.stdout.splitlines()]

    def test_events_come_between_a_start_and_the_end_with_the_verdict(self):
        done, events = self.answers("--json", script="print('hi')\n1 + 1")
        self.assertEqual([event["type"] for event in events], ["start", "stdout", "display", "end"])
        self.assertEqual([event["seq"] for event in events], [0, 1, 2, 3])
        self.assertEqual(sorted(events, key=lambda event: event["at"]), events)
        self.assertTrue(events[2]["value"])
        result = events[-1]["result"]
        self.assertEqual((result["verdict"], result["text"], done.stderr), ("ok", "hi\n2", ""))
        self.assertEqual(set(result), ALWAYS - {"stdout", "stderr"} | {"file"})
        ids = {event["execution_id"] for event in events[:-1]} | {result["execution_id"]}
        self.assertEqual(len(ids), 1)

    def test_one_object_has_everything(self):
        script = (
            "import sys\nprint('out')\nprint('err', file=sys.stderr)\nemit_log('log')\n"
            "emit_intermediate('part', [1])\nprint('again')\n{'n': 10**30}"
        )
        done, (result,) = self.answers("--json=result", script=script)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(set(result), ALWAYS | {"intermediates", "logs", "file"})
        self.assertEqual((result["stdout"], result["stderr"]), ("out\nagain\n", "err\n"))
        self.assertEqual(result["text"], "out\nerr\nagain\n{'n': 1%s}" % ("0" * 30))
        self.assertEqual(result["intermediates"], [{"label": "part", "data": [1]}])
        self.assertEqual(result["logs"], [{"level": "info", "message": "log"}])
        self.assertEqual(result["value"], {"text/plain": "{'n': 1%s}" % ("0" * 30)})

    def test_a_failure_of_the_script_is_data_and_keeps_its_exit_code(self):
        done, (result,) = self.answers("--json=result", script="1/0")
        self.assertEqual((done.returncode, result["verdict"]), (1, "error"))
        self.assertEqual(result["error"]["name"], "ZeroDivisionError")
        self.assertTrue(result["text"].endswith("ZeroDivisionError: division by zero"))
        done, (result,) = self.answers("--json=result", "-t", "0.3", script="while True: pass")
        self.assertEqual((done.returncode, result["verdict"]), (124, "timeout"))
        self.assertTrue(result["text"].endswith("\n[timeout after 0.3 s]"), result["text"])

    def test_a_result_names_what_the_script_left(self):
        script = (
            "import os\nos.makedirs('out')\nopen('out/a.png', 'wb').write(b'1234')\n"
            "open(b'\\xff.txt', 'w')\nos.symlink('/etc/passwd', 'link')\n1 / 0"
        )
        _, (result,) = self.answers("--json=result", script=script)
        self.assertEqual(
            result["files"],
            {
                "out/a.png": {"size_bytes": 4, "media_type": "image/png"},
                "\ufffd.txt": {
                    "size_bytes": 0,
                    "media_type": "text/plain",
                    "path_base64": "/y50eHQ=",
                },
            },
        )
        self.assertTrue(result["text"].endswith("\n[files: out/a.png 4 bytes, \ufffd.txt 0 bytes]"))

    def test_several_files_have_an_answer_each(self):
        files = [self.file("one.py", "1"), self.file("two.py", "2")]
        _, results = self.answers("--json=result", *files)
        self.assertEqual([result["file"] for result in results], files)
        self.assertEqual([result["text"] for result in results], ["1", "2"])

    def test_a_start_that_fails_is_an_object_too_with_the_same_exit_code(self):
        broken = self.file("broken.toml", "[pool]\nbackend = 5\n")
        tool = self.file("tool.py", "raise ValueError('at import')\n")
        for arguments, code, exit_code, words in (
            (["-c", broken], "invalid_request", 2, "pool.backend"),
            (["nothing.py"], "invalid_request", 2, "nothing.py"),
            (["-b", "nope"], "invalid_request", 2, "nope"),
            (["-t", "never"], "invalid_request", 2, "got never"),
            (["--tool", tool], "unprocessable", 2, "ValueError: at import"),
        ):
            for answers in (["--json"], ["--json=result"], ["--json", "-i"]):
                done, (problem,) = self.answers(*answers, *arguments, script="")
                self.assertEqual(
                    (problem["type"], problem["code"], done.returncode), ("error", code, exit_code)
                )
                self.assertIn(words, json.dumps(problem))
                self.assertNotEqual(done.stderr, "")

    def test_a_machine_that_cannot_sandbox_is_told_so_on_standard_output(self):
        nowhere = {**os.environ, "DOCKER_HOST": "unix://" + self.folder.name + "/none"}
        done = subprocess.run(
            [HEARTH, "run", "--backend", "docker", "--json=result", "-"],
            input="1",
            env=nowhere,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(json.loads(done.stdout)["code"], "backend_unavailable")

    def test_an_unknown_form_of_answers_is_refused(self):
        done = self.run_hearth("--json=xml", script="1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))


class Session:
    """`hearth run -i --json`, a line at a time."""

    def __init__(self, *arguments, answers="--json"):
        self.process = subprocess.Popen(
            [HEARTH, "run", "-i", answers, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def send(self, *lines):
        for line in lines:
            text = line if isinstance(line, str) else json.dumps(line)
            self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def event(self):
        return json.loads(self.process.stdout.readline())

    def result(self):
        """Of the execution whose events are next."""
        event = self.event()
        while event["type"] != "end":
            event = self.event()
        return event["result"]

    def run(self, code, **fields):
        return self.ask(code=code, **fields)

    def ask(self, **fields):
        self.send(fields)
        return self.result()

    def end(self):
        rest, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, rest, errors


class Sessions(RunCase):
    def test_a_cell_with_blank_lines_is_one_step_and_its_names_stay(self):
        with Session() as session:
            session.run("def f():\n    a = 1\n\n    return a\n\n\nprint(f())\n")
            self.assertEqual(session.run("f() + 1")["text"], "2")
            self.assertEqual(session.end(), (0, "", ""))

    def test_a_step_has_the_variables_and_the_time_that_its_request_names(self):
        with Session("-e", "A=ours", "-e", "B=ours") as session:
            code = "import os; print(os.environ['A'], os.environ['B'])"
            self.assertEqual(session.run(code, env={"A": "theirs"})["text"], "theirs ours")
            kept = session.run("x = 1\nwhile True: pass", timeout_seconds=0.3)
            self.assertEqual(kept["verdict"], "timeout")
            self.assertTrue(kept["text"].endswith("[timeout after 0.3 s; variables are kept]"))
            self.assertEqual(session.run("x")["text"], "1")

    def test_commands_and_other_languages_share_the_files_of_a_session(self):
        with Session() as session:
            session.run("x = 1\nopen('f', 'w').write('from python')")
            result = session.run("cat f; echo; echo $1", language="bash", args=["an argument"])
            self.assertEqual(result["text"], "from python\nan argument")
            self.assertNotIn("python", result["sandbox"])
            self.assertEqual(session.ask(command=["cat", "f"])["text"], "from python")
            result = session.ask(shell="pwd; exit 4", cwd="/tmp")
            self.assertEqual((result["verdict"], result["exit_code"]), ("error", 4))
            self.assertEqual(result["text"], "/tmp\n[exit code 4]")
            result = session.ask(command=["no-such-program"])
            self.assertEqual((result["started"], result["exit_code"]), (False, 127))
            self.assertEqual(session.run("x")["text"], "1")

    def test_files_come_with_a_request_and_go_with_its_result(self):
        with Session() as session:
            result = session.run(
                "import os\nos.makedirs('out/deep')\nimport shutil\n"
                "shutil.copy('in/a.bin', 'out/b.bin')\nopen('out/deep/c.bin', 'w')\n"
                "print(oct(os.stat('in/a.bin').st_mode & 0o777), open('t').read())",
                files={
                    "in/a.bin": {"base64": "AP+A", "mode": "0700"},
                    "t": {"text": "text"},
                },
                return_files=["out/*.bin", "t", "b.bin"],
            )
            self.assertEqual(result["text"], "0o700 text\n[files: out/b.bin 3 bytes, t 4 bytes]")
            self.assertEqual(
                result["files"],
                {
                    "out/b.bin": {
                        "size_bytes": 3,
                        "media_type": "application/octet-stream",
                        "base64": "AP+A",
                    },
                    "t": {
                        "size_bytes": 4,
                        "media_type": "application/octet-stream",
                        "base64": "dGV4dA==",
                    },
                },
            )
            self.assertNotIn("files", session.run("1"))
            big = session.run(
                "open('big', 'wb').write(b'x' * 5_000_000)\nopen('small', 'w').write('y')\n"
                "for n in range(150): open('n%03d' % n, 'w')",
                return_files=["big", "small", "n*"],
            )
            self.assertEqual(len(big["files"]), 100)
            self.assertEqual(big["files_omitted"], 52)
            self.assertNotIn("base64", big["files"]["big"])
            self.assertEqual(big["files"]["small"]["base64"], "eQ==")

    def test_a_file_that_cannot_be_written_refuses_the_request(self):
        with Session() as session:
            session.run("open('f', 'w')")
            session.send({"code": "1", "files": {"f/under": {"text": "a"}}})
            problem = session.event()
            self.assertEqual((problem["type"], problem["code"]), ("error", "invalid_request"))
            self.assertEqual(problem["errors"][0]["field"], 'files."f/under"')
            self.assertEqual(session.run("1")["text"], "1")

    def test_a_line_that_is_no_request_is_answered_and_the_session_goes_on(self):
        with Session() as session:
            session.run("x = 1")
            for line, code in (
                ("{", "invalid_request"),
                ("x + 1", "invalid_request"),
                ('{"coed": "1"}', "invalid_request"),
                ('{"code": "1", "timeout_seconds": 31}', "invalid_request"),
                ('{"code": "1", "cancel": true}', "invalid_request"),
                ('{"cancel": false}', "invalid_request"),
                ('{"code": "1", "tools": []}', "not_implemented"),
                ('{"code": "%s"}' % ("x" * (8 << 20)), "too_large"),
            ):
                session.send(line)
                problem = session.event()
                self.assertEqual((problem["type"], problem["code"]), ("error", code), line[:80])
            self.assertEqual(session.run("x")["text"], "1")

    def test_requests_wait_and_are_answered_in_their_order(self):
        with Session(answers="--json=result") as session:
            session.send({"code": "n = 1"}, "{", "", {"code": "n += 1"}, {"code": "n"})
            code, rest, errors = session.end()
            self.assertEqual((code, errors), (0, ""))
            answers = [json.loads(line) for line in rest.splitlines()]
            self.assertEqual(
                [answer.get("text", answer.get("code")) for answer in answers],
                ["[ok, no output]", "invalid_request", "[ok, no output]", "2"],
            )

    def test_a_last_line_without_its_end_is_a_request(self):
        done = self.run_hearth("-i", "--json=result", script='{"code": "6 * 7"}')
        self.assertEqual(json.loads(done.stdout)["text"], "42")

    def test_requests_may_come_from_a_file(self):
        path = self.file("requests", '{"code": "n = 42"}\n{"code": "n"}\n')
        with open(path) as requests:
            done = subprocess.run(
                [HEARTH, "run", "-i", "--json=result"],
                stdin=requests,
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
            )
        self.assertEqual(json.loads(done.stdout.splitlines()[1])["text"], "42", done.stderr)

    def test_a_cancellation_ends_the_step_that_runs_and_keeps_the_session(self):
        with Session() as session:
            session.run("x = 1")
            session.send({"code": "print('on')\nwhile True: pass"})
            while session.event()["type"] != "stdout":
                pass
            session.send({"code": "x + 1"}, {"cancel": True})
            cancelled = session.result()
            self.assertEqual((cancelled["verdict"], cancelled["started"]), ("cancelled", True))
            self.assertNotIn("state_lost", cancelled)
            self.assertEqual(session.result()["text"], "2")

    def test_a_cancellation_reaches_a_request_that_has_not_begun(self):
        with Session() as session:
            session.send({"code": "while True: pass"}, {"cancel": True})
            cancelled = session.result()
            self.assertEqual(cancelled["verdict"], "cancelled")
            self.assertEqual(session.run("1 + 1")["text"], "2")

    def test_a_cancellation_when_nothing_runs_has_no_effect(self):
        with Session() as session:
            session.run("x = 1")
            session.send({"cancel": True})
            self.assertEqual(session.run("x")["text"], "1")

    def test_a_signal_is_a_cancellation_of_the_step(self):
        with Session() as session:
            session.send({"code": "print('on')\nwhile True: pass"})
            while session.event()["type"] != "stdout":
                pass
            session.process.send_signal(signal.SIGINT)
            self.assertEqual(session.result()["verdict"], "cancelled")
            self.assertEqual(session.run("1 + 1")["text"], "2")

    def test_lost_variables_are_told(self):
        with Session("--memory", "64M") as session:
            session.run("x = 1")
            killed = session.run("y = bytearray(1 << 30)")
            self.assertEqual((killed["verdict"], killed["state_lost"]), ("memory_limit", True))
            self.assertIn("[the variables of earlier steps are lost]", killed["text"])
            after = session.run("x")
            self.assertEqual(after["error"]["name"], "NameError")
            self.assertNotIn("state_lost", after)

    def test_files_run_as_the_first_steps(self):
        with Session(self.file("first.py", "x = 20")) as session:
            first = session.result()
            self.assertTrue(first["file"].endswith("first.py"))
            self.assertEqual(session.run("x + 1")["text"], "21")

    def test_standard_input_stays_blocking_for_those_who_share_it(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(b'{"code": "1"}\n')
            ours.shutdown(socket.SHUT_WR)
            done = subprocess.run(
                [HEARTH, "run", "-i", "--json=result"],
                stdin=theirs,
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
            )
            self.assertEqual(json.loads(done.stdout)["text"], "1", done.stderr)
            self.assertTrue(os.get_blocking(theirs.fileno()))


class ThePage(RunCase):
    """docs/from-python.md: its programs run, and print what the page says."""

    def setUp(self):
        super().setUp()
        with open(os.path.join(SOURCE, "docs", "from-python.md")) as page:
            self.page = page.read()

    def programs(self):
        for part in self.page.split("```python\n")[1:]:
            program, rest = part.split("```\n", 1)
            expected = rest.split("```\n", 2)[1]
            yield program, expected

    def test_its_programs_do_what_it_says(self):
        path = os.path.dirname(HEARTH) + os.pathsep + os.environ["PATH"]
        count = 0
        for program, expected in self.programs():
            done = subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
            )
            self.assertEqual(done.stdout, expected, done.stderr)
            count += 1
        self.assertEqual(count, 2)

    def test_its_example_of_an_error_is_what_is_answered(self):
        example = self.page.split("```json\n")[1].split("```")[0]
        done = self.run_hearth("-i", "--json", script='{"code": "1", "timeout": 5}\n')
        self.assertEqual(done.stdout, example)


if __name__ == "__main__":
    unittest.main()
