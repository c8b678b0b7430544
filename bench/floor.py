"""The floor a turn is measured against: a warmed fork that gets a script through a pipe, compiles
and executes it, and answers with one byte. No isolation, no protocol, no clean-up.

Reads scripts on stdin, each a line with its length in bytes and then the bytes. An empty line forks
the next process, which answers `p` when it is warm. It serves scripts until the next empty line,
whose answer is `e`.
"""
import gc
import os


def serve():
    def execute(source):
        exec(compile(source, "script.py", "exec"), {"__name__": "__main__"})

    for _ in range(50):
        execute("x = 1")
    os.write(1, b"p")
    while True:
        head = os.read(0, 65536)
        length, _, source = head.partition(b"\n")
        if not length:
            os._exit(0)
        while len(source) < int(length):
            source += os.read(0, 65536)
        execute(source)
        os.write(1, b".")


def main():
    gc.collect()
    gc.freeze()
    while os.read(0, 1):
        child = os.fork()
        if child == 0:
            serve()
        os.waitpid(child, 0)
        os.write(1, b"e")


main()
