"""Gives each worker random numbers of its own from numpy, whose state forks would share."""

import os
import sys

from .kernel import ctypes


class NumpySeed:
    """The state of numpy.random.

    Its seed() takes a millisecond in a new process. Any 624 words are a valid state. So random
    words are written where numpy keeps the state, if find() has verified that place.
    """

    def __init__(self):
        self.address, self.size_bytes = None, 0

    def find(self):
        try:
            random = sys.modules["numpy.random"]
            address = random.mtrand._rand._bit_generator.ctypes.state_address
            random.seed()  # drops the second half of a pair of normal numbers
            words = random.get_state()[1].tobytes()
            if ctypes.string_at(address, len(words)) == words:
                self.address, self.size_bytes = address, len(words)
        except Exception:
            pass  # not loaded, without ctypes, or another generator

    def renew(self):
        if "numpy.random" not in sys.modules:
            return
        if self.address is None:
            sys.modules["numpy.random"].seed()
        else:
            ctypes.memmove(self.address, os.urandom(self.size_bytes), self.size_bytes)


numpy_seed = NumpySeed()
