// session/turn_tree_scripts.h: what runs in a sandbox to bring its workspace out and in.
// Python 3.8.
#pragma once

namespace hearth::session {

// main(top, skip, offset, limit) prints entries from the one numbered `skip` on: "E" and JSON, then
// the bytes of a file in lines of "D" and Base64, from `offset` for the first one. The last line is
// "Z", or "N entry offset" where the next call goes on, after about `limit` bytes.
inline constexpr const char* read_tree_script = R"PYTHON(
import base64, json, os, stat, sys

PIECE = 192 << 10


def text(data):
    return base64.b64encode(data).decode("ascii")


def readable(path, info, wanted):
    # Its owner may have closed it for itself.
    if info.st_mode & wanted == wanted:
        return False
    os.chmod(path, stat.S_IMODE(info.st_mode) | wanted)
    return True


def names_in(path, info):
    changed = readable(path, info, 0o500)
    try:
        return sorted(os.listdir(path))
    finally:
        if changed:
            os.chmod(path, stat.S_IMODE(info.st_mode))


def walk(top):
    waiting = [(top, name) for name in reversed(names_in(top, os.lstat(top)))]
    while waiting:
        folder, name = waiting.pop()
        path = folder + b"/" + name
        info = os.lstat(path)
        yield path, info
        if stat.S_ISDIR(info.st_mode):
            waiting.extend((path, inner) for inner in reversed(names_in(path, info)))


def entry_of(top, path, info):
    entry = {"path": text(path[len(top) + 1 :]), "mode": stat.S_IMODE(info.st_mode) & 0o777}
    entry["mtime"] = info.st_mtime_ns
    if stat.S_ISREG(info.st_mode):
        entry.update(type="file", size=info.st_size)
    elif stat.S_ISDIR(info.st_mode):
        entry["type"] = "directory"
    elif stat.S_ISLNK(info.st_mode):
        entry.update(type="symlink", target=text(os.readlink(path)))
    else:
        entry["type"] = "other"
    return entry


def main(top, skip, offset, limit):
    write = sys.stdout.write
    done = 0
    for number, (path, info) in enumerate(walk(top)):
        if number < skip:
            continue
        if done >= limit:
            write("N %d 0\n" % number)
            return
        at = offset if number == skip else 0
        if at == 0:
            write("E %s\n" % json.dumps(entry_of(top, path, info)))
            done += 300 + len(path)
        if not stat.S_ISREG(info.st_mode) or info.st_size == 0:
            continue
        changed = readable(path, info, 0o400)
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            while at < info.st_size:
                piece = os.pread(file, min(PIECE, info.st_size - at), at)
                if not piece:
                    raise RuntimeError("a file became shorter while it was read")
                write("D %s\n" % text(piece))
                at += len(piece)
                done += len(piece)
                if done >= limit and at < info.st_size:
                    write("N %d %d\n" % (number, at))
                    return
        finally:
            os.close(file)
            if changed:
                os.chmod(path, stat.S_IMODE(info.st_mode))
    write("Z\n")
)PYTHON";

// main(top, operations) does each of them: d(irectory), l(ink), f(ile) or a(ppend), b(ytes), e(nd
// of a file), m(ode and time of a directory).
inline constexpr const char* write_tree_script = R"PYTHON(
import base64, json, os


def main(top, operations):
    file = None
    for operation in json.loads(operations):
        kind = operation["k"]
        if kind == "b":
            file.write(base64.b64decode(operation["b"]))
            continue
        path = os.fsencode(top) + b"/" + base64.b64decode(operation["p"])
        times = (operation["t"], operation["t"])
        if kind == "d":
            os.mkdir(path, 0o700)
        elif kind == "l":
            os.symlink(base64.b64decode(operation["l"]), path)
            os.utime(path, ns=times, follow_symlinks=False)
        elif kind in "fa":
            file = open(path, "xb" if kind == "f" else "ab")
        elif kind == "e":
            file.close()
            os.chmod(path, operation["m"])
            os.utime(path, ns=times)
            file = None
        elif kind == "m":
            os.chmod(path, operation["m"])
            os.utime(path, ns=times)
    if file is not None:
        file.close()
)PYTHON";

}  // namespace hearth::session
