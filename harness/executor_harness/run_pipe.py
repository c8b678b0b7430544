"""Reads the requests that init sends to a worker."""

import os

from .kernel import PIPE_BYTES, RUN_FD


class RunPipe:
    """Requests, one after the other. What is read already survives an exception."""

    def __init__(self):
        self.data = bytearray()

    def next_request(self):
        """Mark, mode, time limit, settings and script; None when init has closed its end."""
        while b"\n" not in self.data:
            if not self._read_more():
                return None
            self.data = self.data.lstrip(b"\n")
        head, _, _ = self.data.partition(b"\n")
        mode, timeout_seconds, mark, settings_bytes, script_bytes = head.split()
        settings_start = len(head) + 1
        script_start = settings_start + int(settings_bytes)
        end = script_start + int(script_bytes)
        while len(self.data) < end:
            if not self._read_more():
                return None
        data, self.data = self.data, self.data[end:].lstrip(b"\n")
        settings, script = data[settings_start:script_start], data[script_start:end]
        return bytes(mark), mode, float(timeout_seconds), settings, script

    def _read_more(self):
        chunk = os.read(RUN_FD, PIPE_BYTES)
        self.data += chunk
        return chunk
