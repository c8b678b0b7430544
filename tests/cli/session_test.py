#!/usr/bin/env python3
"""`hearth session` as its users meet it, with real sandboxes. Argument: the hearth program."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

HEARTH = os.path.abspath(sys.argv.pop())
PATIENCE_SECONDS = 120

MAKE_TREE = r"""
import os, socket
os.makedirs("d/closed")
open("d/closed/inner", "w").write("inside")
os.chmod("d/closed", 0o500)
open(b"\xff\xfe", "wb").write(b"no UTF-8")
open("run.sh", "w").write("#!/bin/sh\n")
os.chmod("run.sh", 0o750)
open("secret", "w").write("closed")
os.chmod("secret", 0)
open("empty", "w").close()
open(".dotfile", "w").write("kept")
with open("sparse", "wb") as file:
    file.truncate(9_000_000)
    file.seek(5_000_000)
    file.write(b"middle")
os.symlink("d/closed/inner", "link")
os.symlink("/usr/bin/python3", "python")
os.mkfifo("fifo")
for number in range(1500):
    open("many%d" % number, "w").write(str(number))
"""

LOOK_AT_TREE = r"""
import hashlib, os, stat
def look(folder):
    for name in sorted(os.listdir(folder)):
        path = folder + b"/" + name
        info = os.lstat(path)
        line = [path, stat.filemode(info.st_mode)]
        if stat.S_ISLNK(info.st_mode):
            line.append(os.readlink(path))
        elif stat.S_ISREG(info.st_mode):
            mode = stat.S_IMODE(info.st_mode)
            os.chmod(path, 0o600)
            line += [hashlib.sha256(open(path, "rb").read()).hexdigest(), info.st_mtime_ns]
            os.chmod(path, mode)
            os.utime(path, ns=(info.st_mtime_ns, info.st_mtime_ns))
        if not stat.S_ISFIFO(info.st_mode):
            print(line)
        if stat.S_ISDIR(info.st_mode):
            look(path)
look(b".")
"""


def processes_called(line):
    """Of the whole machine, by their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                if file.read().decode(errors="replace").split("\0")[:-1] == line.split():
                    found.append(pid)
        except OSError:
            continue
    return found


