#!/usr/bin/env python3
"""An installation works, also where it was moved to, and others can build on it.

Arguments: the build directory, cmake, the compiler.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

BUILD, CMAKE, COMPILER = sys.argv[1:]
CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer")
PATIENCE_SECONDS = 200
# No configuration of a user, and no programs but those of the prefix.
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("HEARTH_")}


def run(*command, cwd, env=PLAIN, script=None, code=0):
    done = subprocess.run(
        command,
        input=script,
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        timeout=PATIENCE_SECONDS,
    )
    if done.returncode != code:
        raise SystemExit(
            "%s ended with %d:\n%s%s"
            % (" ".join(command), done.returncode, done.stdout, done.stderr)
        )
    return done


def expect(found, wanted):
    if found != wanted:
        raise SystemExit("expected %r, got %r" % (wanted, found))


class kept:
    """CMake writes a list of what it installed into the build directory. The list of a real
    installation is kept."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.content = open(self.path).read() if os.path.exists(self.path) else None

    def __exit__(self, *_):
        if self.content is not None:
            with open(self.path, "w") as file:
                file.write(self.content)
        elif os.path.exists(self.path):
            os.remove(self.path)


def check_headers(folder):
    """What an installed header includes is installed, too."""
    headers = glob.glob(folder + "/*/*.h")
    for header in headers:
        with open(header) as file:
            for name in re.findall(r'^#include "(.+)"', file.read(), re.M):
                if os.path.join(folder, name) not in headers:
                    raise SystemExit("%s includes %s, which is not installed" % (header, name))
    if os.path.join(folder, "runtime/runtime.h") not in headers:
        raise SystemExit("no runtime/runtime.h in " + folder)
    # How sandboxes are made is Hearth's own matter.
    for module in ("native", "docker", "builder", "init", "cli"):
        if os.path.exists(os.path.join(folder, module)):
            raise SystemExit("headers of %s are installed" % module)


def check_words(prefix):
    for name in (
        "man/man1/hearth.1",
        "bash-completion/completions/hearth",
        "zsh/site-functions/_hearth",
        "fish/vendor_completions.d/hearth.fish",
    ):
        with open(prefix + "/share/" + name) as file:
            if "allow" not in file.read():
                raise SystemExit(name + " does not know --allow-degraded")


def check_hearth(prefix, cwd):
    env = {**PLAIN, "HEARTH_STATE_DIR": cwd + "/state"}
    done = run(prefix + "/bin/hearth", "run", "-q", "-", cwd=cwd, env=env, script="print(6 * 7)")
    expect((done.stdout, done.stderr), ("42\n", ""))


def build_consumer(prefix, cwd):
    options = ["-DCMAKE_CXX_COMPILER=" + COMPILER, "-DCMAKE_PREFIX_PATH=" + prefix]
    run(CMAKE, "-S", CONSUMER, "-B", "consumer", "-G", "Ninja", *options, cwd=cwd)
    run(CMAKE, "--build", "consumer", cwd=cwd)
    return cwd + "/consumer/consumer"


def check_consumer(consumer, cwd, env=PLAIN):
    expect(
        run(consumer, cwd + "/state", cwd=cwd, env=env).stdout, "hello from /workspace\nok: 42\n"
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        first, second, third = (folder + name for name in ("/first", "/second", "/third"))
        with kept(BUILD + "/install_manifest.txt"):
            run(CMAKE, "--install", BUILD, "--prefix", first, cwd=folder)
        check_headers(first + "/include/hearth")
        check_words(first)
        check_hearth(first, folder)
        os.rename(first, second)
        check_hearth(second, folder)

        consumer = build_consumer(second, folder)
        check_consumer(consumer, folder)
        # Away from the place that was compiled in, it says what is missing until it gets the new
        # place.
        os.rename(second, third)
        missing = run(consumer, folder + "/state", cwd=folder, code=1).stderr
        expect(
            missing.split(" (")[0],
            "consumer: hearth-launcher is missing: it is not in %s/libexec/hearth" % second,
        )
        check_consumer(consumer, folder, {**PLAIN, "HEARTH_LIBEXEC": third + "/libexec/hearth"})


main()
