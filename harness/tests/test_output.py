"""stdout and stderr: order, encoding, and that nothing printed is taken for the protocol."""

from tests.fake_init import SharedHarness

COMPLETED = {"type": "end", "outcome": "completed"}


class Output(SharedHarness):
    def test_H23_what_looks_like_an_event_is_only_output(self):
        forged = '0 0 {"type":"final_result","data":1}'
        turn = self.run_script("import os\nprint(%r)\nos.write(1, b'raw\\n')" % forged)
        self.assertEqual(turn.stdout, forged + "\nraw\n")
        self.assertEqual([event["type"] for event in turn.events], ["display", "end"])

    def test_H23_the_order_of_stdout_stderr_and_events_can_be_told(self):
        turn = self.run_script(
            "import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c'); print('d')\n"
            "emit_log('e')\n"
            "print('f', file=sys.stderr)\nprint('g')\nNone"
        )
        log = {"type": "log", "level": "info", "message": "e"}
        self.assertEqual(
            turn.sequence(),
            [
                ("out", "a\n"),
                ("err", "b\n"),
                ("out", "c\nd\n"),
                log,
                ("err", "f\n"),
                ("out", "g\n"),
                COMPLETED,
            ],
        )

    def test_marks_are_sent_only_where_the_stream_changes(self):
        turn = self.run_script(
            "for i in range(100): print(i)\nemit_log('x')\nfor i in range(100): print(i)"
        )
        self.assertEqual([record for record in turn.records if record.event is None], [])

    def test_totals_continue_over_the_steps_of_a_worker(self):
        with self.harness.worker() as worker:
            self.assertEqual(worker.step("print('abc')").records[-1].out, 4)
            self.assertEqual(worker.step("print('abc')").records[-1].out, 8)

    def test_an_unfinished_line_precedes_the_event_that_follows_it(self):
        turn = self.run_script("print('no newline', end='')\nemit_log('x')\nprint('tail', end='')")
        self.assertEqual(
            [item for item in turn.sequence() if isinstance(item, tuple)],
            [("out", "no newline"), ("out", "tail")],
        )
        self.assertEqual((turn.records[0].out, turn.records[0].event["type"]), (10, "log"))

    def test_lines_arrive_while_the_script_runs(self):
        with self.harness.worker() as worker:
            worker.ask("print('early')\nimport signal; signal.pause()")
            worker.collect(lambda: worker.data[worker.stdout] == b"early\n")

    def test_bytes_through_the_buffer_keep_their_order(self):
        turn = self.run_script(
            "import sys\nprint('a')\nsys.stdout.buffer.write(b'b\\n')\nsys.stdout.buffer.flush()\n"
            "n = sys.stdout.buffer.write(memoryview(bytearray(b'c\\n')))\n"
            "sys.stdout.write('d\\n')\nprint(n)\nNone"
        )
        self.assertEqual(turn.stdout, "a\nb\nc\nd\n2\n")
        self.assertEqual(turn.records[-1].out, 10)

    def test_the_streams_look_like_files(self):
        turn = self.run_script(
            "import sys\nfor s in (sys.stdout, sys.stderr):\n"
            "    print(s.fileno(), s.isatty(), s.name, s.encoding, s.errors, "
            "s.writable(), s.readable(), s.mode, s.line_buffering)\n"
            "print(sys.__stdout__ is sys.stdout, sys.__stderr__ is sys.stderr)"
        )
        line = "%d False %s utf-8 backslashreplace True False w True\n"
        self.assertEqual(
            turn.stdout, line % (1, "<stdout>") + line % (2, "<stderr>") + "True True\n"
        )

    def test_lone_surrogates_print_as_escapes(self):
        self.assertEqual(self.run_script(r"print('a\ud800b h\u00e9')").stdout, "a\\ud800b h\xe9\n")

    def test_output_larger_than_a_pipe_arrives_whole(self):
        turn = self.run_script(
            "print('x' * 3000000)\nimport sys; sys.stderr.write('y' * 200000)\nNone"
        )
        self.assertEqual((len(turn.stdout), len(turn.stderr)), (3000001, 200000))
        self.assertEqual((turn.records[-1].out, turn.records[-1].err), (3000001, 200000))

    def test_a_broken_pipe_is_an_error_like_in_any_python(self):
        with self.harness.worker() as worker:
            import os

            os.close(worker.stdout)
            del worker.data[worker.stdout]
            worker.ask("try:\n    print('x')\nexcept BrokenPipeError:\n    emit_result('broken')")
            worker.collect(lambda: b'"end"' in worker.data[worker.emit])
            self.assertIn(b'"broken"', worker.data[worker.emit])

    def test_closing_stdout_hurts_only_prints(self):
        turn = self.run_script(
            "import sys\nprint('a')\nsys.stdout.close()\nemit_log('b')\nprint('c')"
        )
        self.assertEqual(
            (turn.stdout, turn.only("log")["message"], turn.outcome), ("a\n", "b", "failed")
        )
        self.assertEqual(turn.only("error")["name"], "ValueError")

    def test_a_stream_the_script_wraps_itself_is_flushed_before_events(self):
        turn = self.run_script(
            "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'utf-8')\n"
            "print('a')\nemit_log('b')\nprint('c')"
        )
        self.assertEqual((turn.stdout, turn.records[0].out), ("a\nc\n", 2))

    def test_redirecting_stdout_works(self):
        turn = self.run_script(
            "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as s:\n"
            "    print('inside')\nprint(len(s.getvalue()))"
        )
        self.assertEqual(turn.stdout, "7\n")

    def test_writing_text_to_the_buffer_is_a_type_error(self):
        self.assertEqual(
            self.run_script("import sys; sys.stdout.buffer.write('x')").only("error")["name"],
            "TypeError",
        )

    def test_a_script_that_closes_every_descriptor_cannot_hang_the_worker(self):
        turn = self.run_script("import os\nos.closerange(0, 64)\nprint('x')")
        self.assertEqual((turn.status, turn.events), (0, []))
