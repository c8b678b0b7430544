#!/usr/bin/env python3
"""`hearth shell` and `hearth exec --tty` in a real terminal, which is tmux's.

Argument: the hearth program.
"""
import os
import re
import shlex
import signal
import subprocess
import time
import unittest

from run_case import HEARTH, PATIENCE_SECONDS, RunCase

HERE = "host$"  # the prompt of the shell around
INSIDE = "inside:"


class Terminal:
    """A terminal of 80 columns and 24 rows with a shell of this machine."""

    def __init__(self, directory):
        self.socket = os.path.join(directory, "tmux")
        shell = f"env -u HISTFILE PS1='{HERE} ' HISTFILE= bash --norc --noprofile"
        self.tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", directory, shell)
        self.shows(HERE)

    def tmux(self, *arguments):
        command = ["tmux", "-S", self.socket, "-f", "/dev/null", *arguments]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True
        )
        return done.stdout

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], stderr=subprocess.DEVNULL)

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, line):
        self.tmux("send-keys", "-l", line)
        self.press("Enter")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self):
        return self.tmux("capture-pane", "-p", "-J").rstrip("\n")

    def shows(self, pattern, where=re.search):
        """Waits until the screen matches, and returns the match."""
        end = time.monotonic() + 2 * PATIENCE_SECONDS
        while True:
            screen = self.screen()
            if found := where(pattern.replace("$", r"\$") if pattern == HERE else pattern, screen):
                return found
            assert time.monotonic() < end, f"no {pattern!r} on the screen:\n{screen}"
            time.sleep(0.02)

    def ends_with(self, text):
        self.shows(re.escape(text) + r"\s*\Z")

    def process_id(self):
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))


