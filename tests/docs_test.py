#!/usr/bin/env python3
"""The documents name only files that exist, and list every promise that a test name refers to."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A path in backticks: folders and a file with an ending, or a folder of the tree.
TOP_FOLDERS = "src|docs|tests|harness|scripts|bench|examples|cmake"
NAMED_PATH = re.compile(rf"`((?:{TOP_FOLDERS})/[\w./-]*)`")
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")
TEST_FILE = re.compile(r"`(\w+_test\.(?:cpp|py))`")
PROMISES = re.compile(r"(?:\"|/| )([ABCHP]\d+)(?=: )")
UNSEARCHABLE = re.compile(r"\"(?:[ABCHP]\d+ )+[ABCHP]\d+: ")
COMMENTED = re.compile(r"^\s*(?://|#).*$", re.M)
HEADING = re.compile(r"^#+ (.*)$", re.M)
# Processes and callers are "it" or "they" (CONTRIBUTING.md). A name in backticks is one of a user.
PERSONS = re.compile(r"\b(?:who|whom|whoever|somebody|someone|nobody)\b", re.I)
COMMENT = re.compile(r"(?:^|\s)(?://|#) (.*)")


def tracked(*patterns):
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command + list(patterns), capture_output=True, text=True, check=True)
    return [ROOT / name for name in names.stdout.splitlines() if (ROOT / name).is_file()]


def anchors_of(page):
    """Anchors of headings, as GitHub makes them."""
    for heading in HEADING.findall(page.read_text()):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def prose_of(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        comment = COMMENT.search(line)
        if file.suffix == ".md":
            yield number, re.sub(r"`[^`]*`", "", line)
        elif comment:
            yield number, re.sub(r"`[^`]*`", "", comment[1])


class Documents(unittest.TestCase):
    def test_every_path_in_backticks_exists(self):
        for page in tracked("*.md"):
            for path in NAMED_PATH.findall(page.read_text()):
                with self.subTest(page=page.name, path=path):
                    self.assertTrue((ROOT / path).exists())

    def test_every_link_leads_to_a_file_and_a_heading(self):
        for page in tracked("*.md"):
            for target, anchor in LINK.findall(page.read_text()):
                if "://" in target:
                    continue
                with self.subTest(page=page.name, target=target + anchor):
                    file = (page.parent / target).resolve()
                    self.assertTrue(file.exists())
                    if anchor:
                        self.assertIn(anchor[1:], list(anchors_of(file)))

    def test_every_test_file_that_a_page_names_exists(self):
        names = {path.name for path in tracked("*_test.cpp", "*_test.py")}
        for page in tracked("*.md"):
            for name in TEST_FILE.findall(page.read_text()):
                with self.subTest(page=page.name, name=name):
                    self.assertIn(name, names)

    def test_prose_and_comments_name_processes_and_callers_as_things(self):
        for file in tracked("*.md", "*.cpp", "*.h", "*.py", "*.toml", "*.txt", "scripts/*"):
            for number, text in prose_of(file):
                with self.subTest(file=file.name, line=number):
                    self.assertNotRegex(text, PERSONS)

    def test_promises_lists_every_row_that_a_test_names_and_no_other(self):
        listed = set(
            re.findall(r"^\| ([ABCHP]\d+) \|", (ROOT / "docs/promises.md").read_text(), re.M)
        )
        self.assertGreater(len(listed), 100)
        named = set()
        for file in tracked("*_test.cpp", "*/CMakeLists.txt"):
            text = COMMENTED.sub("", file.read_text())
            named.update(PROMISES.findall(text))
            with self.subTest(file=file.name):
                self.assertNotRegex(text, UNSEARCHABLE)  # `grep "P11:"` would not find it
        self.assertEqual((listed - named, named - listed), (set(), set()))


if __name__ == "__main__":
    unittest.main()
