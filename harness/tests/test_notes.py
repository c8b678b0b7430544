"""Notes on exceptions that the sandbox has caused."""

import os
import sys
import tempfile
import types
import unittest
from unittest import mock

from tests.fake_init import SharedHarness

LIMITS = {"memory_mb": 256, "pids_limit": 7, "scratch_size_mb": 5}
NO_NETWORK = "note: this sandbox has no network (network_policy.allowed_hosts is empty)"


class Notes(SharedHarness):
    def error_of(self, script, **settings):
        settings = dict({"limits": LIMITS, "network": False}, **settings)
        return self.run_script(script, **settings).only("error")

    def note_of(self, script, **settings):
        """What follows the exception in message and traceback alike, or nothing."""
        error = self.error_of(script, **settings)
        _, _, note = error["message"].rpartition("\n")
        if not note.startswith("note: "):
            self.assertNotIn("\nnote: ", error["traceback"])
            return ""
        self.assertTrue(error["traceback"].endswith("\n%s\n" % note), error["traceback"])
        return note

    def test_a_missing_module_says_which_python_this_is_and_how_to_get_the_package(self):
        note = self.note_of("import no_such_module.part")
        self.assertEqual(
            note,
            "note: this is Python %d.%d.%d (%s); " % (*sys.version_info[:3], sys.executable)
            + 'dependencies = ["no_such_module"] in the blueprint installs packages',
        )
        self.assertIn('["scikit-learn"]', self.note_of(_without("sklearn")))

    def test_a_missing_module_that_the_python_of_the_system_has_is_told(self):
        from executor_harness import notes

        with tempfile.TemporaryDirectory() as place:
            open(os.path.join(place, "theirs.py"), "w").close()
            told = "; /bin/sh has the module (--python /bin/sh); dependencies = "
            for system, module, is_told in (
                ("/bin/sh", "theirs", True),
                ("/bin/sh", "not_there", False),
                (sys.executable, "theirs", False),
                (place + "/python3", "theirs", False),
            ):
                error = ModuleNotFoundError("missing", name=module)
                with mock.patch.multiple(notes, SYSTEM_PACKAGES=[place], SYSTEM_PYTHON=system):
                    self.assertEqual(told in notes.note_for(error), is_told, (system, module))

    def test_a_missing_module_is_found_behind_another_exception(self):
        script = "try:\n    import no_such_module\nexcept ImportError%s"
        for rest in (": raise ValueError(1)", " as e: raise ValueError(1) from e"):
            self.assertIn('["no_such_module"]', self.note_of(script % rest), rest)
        self.assertEqual(self.note_of(script % ": raise ValueError(1) from None"), "")

    def test_a_missing_part_of_a_package_that_is_there_gets_no_note(self):
        self.assertEqual(self.note_of("import json.no_such_part"), "")
        self.assertEqual(self.note_of("raise ModuleNotFoundError('by hand')"), "")

    @unittest.skipIf(sys.version_info < (3, 10), "older ones do not know their own modules")
    def test_a_missing_module_of_python_itself_is_not_to_be_installed(self):
        note = self.note_of(_without("tkinter"))
        self.assertTrue(note.endswith("and it was built without this module"), note)

    def test_a_network_error_says_that_there_is_no_network(self):
        for script in (
            "import socket; raise socket.gaierror(socket.EAI_NONAME, 'unknown')",
            "import socket; raise socket.gaierror(socket.EAI_AGAIN, 'later')",
            "import errno; raise OSError(errno.ENETUNREACH, 'unreachable')",
            "import socket, urllib.error\n"
            "raise urllib.error.URLError(socket.gaierror(socket.EAI_NONAME, 'unknown'))",
            "try:\n    raise OSError(101, 'unreachable')\nexcept OSError:\n    raise ValueError(1)",
        ):
            self.assertEqual(self.note_of(script), NO_NETWORK, script)
            self.assertEqual(self.note_of(script, network=True), "", script)

    def test_errors_that_are_not_the_networks_get_no_note(self):
        for script in (
            "import errno; raise OSError(errno.ECONNREFUSED, 'refused')",
            "import socket; raise socket.gaierror(socket.EAI_FAMILY, 'family')",
            "raise ValueError('Name or service not known')",
        ):
            self.assertEqual(self.note_of(script), "", script)

    def test_a_refused_process_or_thread_names_the_limit(self):
        note = "note: a sandbox may have 7 processes and threads (resource_limits.pids_limit)"
        refused = (
            "import functools, os\nr, w = os.pipe()\nos.set_blocking(r, False)\n"
            "os.fork = functools.partial(os.read, r, 1)\n"
            "def start(): os.fork()\nstart()"
        )
        for script in ('raise RuntimeError("can\'t start new thread")', refused):
            self.assertEqual(self.note_of(script), note, script)

    def test_what_does_not_block_gets_no_note(self):
        script = "import os\nr, w = os.pipe()\nos.set_blocking(r, False)\nos.read(r, 1)"
        self.assertEqual(self.note_of(script), "")

    def test_a_full_workspace_names_its_size(self):
        note = self.note_of("raise OSError(28, 'No space left on device')")
        self.assertIn("/workspace holds 5 MB (scratch_size_mb)", note)

    def test_the_place_that_is_full_is_named_and_whether_it_has_bytes_or_files_left(self):
        from executor_harness import notes

        def room(blocks_left, files_left):
            sizes = {"f_blocks": 2048, "f_frsize": 1024, "f_files": 100}
            return types.SimpleNamespace(f_bavail=blocks_left, f_ffree=files_left, **sizes)

        empty, full = room(2048, 100), room(0, 50)
        workspace = "/workspace holds 2 MB (scratch_size_mb)"
        for workspace_room, tmp_room, shared_room, note in (
            (full, empty, empty, workspace),
            (empty, full, empty, "/tmp holds 2 MB; " + workspace),
            (empty, empty, full, "/dev/shm holds 2 MB; " + workspace),
            (empty, empty, empty, workspace),
            (
                room(2000, 0),
                empty,
                empty,
                "/workspace holds 100 files and directories in 2 MB (scratch_size_mb)",
            ),
        ):
            rooms = dict(zip(notes.PLACES_IN_MEMORY, (workspace_room, tmp_room, shared_room)))
            with mock.patch.object(notes.os, "statvfs", rooms.get), mock.patch.object(
                notes.sandbox, "limits", {"scratch_size_mb": 2}
            ):
                self.assertEqual(notes.note_for(OSError(28, "No space left on device")), note)

    def test_too_many_open_files_name_the_limit(self):
        note = self.note_of(
            "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))\n"
            "files = [open('/dev/null') for _ in range(30)]"
        )
        self.assertIn("note: a process may have 20 files open at once", note)

    def test_a_file_that_is_too_large_names_the_limit(self):
        note = self.note_of(
            "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (5 << 20, 5 << 20))\n"
            "with open('f', 'wb') as f:\n    f.truncate(6 << 20)"
        )
        self.assertIn("note: a file may have 5 MB", note)

    def test_want_of_memory_names_the_limit(self):
        note = "note: a sandbox may use 256 MB of memory (resource_limits.memory_mb)"
        self.assertEqual(self.note_of("x = bytearray(1 << 60)"), note)

    def test_without_inits_word_nothing_is_said(self):
        for script in ("x = bytearray(1 << 60)", "raise OSError(28, 'no space')"):
            self.assertEqual(self.note_of(script, limits={}), "", script)

    def test_a_circular_chain_and_strange_attributes_do_no_harm(self):
        self.assertEqual(
            self.note_of(
                "class E(OSError):\n    errno = property(lambda self: 1 / 0)\n"
                "a, b = E(), ValueError()\na.reason = a\na.__context__ = b\nb.__context__ = a\n"
                "raise b"
            ),
            "",
        )


def _without(module):
    return "import sys\nsys.meta_path.clear()\nsys.modules.pop('%s', None)\nimport %s" % (
        (module,) * 2
    )