class Shell(RunCase):
    def setUp(self):
        super().setUp()
        self.terminal = Terminal(self.folder.name)
        self.addCleanup(self.terminal.close)

    def start(self, *options, command="shell"):
        """In the terminal; its exit code is shown when it is over."""
        words = [HEARTH, command, *options]
        self.terminal.type("clear; " + shlex.join(words) + '; echo "code"=$?')

    def start_shell(self, *options):
        self.start("-q", "-e", f"PS1={INSIDE} ", *options)
        self.terminal.ends_with(INSIDE)

    def ended_with(self, code):
        self.terminal.shows(rf"(?m)^code={code}$")
        self.terminal.ends_with(HERE)

    def hearth(self):
        """The process that runs in the terminal."""
        (child,) = subprocess.check_output(
            ["ps", "-o", "pid=", "--ppid", str(self.terminal.process_id())], text=True
        ).split()
        return int(child)

    def settings(self):
        """Of the terminal, as the shell around sees them."""
        self.terminal.type('clear; echo "is "$(stty -g)')
        return self.terminal.shows(r"(?m)^is (\S+)$")[1]

    def test_a_shell_has_the_sandbox_and_its_own_exit_code(self):
        self.start("-e", f"PS1={INSIDE} ")
        self.terminal.shows("bash in a sandbox: .* MB, no time limit, no network")
        self.terminal.ends_with(INSIDE)
        self.terminal.type("clear; echo $(hostname) in $(pwd) on $(tty)")
        self.terminal.shows("(?m)^sandbox in /workspace on /dev/pts/0$")
        self.terminal.type("exit 7")
        self.ended_with(7)
        self.start_shell()
        self.terminal.press("C-d")
        self.ended_with(0)

    def test_a_full_screen_program_draws_the_whole_screen_and_follows_its_size(self):
        self.file("numbers", "".join(f"{number}\n" for number in range(1, 501)))
        self.start_shell("--put", "numbers")
        self.terminal.type("less numbers")
        self.terminal.shows(r"\A1\n(.*\n)*23\nnumbers")
        self.terminal.resize(100, 40)
        self.terminal.shows(r"\A1\n(.*\n)*39\n(numbers|:)")
        self.terminal.press("G")
        self.terminal.shows(r"\A462\n(.*\n)*500\n\(END\)")
        self.terminal.press("q")
        self.terminal.ends_with(INSIDE)  # and the screen of before is back
        self.terminal.type("clear; stty size; tput cols; tput lines")
        self.terminal.shows(r"(?m)^40 100\n100\n40$")
        self.terminal.type("exit")
        self.ended_with(0)

    def test_ctrl_c_ends_the_program_and_not_the_shell(self):
        self.start_shell()
        self.terminal.type("clear; sh -c 'echo begun; exec sleep 600'")
        self.terminal.shows("(?m)^begun$")
        self.terminal.press("C-c")
        self.terminal.ends_with(INSIDE)
        self.terminal.type('echo "last"=$?')
        self.terminal.shows("(?m)^last=130$")
        self.terminal.type("clear; sh -c 'echo again; exec sleep 600'")
        self.terminal.shows("(?m)^again$")
        self.terminal.press("C-z")
        self.terminal.shows("Stopped")
        self.terminal.type("disown; exit 4")
        self.ended_with(4)

    def test_the_terminal_is_as_it_was_however_the_shell_ends(self):
        before = self.settings()
        for code, options, end in (
            (0, (), lambda: self.terminal.press("C-d")),
            (130, (), lambda: os.kill(self.hearth(), signal.SIGTERM)),
            (124, ("-t", "1"), lambda: None),
            (137, (), self.kill_sandbox),
        ):
            with self.subTest(code=code):
                self.start("-e", f"PS1={INSIDE} ", *options)
                if code != 124:
                    self.terminal.ends_with(INSIDE)
                end()
                self.terminal.shows(rf"(?m)^code={code}$")
                if code == 124:
                    self.terminal.shows("(?m)^timeout in ")
                if code == 137:
                    self.terminal.shows("(?m)^lost in ")
                self.assertEqual(self.settings(), before)

    def kill_sandbox(self):
        """Its init, and with it all that is in it."""
        names = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as stat:
                    name, rest = stat.read().rsplit(") ", 1)
                names[int(pid)] = (name.split("(", 1)[1], int(rest.split()[1]))
            except OSError:
                pass

        def is_below(pid, above):
            while pid in names and pid != above:
                pid = names[pid][1]
            return pid == above

        hearth = self.hearth()
        (shell,) = [
            pid for pid, (name, _) in names.items() if name == "bash" and is_below(pid, hearth)
        ]
        init = names[names[shell][1]][1]  # the parent of the command's runner
        self.assertEqual(names[init][0], "init")
        os.kill(init, signal.SIGKILL)

    def test_a_program_that_is_killed_on_the_second_screen_leaves_the_first(self):
        self.file("numbers", "".join(f"{number}\n" for number in range(1, 501)))
        self.start("--put", "numbers", "--tty", "--", "less", "numbers", command="exec")
        self.terminal.shows(r"\A1\n(.*\n)*23\nnumbers")
        os.kill(self.hearth(), signal.SIGTERM)
        self.ended_with(130)
        self.assertEqual(self.terminal.tmux("display-message", "-p", "#{alternate_on}"), "0\n")

    def test_files_go_in_and_out_of_a_shell(self):
        self.file("data", "1\n")
        self.start("-e", f"PS1={INSIDE} ", "--put", "data", "--get", "copy")
        self.terminal.ends_with(INSIDE)
        self.terminal.type("cp data copy; touch other; exit 3")
        self.ended_with(3)
        self.terminal.shows("copied to copy: 2 bytes")
        self.terminal.shows("not kept: other 0 bytes")
        with open(os.path.join(self.folder.name, "copy")) as copy:
            self.assertEqual(copy.read(), "1\n")

    def test_an_environment_without_bash_is_told(self):
        self.start("-e", "PATH=/nowhere")
        self.terminal.shows("there is no bash in the environment of this sandbox")
        self.ended_with(127)

    def test_a_command_on_a_terminal_has_its_size_and_keys(self):
        line = "stty size; read -r word; echo got $word; exit 5"
        self.start("-q", "--tty", "-s", line, command="exec")
        self.terminal.shows("(?m)^24 80$")
        self.terminal.type("typed")
        self.terminal.shows("(?m)^got typed$")
        self.ended_with(5)

    def test_progress_of_a_large_copy_leaves_nothing_on_the_terminal(self):
        config = self.file("c.toml", '[[blueprint]]\nname = "a"\nscratch_size_mb = 400\n')
        with open(os.path.join(self.folder.name, "big"), "wb") as big:
            big.truncate(300 << 20)
        self.start("-m", "1G", "-c", config, "--put", "big", "--", "true", command="exec")
        self.terminal.shows(r"(?m)^--put: [\d.]+ MB in 1 file$|^code=0$")
        self.ended_with(0)
        self.assertNotIn("in 1 file", self.terminal.screen())


class WithoutTerminal(RunCase):
    def test_a_shell_without_a_terminal_is_refused_with_what_works(self):
        done = subprocess.run(
            [HEARTH, "shell"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("needs a terminal as standard input and output", done.stderr)
        self.assertIn("hearth exec -- COMMAND", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
