#!/usr/bin/env python3
"""`hearth completion` in real shells, and `hearth man` by groff.

Argument: the hearth program.
"""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
import unittest

HEARTH = os.path.abspath(sys.argv.pop(1))
PATIENCE = 60


def hearth(*arguments):
    return subprocess.run([HEARTH, *arguments], capture_output=True, text=True, timeout=PATIENCE)


def commands(*words):
    """Each command with its help, and those below it."""
    help_text = hearth(*words, "--help").stdout
    yield words, help_text
    listed = help_text.partition("Subcommands:\n")[2]
    for name in re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE):
        yield from commands(*words, name)


def options_of(help_text):
    listed = help_text.partition("Options:\n")[2].partition("Subcommands:")[0]
    return {
        name
        for line in re.findall(r"^  (-\S+)", listed, re.MULTILINE)
        for name in re.sub(r"[{:].*", "", line).split(",")
        if name.startswith("-")
    }


class Completion(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        for name in ("my script.py", "readme.txt"):
            open(os.path.join(self.place, name), "w", encoding="utf-8").close()

    def script(self, shell):
        done = hearth("completion", shell)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        path = os.path.join(self.place, "completion-of-" + shell)
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
        return path

    def in_bash(self, *words):
        program = (
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hearth;'
            ' printf "%s\\n" "${COMPREPLY[@]}"'
        )
        return self.lines("bash", "-c", program, "bash", self.script("bash"), *words)

    def in_fish(self, *words):
        line = " ".join(words)
        program = f"source {self.script('fish')}; complete -C '{line}'"
        return {line.split("\t")[0] for line in self.lines("fish", "-N", "-c", program)}

    def lines(self, *command):
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=self.place,
            env={**os.environ, "HOME": self.place},
        )
        self.assertEqual(done.stderr, "")
        return set(done.stdout.splitlines())

    def test_each_command_completes_its_options_and_commands(self):
        for words, help_text in commands():
            with self.subTest(words):
                self.assertEqual(self.in_bash("hearth", *words, "-"), options_of(help_text))
                inner = {name[-1] for name, _ in commands(*words) if len(name) == len(words) + 1}
                self.assertLessEqual(inner, self.in_bash("hearth", *words, ""))

    def test_bash_completes_files_and_values(self):
        self.assertEqual(self.in_bash("hearth", "ses"), {"session"})
        self.assertEqual(self.in_bash("hearth", "run", "--config", "my"), {"my script.py"})
        self.assertEqual(self.in_bash("hearth", "run", "re"), {"readme.txt"})
        self.assertEqual(self.in_bash("hearth", "run", "--backend", ""), {"docker", "native"})
        self.assertEqual(self.in_bash("hearth", "run", "--timeout", ""), {""})
        # An argument that is called like a command is none.
        self.assertIn("--memory", self.in_bash("hearth", "run", "session", "--m"))

    def test_fish_completes_commands_options_and_values(self):
        self.assertEqual(self.in_fish("hearth", "session", "sh"), {"show"})
        self.assertEqual(self.in_fish("hearth", "image", "prune", "--dr"), {"--dry-run"})
        self.assertEqual(self.in_fish("hearth", "run", "--backend", "n"), {"native"})
        self.assertIn("readme.txt", self.in_fish("hearth", "run", "--config", "re"))

    def test_zsh_completes_commands_options_and_values(self):
        self.assertEqual(self.in_zsh("hearth ses"), "hearth session ")
        self.assertEqual(self.in_zsh("hearth image prune --dr"), "hearth image prune --dry-run ")
        self.assertEqual(self.in_zsh("hearth run --backend n"), "hearth run --backend native ")
        self.assertEqual(self.in_zsh("hearth run --config re"), "hearth run --config readme.txt ")

    def in_zsh(self, line):
        """What the line is after the key that completes it."""
        script = self.script("zsh")
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.place)
            os.environ.update(HOME=self.place, TERM="dumb")
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, 9)
        show = (
            "show-line() { print -r -- \"<<$BUFFER>>\"; }; zle -N show-line; bindkey '^X' show-line"
        )
        setup = f"autoload -U compinit; compinit -u -D; source {script}; {show}; print rea''dy\n"
        os.write(terminal, setup.encode())
        self.wait_for(terminal, r"(?m)^ready")
        os.write(terminal, line.encode() + b"\t\x18")
        return self.wait_for(terminal, r"<<([^>]*)>>")[1]

    def wait_for(self, terminal, pattern):
        seen = ""
        end = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, seen)):
            self.assertLess(time.monotonic(), end, seen)
            if select.select([terminal], [], [], 1)[0]:
                seen += os.read(terminal, 65536).decode(errors="replace").replace("\r", "")
        return match

    def test_an_unknown_shell_is_refused_with_those_there_are(self):
        done = hearth("completion", "tcsh")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("{bash,zsh,fish}", done.stderr)


class Manual(unittest.TestCase):
    def test_every_command_and_option_of_the_help_is_in_the_page(self):
        page = hearth("man").stdout
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=200n"],
            input=page,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        sections = re.split(r"(?m)^   (?=hearth )", done.stdout.partition("\nCOMMANDS\n")[2])
        by_words = {section.split("\n")[0]: section for section in sections}
        for words, help_text in commands():
            if not words:
                continue
            with self.subTest(words):
                section = by_words[" ".join(("hearth",) + words)]
                for option in options_of(help_text) - {"-h", "--help"}:
                    self.assertRegex(section, rf"(?m)(^ +|, ){option}\b")
        self.assertIn("hearth completion [options] SHELL", done.stdout)


if __name__ == "__main__":
    unittest.main()
