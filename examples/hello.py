"""What `make run` runs: a script as a language model would write it, in a fresh sandbox."""
import platform
import sys

print(f"Hello from Python {platform.python_version()} on {platform.node()}")
print("this goes to stderr", file=sys.stderr)
emit_intermediate("progress", {"done": 1, "of": 2})
squares = [n * n for n in range(10)]
emit_result({"squares": squares, "sum": sum(squares)})
