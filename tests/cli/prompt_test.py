#!/usr/bin/env python3
"""`hearth run -i` on a terminal. Argument: the hearth program."""
import fcntl
import json
import os
import pty
import select
import subprocess
import tempfile
import termios
import unittest

from run_case import HEARTH, PATIENCE_SECONDS, RunCase

CLASS = b"""class Pair:
    def first(self):
        return 'fir' + 'st'

    def second(self):

        return 'sec' + 'ond'
"""


class Prompt(RunCase):
    def test_the_banner_says_what_one_types_into(self):
        with Terminal(self.folder.name, "-m", "128M", "-t", "2.5") as terminal:
            terminal.read_until(b"Python 3.", b" in a sandbox: 128 MB, 2.5 s a step, no network.")
            terminal.read_until(b"Ctrl-D or exit() the session.", b">>> ")
        with Terminal(self.folder.name, "-q") as terminal:
            terminal.read_until(b">>> ")
            self.assertNotIn(b"Python", terminal.everything)

    def test_the_banner_names_the_python_that_runs(self):
        done = self.run_hearth("--json=result", script="1")
        version = json.loads(done.stdout)["sandbox"]["python"]
        with Terminal(self.folder.name) as terminal:
            terminal.read_until(f"Python {version} in a sandbox".encode())

    def test_a_paste_is_one_step_whatever_blank_lines_are_in_it(self):
        with Terminal(self.folder.name, kind="xterm") as terminal:
            terminal.read_until(b"\x1b[?2004h", b">>> ")
            terminal.paste(CLASS + b"\nPair().second()\n\n")
            terminal.read_until(b"second()")
            self.assertNotIn(b"'second'", terminal.everything)  # nothing runs before Enter
            terminal.type(b"\r")
            terminal.read_until(b"'second'\r\n", b">>> ")
            terminal.type(b"Pair().first()\r")
            terminal.read_until(b"'first'\r\n", b">>> ")
            self.assertNotIn(b"Error", terminal.everything)
            terminal.type(b"\x04")
            self.assertEqual(terminal.exit_code(), 0)
            terminal.read_until(b"\x1b[?2004l")

    def test_a_paste_may_stand_in_a_line_and_need_more(self):
        with Terminal(self.folder.name, kind="xterm") as terminal:
            terminal.read_until(b">>> ")
            terminal.type(b"print(")
            terminal.paste("'\N{GREEK SMALL LETTER ALPHA}',\n\t'b',".encode())
            terminal.type(b"\r")
            terminal.read_until(b"... ")
            terminal.type(b"'c')\r")
            terminal.read_until("\N{GREEK SMALL LETTER ALPHA} b c\r\n".encode(), b">>> ")

    def test_an_entry_of_several_lines_comes_back_whole(self):
        for sessions in (1, 2):  # in the same session, and in one that follows
            with self.subTest(sessions=sessions), tempfile.TemporaryDirectory() as home:
                terminal = Terminal(home)
                terminal.read_until(b">>> ")
                terminal.type(b"for i in range(2):\n")
                terminal.read_until(b"... ")
                terminal.type(b"print('n', i)\n\n".replace(b"print", b" print"))
                terminal.read_until(b"n 1\r\n", b">>> ")
                if sessions == 2:
                    terminal.type(b"\x04")
                    self.assertEqual(terminal.exit_code(), 0)
                    terminal.__exit__()
                    terminal = Terminal(home)
                    terminal.read_until(b">>> ")
                with terminal:
                    terminal.type(b"\x10")  # Ctrl-P, the entry before
                    terminal.read_until(b"for i in range(2):", b"print('n', i)")
                    terminal.type(b"\n")
                    terminal.read_until(b"n 0\r\n", b"n 1\r\n", b">>> ")

    def test_a_string_without_its_end_is_an_error_at_once(self):
        with Terminal(self.folder.name) as terminal:
            terminal.read_until(b">>> ")
            terminal.type(b'print("oops\n')
            terminal.read_until(b"SyntaxError", b">>> ")
            self.assertNotIn(b"... ", terminal.everything)
            terminal.type(b"6 * 7\n")
            terminal.read_until(b"42\r\n", b">>> ")

    def test_tab_indents(self):
        with Terminal(self.folder.name) as terminal:
            terminal.read_until(b">>> ")
            terminal.type(b"if True:\n\tprint('inden' + 'ted')\n\n")
            terminal.read_until(b"indented\r\n", b">>> ")

    def test_what_follows_the_session_begins_a_line(self):
        with Terminal(self.folder.name) as terminal:
            terminal.read_until(b">>> ")
            terminal.type(b"\x04")
            self.assertEqual(terminal.exit_code(), 0)
            terminal.read_until(b"\r\n")

    def test_the_words_that_leave_python_leave(self):
        for word in (b"exit", b"exit()", b"quit()"):
            with Terminal(self.folder.name) as terminal:
                terminal.read_until(b">>> ")
                terminal.type(word + b"\n")
                self.assertEqual(terminal.exit_code(), 0)

    def test_the_prompt_on_a_terminal(self):
        with Terminal(self.folder.name) as terminal:
            terminal.read_until(b">>> ")
            terminal.type(b"6 * 7\n")
            terminal.read_until(b"42\r\n", b">>> ")
            terminal.type(b"for i in range(2): print('n', i)\n\n")
            terminal.read_until(b"n 1\r\n", b">>> ")
            terminal.type(b"\x04")
            self.assertEqual(terminal.exit_code(), 0)

    def test_ctrl_c_at_the_prompt_drops_what_is_typed_and_nothing_else(self):
        with Terminal(self.folder.name) as terminal:
            terminal.read_until(b">>> ")
            terminal.type(b"x = 'ke' + 'pt'\n")
            terminal.read_until(b">>> ")
            terminal.type(b"print((x,\n")
            terminal.read_until(b"... ")
            terminal.type(b"\x03")
            terminal.read_until(b">>> ")
            terminal.type(b"x\n")
            terminal.read_until(b"kept", b">>> ")
            terminal.type(b"exit()\n")
            self.assertEqual(terminal.exit_code(), 0)

    def test_what_is_typed_while_a_step_runs_is_read_after_it(self):
        with Terminal(self.folder.name) as terminal:
            terminal.read_until(b">>> ")
            terminal.type(b"print('be' + 'gun', flush=True); import time; time.sleep(0.5)\n")
            terminal.read_until(b"begun")
            terminal.type(b"'typed' + 'ahead'\n\x04")
            terminal.read_until(b"typedahead")
            self.assertEqual(terminal.exit_code(), 0)
            self.assertEqual(termios.tcgetattr(terminal.master), terminal.settings)

    def test_a_script_typed_before_the_prompt_ends_with_ctrl_d(self):
        with Terminal(self.folder.name, "-") as terminal:
            terminal.type(b"x = 'ty' + 'ped'\n\x04")
            terminal.read_until(b">>> ")
            terminal.type(b"x\n")
            terminal.read_until(b"typed", b">>> ")
            terminal.type(b"\x04")
            self.assertEqual(terminal.exit_code(), 0)


