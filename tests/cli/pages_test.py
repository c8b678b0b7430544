#!/usr/bin/env python3
"""The commands that README and docs show do what stands below them. Argument: the hearth program.

Pages with a test of their own: tools.md (run_test.py), from-python.md (run_json_test.py),
containers.md (docker_test.py).
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HEARTH = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATIENCE_SECONDS = 240
# What the first commands of README take for granted.
FILES = {
    "data/rows.csv": "a,b\n1,2\n",
    "data.csv": "1\n",
    "plot.py": "open('plot.txt', 'w').write(open('data.csv').read())\n",
    "analyse.py": "print(open('/data/rows.csv').read())\n",
    "clean.sh": "echo clean\n",
    "chart.js": "console.log('chart')\n",
    "a.py": "print('a')\n",
}
MARK = "== exit code "


def sessions_in(page):
    """What is typed and shown in one terminal after the other: commands, each with the lines below
    it, or None where a page leaves them out. An empty line ends a part that shows all of them."""
    for block in re.findall(r"^```console\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S):
        steps = []
        for part in re.split(r"\n+(?=\$ )(?<=\n\n)", block):
            pieces = [piece.splitlines() for piece in re.split(r"^\$ ", part, flags=re.M)[1:]]
            shows_all = any(len(lines) > 1 for lines in pieces)
            steps += [(lines[0], without_end(lines[1:]) if shows_all else None) for lines in pieces]
        yield steps


def without_end(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


ADVICE = re.compile(r"^(For this load|The machine is the limit): .*\Z", re.M | re.S)


def comparable(line):
    """Figures are those of the machine."""
    line = re.sub(r"\d[\d.]*( ?(ms|us|s|MB)\b)?", "N", line)
    return re.sub(r" +", " ", line.replace("(degraded: memory, pids, cpu)", "")).strip()


class Pages(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        for name, text in FILES.items():
            path = pathlib.Path(self.place, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        os.chmod(self.place, 0o755)

    def typed(self, commands):
        """Exit code and output of each, typed into one shell."""
        script = "".join(f'{command}\necho "{MARK}$?"\n' for command in commands)
        beside = os.path.dirname(HEARTH)
        env = {"PATH": f"{beside}:{os.environ['PATH']}", "HOME": self.place}
        done = subprocess.run(
            ["bash", "-c", script.replace("build/bin/hearth", "hearth")],
            cwd=self.place,
            env={**env, "HEARTH_STATE_DIR": self.place + "/state"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        pieces = re.split(f"^{MARK}(\\d+)\n", done.stdout, flags=re.M)
        return list(zip(map(int, pieces[1::2]), pieces[0::2]))

    def check(self, page, left_out=()):
        for steps in sessions_in(page):
            steps = [step for step in steps if not any(word in step[0] for word in left_out)]
            for (command, shown), (code, output) in zip(
                steps, self.typed([command for command, _ in steps])
            ):
                with self.subTest(page=page, command=command):
                    self.assertEqual(code, 0, output)
                    if shown is not None:
                        # What the bench advises depends on how busy the machine is.
                        lines = ADVICE.sub("advice", output).splitlines()
                        wanted = ADVICE.sub("advice", "\n".join(shown)).splitlines()
                        self.assertEqual(
                            [comparable(line) for line in without_end(lines)],
                            [comparable(line) for line in wanted],
                        )

    def test_the_commands_of_the_readme_do_what_it_shows(self):
        self.check("README.md", left_out=["--backend docker"])  # as docker_test.py does

    def test_the_commands_of_the_page_about_sessions_do_what_it_shows(self):
        self.check("docs/sessions.md")

    def test_the_commands_of_the_page_about_commands_do_what_it_shows(self):
        self.check("docs/commands.md")


if __name__ == "__main__":
    unittest.main()
