"""What sys.exit means: the exit code that a Python process would have."""

import sys

STRICT_NOTE = 'sys_exit = "error" in the blueprint makes every sys.exit() an error'


def exit_code_of(leaving):
    """Of an uncaught SystemExit."""
    code = leaving.code
    if code is None:
        return 0
    if not isinstance(code, int):
        return 1
    return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 0xFF


def print_text(leaving):
    """sys.exit("text") prints the text."""
    if leaving.code is not None and not isinstance(leaving.code, int):
        sys.stderr.write("%s\n" % (leaving.code,))


def message_of(leaving):
    if isinstance(leaving.code, str):
        return leaving.code
    return "sys.exit(%s) called" % ("" if leaving.code is None else repr(leaving.code))