class Sessions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.chmod(self.folder.name, 0o755)
        self.env = {**os.environ, "HEARTH_STATE_DIR": os.path.join(self.folder.name, "state")}

    def hearth(self, *arguments, script=None, code=0, cwd=None):
        done = subprocess.run(
            [HEARTH, "session", *arguments],
            input=script,
            cwd=cwd or self.folder.name,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def new(self, *arguments):
        return self.hearth("new", *arguments).stdout.strip()

    def run_in(self, session, script, code=0):
        return self.hearth("run", "-q", session, script=script, code=code).stdout

    def result_in(self, session, script):
        done = self.hearth("run", "--json", session, script=script)
        return json.loads(done.stdout)

    def test_files_of_every_kind_come_back_as_they_were(self):
        session = self.new()
        made = self.hearth("run", "-q", session, script=MAKE_TREE + LOOK_AT_TREE)
        self.assertIn("not kept, as it is no file, directory or link: fifo", made.stderr)
        self.assertGreater(len(made.stdout.splitlines()), 1500)
        found = self.run_in(session, LOOK_AT_TREE)
        self.assertEqual(found, made.stdout)

    def test_an_unchanged_workspace_is_not_written_again(self):
        session = self.new()
        self.run_in(session, "open('a', 'w').write('1')")
        generation = json.loads(self.hearth("show", "--json", session).stdout)["generation"]
        self.run_in(session, "open('a').read()")
        shown = json.loads(self.hearth("show", "--json", session).stdout)
        self.assertEqual(shown["generation"], generation)

    def test_steps_of_a_session_share_files_and_say_where_they_came_from(self):
        session = self.new("--label", "user=7", "-e", "TOKEN=abc")
        first = self.result_in(
            session, "import os; x = os.environ['TOKEN']; open('a', 'w').write(x)"
        )
        self.assertEqual(first["session_id"], session)
        second = self.result_in(session, "print(open('a').read(), 'x' in globals())")
        self.assertEqual(second["stdout"], "abc True\n")
        self.assertEqual(second["resumed"], {"source": "snapshot"})
        shown = self.hearth("show", session).stdout
        self.assertIn("TOKEN", shown)
        self.assertNotIn("abc", shown)
        listed = json.loads(self.hearth("list", "--json").stdout)["items"]
        self.assertEqual([item["labels"] for item in listed], [{"user": "7"}])

    def test_variables_that_pickle_come_back_and_the_others_are_named(self):
        session = self.new()
        script = "import json, math as m\nfrom os import sep\nx = {'a': 1}\ny = x\n" + (
            "def f(): return x\nlines = open('/dev/null')"
        )
        done = self.hearth("run", session, script=script)
        self.assertIn("they do not pickle: the variables f, lines\n", done.stderr)
        look = "print(json.dumps(x), y is x, m.floor(1.5), sep, 'f' in globals())"
        second = self.result_in(session, look)
        self.assertEqual(second["stdout"], '{"a": 1} True 1 / False\n')
        lost = {"source": "snapshot", "lost_variables": ["f", "lines"]}
        self.assertEqual(second["resumed"], lost)
        self.assertIn("[resumed from a snapshot; lost: f, lines]", second["text"])
        self.assertEqual(self.run_in(session, "print(x, 'y' in dir())"), "{'a': 1} True\n")
        self.hearth("restart", session)
        self.assertEqual(self.run_in(session, "print('x' in dir())"), "False\n")

    def test_a_variable_that_attacks_its_pickling_harms_only_itself(self):
        session = self.new()
        script = """
class Attack:
    def __reduce__(self):
        return (eval, ("__import__('os').kill(__import__('os').getpid(), 9)",))
import collections
attack, x = Attack(), 1
open('a', 'w').write('kept')
class Hang:
    def __reduce__(self):
        while True: pass
"""
        self.run_in(session, script)
        look = "print(open('a').read(), 'x' in dir(), 'attack' in dir())"
        second = self.result_in(session, look)
        self.assertEqual(second["stdout"], "kept False False\n")
        self.assertIn("attack", second["resumed"]["lost_variables"])
        self.run_in(session, script + "hang = Hang()")
        self.assertEqual(self.run_in(session, look), "kept False False\n")

    def test_files_are_put_into_a_session_and_read_from_it(self):
        session = self.new()
        content = "".join("line %d\n" % number for number in range(20000))
        self.hearth("put", session, "-", "in/data.txt", script=content)
        self.assertEqual(self.hearth("get", session, "in/data.txt").stdout, content)
        script = "print(len(open('in/data.txt').read())); done = open('out', 'w').write('x')"
        self.assertEqual(self.run_in(session, script), "%d\n" % len(content))
        self.hearth("get", session, "out", "copy")
        with open(os.path.join(self.folder.name, "copy")) as file:
            self.assertEqual(file.read(), "x")
        self.assertIn("nothing", self.hearth("get", session, "nothing", code=2).stderr)

    def test_no_file_is_replaced_without_force_and_none_through_a_link(self):
        session = self.new()
        self.run_in(session, "open('out', 'w').write('new')")
        mine, link = (os.path.join(self.folder.name, name) for name in ("mine", "link"))

        def content():
            with open(mine, errors="replace") as file:
                return file.read()

        for command in (["get", session, "out"], ["export", session]):
            with open(mine, "w") as file:
                file.write("precious")
            os.symlink("mine", link)
            for name in "mine", "link":
                refused = self.hearth(*command, name, code=2)
                self.assertIn(name + " is there already", refused.stderr)
            self.assertIn("no file", self.hearth(*command, "link", "--force", code=2).stderr)
            self.assertEqual(content(), "precious")
            self.hearth(*command, "mine", "--force")
            self.assertNotEqual(content(), "precious")
            os.unlink(link)
        os.unlink(mine)
        self.hearth("get", session, "nothing", "mine", code=2)
        self.assertFalse(os.path.lexists(mine))
        self.assertEqual(self.hearth("get", session, "out", "/dev/stdout").stdout, "new")

    def test_fields_of_a_session_can_be_changed_later(self):
        session = self.new("--label", "a=1", "-e", "OLD=1", "--on-expire", "pause")
        changes = ["--label", "b=2", "--no-label", "a", "-e", "NEW=2", "--no-env", "OLD"]
        self.hearth("set", session, *changes, "--ttl", "3600", "--on-idle", "delete")
        shown = json.loads(self.hearth("show", "--json", session).stdout)
        self.assertEqual(shown["labels"], {"b": "2"})
        self.assertEqual(shown["env_names"], ["NEW"])
        self.assertEqual((shown["on_idle"], shown["on_expire"]), ("delete", "pause"))
        self.assertIn("expires_at", shown)
        self.hearth("set", session, "--ttl", "never")
        shown = json.loads(self.hearth("show", "--json", session).stdout)
        self.assertNotIn("expires_at", shown)
        self.assertIn("expects seconds", self.hearth("set", session, "--ttl", "x", code=2).stderr)

    def test_an_older_generation_becomes_the_latest(self):
        session = self.new()
        for number in (1, 2):
            self.run_in(session, "open('a', 'w').write('%d'); x = %d" % (number, number))
        shown = json.loads(self.hearth("show", "--json", session).stdout)
        older = shown["generation"] - 1
        done = self.hearth("resume", "--json", session, "--generation", str(older))
        self.assertEqual(json.loads(done.stdout)["generation"], older)
        self.assertEqual(self.run_in(session, "print(open('a').read(), x)"), "1 1\n")

    def test_a_session_can_be_copied_exported_and_imported(self):
        session = self.new()
        self.run_in(session, "import os; open('a', 'w').write('1'); os.symlink('/etc', 'out')")
        copy = self.new("--from", session)
        self.run_in(copy, "open('a', 'w').write('2')")
        done = self.hearth("export", session, "out.tar.zst")
        self.assertIn("could lead out of the archive: out", done.stderr)
        imported = self.hearth("import", "out.tar.zst").stdout.strip()
        look = "import os; print(open('a').read(), sorted(os.listdir('.')))"
        self.assertEqual(self.run_in(imported, look), "1 ['a']\n")
        self.assertEqual(self.run_in(copy, look), "2 ['a', 'out']\n")

    def test_a_deleted_session_is_gone_and_an_unknown_one_unknown(self):
        session = self.new()
        self.hearth("rm", session)
        done = self.hearth("run", session, script="1", code=2)
        self.assertIn("is gone: deleted", done.stderr)
        failed = self.hearth("run", "--json", session, script="1", code=2)
        self.assertEqual(json.loads(failed.stdout)["code"], "gone")
        failed = self.hearth("show", "--json", "ses_nothing", code=2)
        self.assertEqual(json.loads(failed.stdout)["code"], "not_found")
        done = self.hearth("show", "ses_nothing", code=2)
        self.assertIn("there is no session ses_nothing", done.stderr)
        self.assertIn("total 0\n", self.hearth("stats").stdout)

    def test_rm_goes_on_when_one_of_them_is_not_there(self):
        kept, session = self.new(), self.new()
        done = self.hearth("rm", "ses_nothing", session, code=2)
        self.assertIn("there is no session ses_nothing", done.stderr)
        listed = json.loads(self.hearth("list", "--json").stdout)["items"]
        self.assertEqual([item["id"] for item in listed], [kept])

    def test_a_script_that_is_not_there_is_an_error_of_the_command_line(self):
        session = self.new()
        done = self.hearth("run", session, "no-such-file.py", code=2)
        self.assertIn("no-such-file.py: No such file", done.stderr)
        failed = self.hearth("run", "--json", session, "no-such-file.py", code=2)
        self.assertEqual(json.loads(failed.stdout)["type"], "error")

    def test_the_configuration_of_another_directory_is_not_used_unless_it_is_named(self):
        session = self.new()
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "hearth.toml"), "w", encoding="utf-8") as file:
                file.write("[[blueprint]]\nname = 'default'\n")
            refused = self.hearth("run", session, script="1", code=2, cwd=place)
            self.assertIn("was made without a configuration; leave this directory", refused.stderr)
            done = self.hearth("run", "-c", "hearth.toml", session, script="2", cwd=place)
            self.assertEqual(done.returncode, 0)
            own = self.hearth("new", cwd=place).stdout.strip()
            self.hearth("run", own, script="3", cwd=place)

    def test_names_that_a_terminal_would_obey_are_shown_harmlessly(self):
        session = self.new()
        script = "open('b', 'w').close(); import os; os.mkfifo('a\x1b[2J')"
        done = self.hearth("run", session, script=script)
        self.assertIn("directory or link: a\\x1b[2J\n", done.stderr)
        self.assertNotIn("\x1b", done.stderr)

    def test_a_damaged_snapshot_is_an_error_that_names_a_way_out(self):
        session = self.new()
        self.run_in(session, "open('a', 'w').write('1')")
        archive = os.path.join(
            self.env["HEARTH_STATE_DIR"], "sessions/snapshots", session, "2/workspace.tar.zst"
        )
        with open(archive, "r+b") as file:
            file.seek(30)
            file.write(b"!!!!")
        done = self.hearth("run", session, script="print('ran')", code=2)
        self.assertEqual(done.stdout, "")
        self.assertIn("it can be resumed from generation 1", done.stderr)
        way_out = "hearth session resume %s --generation 1\n" % session
        self.assertIn(way_out, done.stderr)
        self.hearth(*way_out.split()[2:])
        self.assertEqual(self.run_in(session, "import os; print(os.listdir())"), "[]\n")

    def test_a20_a28_one_process_owns_them_and_after_its_kill_the_loss_is_told(self):
        session = self.new()
        self.run_in(session, "open('a', 'w').write('kept')")
        leftover = "sleep %d" % (10**9 + os.getpid())  # no other process has such a line
        script = (
            "import subprocess; open('a', 'w').write('lost')\n"
            "subprocess.Popen(%r, start_new_session=True); print('begun', flush=True)\n"
            "while True: pass" % leftover.split()
        )
        with subprocess.Popen(
            [HEARTH, "session", "run", session],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.env,
            text=True,
        ) as process:
            process.stdin.write(script)
            process.stdin.close()
            self.assertEqual(process.stdout.readline(), "begun\n")
            refused = self.hearth("list", code=2)
            self.assertIn("another Hearth process owns the store", refused.stderr)
            self.assertEqual(len(processes_called(leftover)), 1)
            process.send_signal(signal.SIGKILL)
        done = self.hearth("run", session, script="print(open('a').read())")
        self.assertEqual(done.stdout, "kept\n")
        self.assertIn("after its last pause is lost", done.stderr)
        self.assertEqual(processes_called(leftover), [])

    def test_an_interrupt_ends_the_script_and_keeps_its_files(self):
        session = self.new()
        script = "open('a', 'w').write('kept'); print('begun', flush=True)\nwhile True: pass"
        with subprocess.Popen(
            [HEARTH, "session", "run", "-q", session],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.env,
            text=True,
        ) as process:
            process.stdin.write(script)
            process.stdin.close()
            self.assertEqual(process.stdout.readline(), "begun\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(PATIENCE_SECONDS), 130)
        self.assertEqual(self.run_in(session, "print(open('a').read())"), "kept\n")


if __name__ == "__main__":
    unittest.main()
