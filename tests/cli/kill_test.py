#!/usr/bin/env python3
"""kill -9 of hearth, its launcher, the zygote, init or a worker, at any moment and under load,
leaves nothing behind.

Arguments: the hearth program, how many processes to kill.
"""
import fcntl
import os
import random
import signal
import subprocess
import sys
import time

HEARTH, KILLS = os.path.abspath(sys.argv[1]), int(sys.argv[2])
AT_ONCE = 4
# Busy, forking, writing: something is going on wherever the kill hits.
SCRIPT = """
import os, time
for i in range(3):
    if os.fork() == 0:
        while True: open('/workspace/%d' % os.getpid(), 'w').write('x' * 1000)
time.sleep(1000)
"""


def children_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def tree_of(pid):
    found = [pid]
    for child in children_of(pid):
        found += tree_of(child)
    return found


def cgroups():
    """Those of dead processes: a live one, of another test, holds a lock on one of its
    directories."""
    found = {}
    for root, folders, _ in os.walk("/sys/fs/cgroup"):
        for name in folders:
            if name.startswith("hearth-"):
                found.setdefault(name, []).append(os.path.join(root, name))
    return [paths for paths in found.values() if not any(map(is_locked, paths))]


def is_locked(folder):
    try:
        fd = os.open(folder, os.O_RDONLY)
    except OSError:
        return True  # its owner has just removed it
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(fd)


def mounts():
    with open("/proc/self/mountinfo") as file:
        return sorted(file.read().splitlines())


def start():
    process = subprocess.Popen(
        [HEARTH, "run", "-q", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HEARTH_KILL_TEST": str(os.getpid())},
    )
    process.stdin.write(SCRIPT.encode())
    process.stdin.close()
    return process


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("after a minute: " + what())
        time.sleep(0.01)


def kill_one(process, chance):
    """Kills a random process of its tree at a random moment; returns all that were in the tree."""
    time.sleep(chance.choice((0, 0.01, 0.03, 0.06, 0.1, 0.15)) * chance.random() * 2)
    tree = tree_of(process.pid)
    victim = chance.choice(tree)
    tree += tree_of(process.pid)
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return set(tree)


def main():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    before, others = mounts(), cgroups()
    seen, killed = set(), 0
    while killed < KILLS:
        running = [start() for _ in range(AT_ONCE)]
        for process in running:
            seen |= kill_one(process, chance)
            killed += 1
        # A hearth that lost only a part of its tree ends with a verdict. The others are told to.
        for process in running:
            seen |= set(tree_of(process.pid))
            if chance.random() < 0.5:
                process.send_signal(signal.SIGINT)
            else:
                process.kill()
            process.wait(60)
    wait_until(
        lambda: not any(map(is_alive, seen)),
        lambda: "alive: %r" % [pid for pid in seen if is_alive(pid)],
    )
    # The next start removes the cgroups of dead processes.
    subprocess.run([HEARTH, "run", "-q", "-"], input=b"1", check=True, stdout=subprocess.DEVNULL)

    def left():
        return [paths for paths in cgroups() if paths not in others]

    wait_until(lambda: not left(), lambda: "cgroups: %r" % left())
    if mounts() != before:
        raise SystemExit("mounts differ: %r" % (set(mounts()) ^ set(before)))
    print("%d kills, %d processes seen, nothing left" % (killed, len(seen)))


main()
