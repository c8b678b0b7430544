#!/usr/bin/env python3
"""`hearth run` as its users meet it: exit codes, what goes where, Ctrl-C. Argument: the hearth
program."""
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
import unittest
import unittest.mock

from programs import copy_programs
from run_case import HEARTH, PATIENCE_SECONDS, SOURCE, RunCase


class Run(RunCase):
    def test_output_goes_where_it_belongs(self):
        done = self.run_hearth(
            script="import sys\nprint('out')\nprint('err', file=sys.stderr)\nemit_result({'a': 1})"
        )
        self.assertEqual((done.returncode, done.stdout), (0, 'out\n{"a": 1}\n'), done.stderr)
        self.assertTrue(done.stderr.startswith("err\nok - in "), done.stderr)

    def test_H18_sys_exit_ends_a_script_and_a_prompt(self):
        done = self.run_hearth("-q", script="import sys\nprint(1)\nsys.exit(0)\nprint(2)")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "1\n", ""))
        done = self.run_hearth("-q", script="import sys\nsys.exit('no data')")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "no data\n"))
        for call, code in (("exit()", 0), ("import sys; sys.exit(0)", 0), ("quit(3)", 1)):
            done = self.run_hearth("-i", script="print(1)\n%s\nprint(2)\n" % call)
            self.assertEqual((done.returncode, done.stdout), (code, "1\n"), done.stderr)

    def test_H18_the_summary_names_an_exit_code_that_is_told_nowhere_else(self):
        for script, options, words in (
            ("exit(7)", [], "error - with exit code 7 in "),
            ("exit 5", ["-l", "bash"], "error - with exit code 5 in "),
            ("1 / 0", [], "error - in "),
            ("exit(0)", [], "ok - in "),
        ):
            done = self.run_hearth(*options, script=script)
            self.assertTrue(done.stderr.splitlines()[-1].startswith(words), done.stderr)

    def test_H18_the_exit_code_of_a_verdict_is_the_scripts_own(self):
        for script, options, code in (
            ("1 / 0", [], 1),
            ("exit(7)", [], 7),
            ("pass", [], 0),
            ("import os; os._exit(9)", [], 9),
            ("while True: pass", ["--timeout", "0.2"], None),
        ):
            done = self.run_hearth("--json=result", *options, script=script)
            self.assertEqual(json.loads(done.stdout)["exit_code"], code, script)

    def test_a_script_in_another_encoding_is_refused_with_the_line(self):
        path = os.path.join(self.folder.name, "latin.py")
        with open(path, "wb") as file:
            file.write(b"# coding: latin-1\nprint(1)\nprint('caf\xe9')\n")
        done = self.run_hearth(path)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("latin.py, line 3: not UTF-8; save the script as UTF-8", done.stderr)

    def test_the_name_of_a_file_says_its_language(self):
        bash = self.file("a.sh", "echo ${BASH_VERSION%%.*}\ncat f 2>&1\nexit 3\n")
        done = self.run_hearth(bash)
        self.assertEqual((done.returncode, done.stdout[:2]), (1, "5\n"), done.stderr)
        self.assertRegex(done.stderr, "^error .*a.sh with exit code 3 in ")
        self.assertNotIn("Python", done.stderr)
        script = self.file("b.js", "console.log(typeof process, require('path').basename('a/b'))")
        done = self.run_hearth("-q", script)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "object b\n", ""))
        done = self.run_hearth("-q", "--language", "bash", script="echo $((6 * 7))")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "42\n", ""))
        done = self.run_hearth("-q", "-l", "python", self.file("c.sh", "print('python')"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "python\n", ""))

    def test_a_traceback_names_the_file(self):
        done = self.run_hearth(self.file("err.py", "1 / 0"))
        self.assertIn('File "/workspace/err.py", line 1', done.stderr)

    def test_C8_a_blueprint_may_truncate_the_output(self):
        config = self.file(
            "hearth.toml",
            '[[blueprint]]\nname = "default"\noutput = "truncate"\n'
            "[blueprint.resource_limits]\nmax_output_bytes = 5000\n",
        )
        script = "for i in range(100000): print('line', i)"
        done = self.run_hearth("-c", config, script=script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("line 0\nline 1\n"))
        self.assertTrue(done.stdout.endswith("line 99998\nline 99999\n"))
        self.assertRegex(done.stdout, r"\n\[\.\.\. \d+ bytes left out \.\.\.\]\n")
        done = self.run_hearth("-c", config, "--json=result", script=script)
        self.assertGreater(json.loads(done.stdout)["truncated"]["stdout_bytes"], 1000000)

    def test_exit_codes_tell_the_verdict(self):
        for script, options, code in (
            ("1/0", [], 1),
            ("import sys; sys.exit(3)", [], 1),
            ("while True: pass", ["--timeout", "0.3"], 124),
            ("x = bytearray(1 << 30)", ["--memory", "64M"], 137),
            ("import os; os.kill(os.getpid(), 9)", [], 137),
            ("import os; os.kill(os.getpid(), 11)", [], 139),
            ("print('x' * 10_000_000)", [], 1),
        ):
            done = self.run_hearth("-q", *options, script=script)
            self.assertEqual(done.returncode, code, (script, done.stderr))

    def test_output_that_cannot_be_written_is_no_success(self):
        for options, script, code in (
            ([], "print(1)", 1),
            (["--json"], "pass", 1),
            ([], "import os; os._exit(3)", 1),
        ):
            with open("/dev/full", "w") as full:
                done = subprocess.run(
                    [HEARTH, "run", *options],
                    input=script,
                    stdout=full,
                    stderr=subprocess.PIPE,
                    universal_newlines=True,
                    timeout=PATIENCE_SECONDS,
                )
            self.assertEqual(done.returncode, code, (script, done.stderr))
            told = "standard output cannot be written to" in done.stderr
            self.assertEqual(told, "_exit" not in script, done.stderr)  # nothing was printed there
        with open("/dev/full", "w") as full:
            code = subprocess.call([HEARTH, "--help"], stdout=full, stderr=subprocess.DEVNULL)
        self.assertEqual(code, 1)

    def test_few_descriptors_are_enough_for_a_sandbox(self):
        done = subprocess.run(
            [HEARTH, "run"],
            input="import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=PATIENCE_SECONDS,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, 512)),
        )
        self.assertEqual((done.returncode, done.stdout), (0, "(512, 512)\n"), done.stderr)

    def test_bad_usage_and_configuration_are_2(self):
        for arguments in (
            ["nothing.py"],
            ["--memory", "much", "a"],
            ["--mount", "x", "a"],
            ["--bogus"],
            ["-b", "nope"],
        ):
            done = self.run_hearth(*arguments, script="1")
            self.assertEqual(done.returncode, 2, (arguments, done.stderr))
            self.assertNotEqual(done.stderr, "")

    def test_options_that_make_no_sense_are_refused_in_plain_words(self):
        for arguments, words in (
            (["-t", "0"], "--timeout: expects seconds, more than 0 and at most a year, got 0"),
            (["-t", "nan"], "got nan"),
            (["-t", "1e9"], "got 1e9"),
            (["-t", "2s"], "got 2s"),
            (["--mount", "nowhere:/x"], "there is no "),
        ):
            done = self.run_hearth(*arguments, script="print('ran')")
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(words, done.stderr)

    def test_a_variable_that_is_not_set_is_told(self):
        done = self.run_hearth("-q", "-e", "HEARTH_TEST_NOPE", script="print(1)")
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"))
        self.assertEqual(
            done.stderr, "hearth: --env HEARTH_TEST_NOPE: not set here, so scripts do not get it\n"
        )

    def test_sizes_have_units_and_a_range(self):
        done = self.run_hearth("-q", "-m", "64", script="x = bytearray(100 << 20)")
        self.assertEqual(done.returncode, 137, done.stderr)  # megabytes
        self.assertEqual(self.run_hearth("-q", "-m", "16T", script="1").stdout, "1\n")
        for size in ("1K", "17T", "0", "16777217", "-1", "9223372036854775807G"):
            done = self.run_hearth("--memory=" + size, script="1")
            self.assertEqual(done.returncode, 2)
            self.assertIn("a size like 512M or 2G, from 1M to 16T, got " + size, done.stderr)

    def test_all_files_are_there_before_the_first_runs(self):
        done = self.run_hearth(self.file("one.py", "print('ran')"), "nothing.py")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("nothing.py", done.stderr)

    def test_standard_input_is_read_from_where_it_stands_whatever_it_is(self):
        shell = subprocess.run(
            ["sh", "-c", 'read first; exec "$0" run -', HEARTH],
            input="not python(\nprint('rest')\n",
            capture_output=True,
            text=True,
        )
        self.assertEqual((shell.returncode, shell.stdout), (0, "rest\n"), shell.stderr)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(b"print('from a socket')")
            ours.shutdown(socket.SHUT_WR)
            done = subprocess.run(
                [HEARTH, "run"],
                stdin=theirs,
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
            )
        self.assertEqual((done.returncode, done.stdout), (0, "from a socket\n"), done.stderr)

    def test_a_signal_ends_the_wait_for_a_script_or_a_step(self):
        for arguments in ([], ["-i"]):
            for number in (signal.SIGINT, signal.SIGTERM):
                process = subprocess.Popen(
                    [HEARTH, "run", *arguments], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
                self.wait_until_it_reads(process.pid)
                process.send_signal(number)
                self.assertIn(process.wait(PATIENCE_SECONDS), (130, -number), arguments)
                process.stdin.close()

    @staticmethod
    def wait_until_it_reads(pid):
        while True:
            with open("/proc/%d/syscall" % pid) as file:
                if file.read().startswith("0 0x0 "):
                    return

    def test_a_script_killed_for_its_memory_is_told_so(self):
        done = self.run_hearth("--memory", "64M", script="x = bytearray(1 << 30)")
        self.assertIn("MemoryLimit: ", done.stderr)
        steps = self.run_hearth(
            "-i", "--memory", "64M", script="x = 1\ny = bytearray(1 << 30)\nx\n"
        )
        self.assertIn("The variables of earlier steps are lost.\n", steps.stderr)
        self.assertIn("NameError", steps.stderr)

    def test_output_that_waits_to_be_read_does_not_time_out(self):
        read_end, write_end = os.pipe()
        script = self.file("much.py", "print('x' * 400_000)")
        process = subprocess.Popen(
            [HEARTH, "run", "-t", "1", script], stdout=write_end, stderr=subprocess.PIPE, text=True
        )
        os.close(write_end)
        time.sleep(4)  # longer than its limit and all graces
        with open(read_end) as output:
            self.assertEqual(len(output.read()), 400_001)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 0, process.stderr.read())
        process.stderr.close()

    def test_a_memory_limit_keeps_the_swap_of_the_blueprint(self):
        config = self.file(
            "swap.toml",
            '[[blueprint]]\nname = "default"\n[blueprint.resource_limits]\n'
            "memory_mb = 256\nmemory_swap_mb = 512\n",
        )
        done = self.run_hearth("-c", config, "-m", "1g", script="print(1)")
        self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)

    def test_each_file_has_a_sandbox_of_its_own(self):
        one = self.file("one.py", "open('/tmp/mark', 'w').close()")
        two = self.file("two.py", "import os; print(os.listdir('/tmp'), os.listdir('/workspace'))")
        done = self.run_hearth(one, two)
        self.assertEqual((done.returncode, done.stdout), (0, "[] []\n"), done.stderr)
        self.assertEqual(self.run_hearth(self.file("bad.py", "1/0"), two, "-q").returncode, 1)

    def test_a_module_beside_the_script_is_named_with_the_option_that_copies_it(self):
        os.mkdir(os.path.join(self.folder.name, "package"))
        self.file("package/__init__.py", "answer = 42")
        self.file("helper.py", "answer = 42")
        self.file("up.py", "")
        for module in ("helper", "package"):
            script = self.file("main.py", "import %s\nprint(%s.answer)" % (module, module))
            done = self.run_hearth(script)
            (advice,) = [line for line in done.stderr.splitlines() if "--put" in line]
            place = advice.rpartition("--put ")[2].rpartition(" copies it there")[0]
            self.assertEqual(
                advice,
                "hearth: %s is not in the sandbox; --put %s copies it there" % (place, place),
            )
            done = self.run_hearth("--put", place, script)
            self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)
        for script in ("import not_there", "raise ModuleNotFoundError('No module named \\'../up')"):
            done = self.run_hearth(self.file("main.py", script))
            self.assertNotIn("--put", done.stderr)
        done = self.run_hearth("-q", self.file("main.py", "import helper"))
        self.assertNotIn("--put", done.stderr)

    def test_variables_mounts_and_tools(self):
        self.file("data.txt", "mounted")
        tool = self.file("shout.py", "def shout(text):\n    return text.upper()\n")
        script = "import os\nprint(os.environ['A'], open('/data/data.txt').read(), shout('loud'))"
        done = self.run_hearth(
            "-e", "A=b", "--mount", self.folder.name + ":/data", "--tool", tool, script=script
        )
        self.assertEqual((done.returncode, done.stdout), (0, "b mounted LOUD\n"), done.stderr)

    def test_the_page_about_tools_is_true(self):
        page = open(os.path.join(SOURCE, "docs", "tools.md")).read()
        tool, script = (part.split("```")[0] for part in page.split("```python\n")[1:3])
        os.mkdir(os.path.join(self.folder.name, "tools"))
        self.file("tools/billing.py", tool)
        config = self.file("billing.toml", page.split("```toml\n")[1].split("```")[0])
        expected = page.split("```console\n")[1].split("```")[0].splitlines()[1]
        with unittest.mock.patch.dict(os.environ, STRIPE_KEY="sk"):
            for arguments in (["-c", config], ["--tool", "tools/billing.py", "-e", "STRIPE_KEY"]):
                done = self.run_hearth(*arguments, script=script)
                self.assertEqual((done.returncode, done.stdout), (0, expected + "\n"), done.stderr)

    def test_hearth_keeps_its_memory_to_itself(self):
        ordinary = os.geteuid() or 65534
        program = shutil.copy(HEARTH, self.folder.name)
        before = resource.getrlimit(resource.RLIMIT_CORE)
        hard = before[1] if os.geteuid() else resource.RLIM_INFINITY
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, before)
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        with subprocess.Popen(
            [program, "bench", "--script", "-"], user=ordinary, stdin=subprocess.PIPE
        ) as process:
            self.addCleanup(process.kill)  # it waits for the script
            core = None
            deadline = time.monotonic() + PATIENCE_SECONDS
            while core != ["1", "1"] and time.monotonic() < deadline:
                with open("/proc/%d/limits" % process.pid) as file:
                    core = next(
                        line.split()[4:6] for line in file if line.startswith("Max core file size")
                    )
            self.assertEqual(core, ["1", "1"])
            # What is not dumpable belongs to root there.
            self.assertEqual(os.stat("/proc/%d/environ" % process.pid).st_uid, 0)
            process.kill()

    @unittest.skipIf(os.geteuid() != 0, "needs to be other users")
    def test_a_mount_that_only_a_supplementary_group_may_use_is_refused(self):
        user, group = 65534, 4242
        shutil.copy(HEARTH, self.folder.name)
        copy_programs(HEARTH, self.folder.name)
        home = os.path.join(self.folder.name, "home")
        os.mkdir(home)
        os.chown(home, user, user)
        secret = self.file("secret", "of the group")
        os.chown(secret, 0, group)
        command = [
            os.path.join(self.folder.name, "hearth"),
            "run",
            "--allow-degraded",
            "--mount",
            secret + ":/data",
            "-",
        ]

        def run(mode):
            os.chmod(secret, mode)
            return subprocess.run(
                command,
                input="print(open('/data').read())",
                cwd=self.folder.name,
                env={"PATH": os.environ["PATH"], "HOME": home},
                user=user,
                group=user,
                extra_groups=[group],
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
            )

        done = run(0o640)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("only a supplementary group", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(run(0o644).stdout, "of the group\n")

    def test_the_example_tool_answers(self):
        tool = os.path.join(SOURCE, "examples", "tools", "text_stats.py")
        done = self.run_hearth("--tool", tool, script="word_count('two words').data['words']")
        self.assertEqual((done.returncode, done.stdout), (0, "2\n"), done.stderr)

    def test_a_tool_of_the_command_line_takes_the_place_of_a_configured_one(self):
        self.file("billing.py", "import os\ndef which(): return 'configured'\n")
        self.file("other.py", "def which(): return 'other'\n")
        os.mkdir(os.path.join(self.folder.name, "new"))
        new = self.file("new/billing.py", "import os\ndef which(): return os.environ['KEY']\n")
        config = self.file(
            "hearth.toml",
            '[[blueprint]]\nname = "one"\n[[blueprint]]\nname = "two"\n'
            '[[tool]]\nname = "billing"\nfile = "billing.py"\nblueprints = ["one"]\n'
            'secrets = ["KEY"]\n',
        )
        for blueprint in ("one", "two"):  # which has not got the configured one
            options = ["-c", config, "-b", blueprint, "--tool", new]
            done = self.run_hearth(*options, "-e", "KEY=new", script="print(which())")
            self.assertEqual((done.returncode, done.stdout), (0, "new\n"), done.stderr)
            refused = self.run_hearth(*options, script="print(which())")
            self.assertIn("KEY", refused.stderr)  # its secrets stay
            self.assertEqual(refused.returncode, 2)

    def test_a_tool_whose_file_has_a_name_that_python_does_not_take_is_refused(self):
        for name, usable in (("my-tool.py", "my_tool.py"), ("2nd.py", "_2nd.py")):
            done = self.run_hearth("--tool", self.file(name, "def f(): pass"), script="1")
            self.assertEqual(done.returncode, 2)
            self.assertIn("rename it to " + usable, done.stderr)

    def test_a_tool_that_does_not_load_is_named(self):
        tool = self.file("broken.py", "raise ValueError('at import')\n")
        done = self.run_hearth("--tool", tool, script="1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("ValueError: at import", done.stderr)

    def test_a_mount_is_read_only_unless_said_otherwise(self):
        folder = os.path.join(self.folder.name, "shared")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        script = "open('/data/made', 'w').write('inside')"
        done = self.run_hearth("-q", "--mount", folder + ":/data", script=script)
        self.assertEqual(done.returncode, 1)
        self.assertIn("Read-only file system", done.stderr)
        done = self.run_hearth("--mount", folder + ":/data:rw", script=script)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(folder, "made")) as made:
            self.assertEqual(made.read(), "inside")

    def test_secrets_come_from_where_the_configuration_says(self):
        self.file("key", "from a file\n")
        config = self.file(
            "hearth.toml",
            '[secrets]\nAPI_KEY = { file = "key" }\n[[blueprint]]\nname = "only"\n'
            'secrets = ["API_KEY", "OTHER"]\n',
        )
        script = "import os; print(os.environ['API_KEY'], os.environ['OTHER'])"
        done = subprocess.run(
            [HEARTH, "run", "-c", config],
            input=script,
            env={**os.environ, "OTHER": "from the environment"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=PATIENCE_SECONDS,
        )
        self.assertEqual(
            (done.returncode, done.stdout), (0, "from a file from the environment\n"), done.stderr
        )
        missing = self.run_hearth("-c", config, script=script)
        self.assertEqual(missing.returncode, 2)
        self.assertIn(
            "required secrets are missing: OTHER (looked for in the environment variable OTHER)",
            missing.stderr,
        )
        os.remove(os.path.join(self.folder.name, "key"))
        gone = self.run_hearth("-c", config, script=script)
        self.assertEqual(gone.returncode, 2)
        self.assertIn("the secret API_KEY: read ", gone.stderr)

    def test_steps_share_their_variables(self):
        done = self.run_hearth("-i", script="x = 20\ndef f():\n  return x + 1\n\n1/0\nf() * 2\n")
        self.assertEqual((done.returncode, done.stdout), (0, "42\n"), done.stderr)
        self.assertIn("ZeroDivisionError", done.stderr)

    def test_ctrl_c_ends_the_script_and_leaves_nothing(self):
        process = subprocess.Popen(
            [HEARTH, "run", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        process.stdin.write("import time\nprint('started', flush=True)\ntime.sleep(1000)")
        process.stdin.close()
        self.assertEqual(process.stdout.readline(), "started\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 130)
        self.assertIn("KeyboardInterrupt", process.stderr.read())
        process.stdout.close()
        process.stderr.close()

    def test_a_second_ctrl_c_ends_a_script_that_will_not_and_all_that_would_follow(self):
        stubborn = (
            "import time\nwhile True:\n    try:\n        print('again', flush=True)\n"
            "        time.sleep(1000)\n"
            "    except KeyboardInterrupt: pass\n"
        )
        files = [self.file("stubborn.py", stubborn), self.file("next.py", "print('next')")]
        process = subprocess.Popen(
            [HEARTH, "run", *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), "again\n")
            process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, 130, errors)
        self.assertNotIn("next", rest)
        self.assertIn("cancelled ", errors)

    def test_ctrl_c_before_the_script_runs_ends_everything(self):
        tool = self.file("slow.py", "import time\ntime.sleep(1000)\n")
        process = subprocess.Popen(
            [HEARTH, "run", "--tool", tool, "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process.stdin.write(b"1")
        process.stdin.close()
        while not self.has_child(process.pid):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 130)
        process.stderr.close()

    @staticmethod
    def has_child(pid):
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            for child in file.read().split():
                try:
                    with open("/proc/%s/comm" % child) as comm:
                        if comm.read() == "hearth-launcher\n":
                            return True
                except OSError:
                    pass
        return False


if __name__ == "__main__":
    unittest.main()
