"""What the tests of `hearth run` share. The last argument of the command line is the program."""
import os
import subprocess
import sys
import tempfile
import unittest

HEARTH = os.path.abspath(sys.argv.pop())
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_SECONDS = 60


class RunCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        # A mounted file keeps its permissions, and a sandbox has a user of its own.
        os.chmod(self.folder.name, 0o755)

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def run_hearth(self, *arguments, script=""):
        return subprocess.run(
            [HEARTH, "run", *arguments],
            input=script,
            cwd=self.folder.name,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=PATIENCE_SECONDS,
        )
