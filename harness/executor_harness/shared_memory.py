"""Refuses memory that forks would share: one worker could read what another one wrote."""

import os


class SharedMemory:
    def __init__(self):
        self.harmless = set()

    def refuse(self):
        for mapping in self._new_mappings():
            address, permissions, *_ = mapping.split(None, 5)
            if permissions[1:2] == b"w" or self._can_become_writable(address):
                raise RuntimeError(
                    "shared writable memory is left (%s): every script would see what the others "
                    "write there; make it in the function that needs it, not while loading"
                    % os.fsdecode(b" ".join(mapping.split()))
                )
            self.harmless.add(mapping)

    def _new_mappings(self):
        with open("/proc/self/maps", "rb") as file:
            shared = [line for line in file if line.split(None, 2)[1].endswith(b"s")]
        return [line for line in shared if line not in self.harmless]

    @staticmethod
    def _can_become_writable(address):
        """By mprotect. Not memory that was mapped from a file that was open for reading only."""
        with open("/proc/self/smaps", "rb") as file:
            for line in file:
                if line.startswith(address + b" "):
                    flags = next((line for line in file if line.startswith(b"VmFlags:")), b"")
                    return {b"sh", b"mw"} <= set(flags.split())
        return False


shared_memory = SharedMemory()
