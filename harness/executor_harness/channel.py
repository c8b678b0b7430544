"""What a worker tells init: stdout, stderr, and records that know their place between the two."""

import io
import os
import sys

from .cpython import threading
from .interrupts import unbroken, unless_thrown
from .kernel import EMIT_FD, PIPE_BYTES, STDIN_FD, STDOUT_FD


class Channel:
    """Bytes on descriptors 1 and 2, and records on 3 with the position of each in those bytes.

    After every record at most one of the two streams has written. Before the other one writes, a
    line with only the totals is sent. Lock order: text streams are flushed before the lock is
    taken, never under it.
    """

    def __init__(self):
        self.records = None  # a buffer for the emit pipe; None where no records may be sent
        self.accepting = False  # false between the end of one step and the start of the next
        self.mark = b""  # of the running turn; init drops records without it
        self.reset()

    def reset(self):
        self.lock = threading.RLock()
        self.totals = [0, 0]
        self.last = None  # the stream that has written since the last record

    def open(self):
        """For the next script, which accepts records from its beginning."""
        self.records = self._buffer(PIPE_BYTES)
        self.accepting = False

    def begin(self, mark):
        """The turn with this mark starts."""
        self.mark = mark
        self.accepting = True

    def is_as_new(self):
        """Whether it is open and unused. Tools may have used it in the zygote, or in a handler
        after the fork."""
        return self.records is not None and self.last is None and self.totals == [0, 0]

    def abandon(self):
        """For a process that the script forked: it can print, but its records would tear those of
        the script."""
        self.lock = threading.RLock()
        self.records = None

    @staticmethod
    def _buffer(size_bytes):
        return io.BufferedWriter(io.FileIO(EMIT_FD, "wb", closefd=False), size_bytes)

    @unbroken  # an exception would lose count of what is written already
    def write(self, stream, data):
        """Writes all of `data` to stdout (0) or stderr (1), counted."""
        with self.lock:
            if self.last is not None and self.last != stream:
                self._put_totals()
            self.last = stream
            count = os.write(STDOUT_FD + stream, data)
            self.totals[stream] += count
            rest = memoryview(data).cast("B")[count:]
            while rest:
                count = os.write(STDOUT_FD + stream, rest)
                self.totals[stream] += count
                rest = rest[count:]

    def _put_totals(self):
        try:
            if self.records is not None:
                self._put(b"%d %d\n" % tuple(self.totals))
        except OSError as error:
            unless_thrown(error)  # the script closed the emit pipe; its prints must not suffer

    def _put(self, line):
        # The whole line goes into a C buffer first. If an exception ends the flush half way (a
        # signal handler of the script), the rest stays there and precedes the next record.
        if len(line) >= PIPE_BYTES:
            self.records.flush()
            self.records = self._buffer(
                len(line) + 1
            )  # 3.13 buffers only what is smaller than that
        self.records.write(line)
        self.records.flush()
        if len(line) >= PIPE_BYTES:
            self.records = self._buffer(PIPE_BYTES)

    def send(self, payload, last_of_turn=False):
        flush_streams()
        self._record(payload, last_of_turn)

    @unbroken
    def _record(self, payload, last_of_turn):
        with self.lock:
            if not self.accepting or self.records is None:
                return
            self._put(b"%d %d %b %b\n" % (self.totals[0], self.totals[1], self.mark, payload))
            self.last = None
            self.accepting = not last_of_turn


class StreamBuffer(io.BufferedIOBase):
    """sys.stdout.buffer: unbuffered, as a buffer repeats its bytes when a write is interrupted."""

    def __init__(self, stream, name):
        self.stream = stream
        self.name = name
        self.mode = "wb"

    def write(self, data):
        if self.closed:
            raise ValueError("write to closed file")
        if isinstance(data, str):
            raise TypeError("a bytes-like object is required, not 'str'")
        channel.write(self.stream, data)
        return len(data) if isinstance(data, bytes) else memoryview(data).nbytes

    def writable(self):
        return True

    def fileno(self):
        return STDOUT_FD + self.stream

    @property
    def raw(self):
        return self


def _text_stream(stream, name):
    buffer = StreamBuffer(stream, name)
    text = io.TextIOWrapper(
        buffer, encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
    text.mode = "w"
    return text


channel = Channel()
out, err = _text_stream(0, "<stdout>"), _text_stream(1, "<stderr>")


def install_streams():
    """Before the tools load, so that a stream that a tool keeps is the one every worker uses."""
    sys.stdin = sys.__stdin__ = io.open(STDIN_FD, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = out
    sys.stderr = sys.__stderr__ = err


def flush_streams():
    replaced = (sys.stdout, sys.stderr) if sys.stdout is not out or sys.stderr is not err else ()
    for stream in (out, err, *replaced):
        try:
            stream.flush()
        except Exception as error:  # closed, broken, or an object that the script put in its place
            unless_thrown(error)