class Terminal:
    """`hearth run -i` on a terminal of its own."""

    def __init__(self, home, *arguments, kind="dumb"):
        self.master, self.slave = pty.openpty()
        self.settings = termios.tcgetattr(self.master)
        state = os.path.join(home, "state")  # the history is there
        env = {**os.environ, "HOME": home, "TERM": kind, "HEARTH_STATE_DIR": state}
        ends = {"stdin": self.slave, "stdout": self.slave, "stderr": self.slave}
        self.process = subprocess.Popen(
            [HEARTH, "run", "-i", *arguments],
            env=env,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0),
            **ends,
        )
        self.seen = b""  # and not yet looked for
        self.everything = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)

    def paste(self, text):
        """As a terminal sends what is pasted."""
        self.type(b"\x1b[200~" + text.replace(b"\n", b"\r") + b"\x1b[201~")

    def type(self, keys):
        os.write(self.master, keys)

    def read_until(self, *texts):
        """Until each of them has come, one after the other."""
        for text in texts:
            while text not in self.seen:
                ready, _, _ = select.select([self.master], [], [], PATIENCE_SECONDS)
                assert ready, "the terminal shows only %r" % self.seen
                came = os.read(self.master, 4096)
                self.seen += came
                self.everything += came
            self.seen = self.seen[self.seen.index(text) + len(text) :]

    def exit_code(self):
        return self.process.wait(PATIENCE_SECONDS)


if __name__ == "__main__":
    unittest.main()
