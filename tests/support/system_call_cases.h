// tests/support/system_call_cases.h: scripts that try the rules of the seccomp filter from inside,
// each with a use that is allowed and one that is not, for every backend.
#pragma once

#include <string>

namespace hearth::test {

// `call(number, ...)`: the name of the error, or "ok". The numbers are those of x86-64.
inline const std::string call_directly = R"py(
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def value_of(number, *arguments):
    ctypes.set_errno(0)
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return libc.syscall(ctypes.c_long(number), *wide)
def call(number, *arguments):
    return 'ok' if value_of(number, *arguments) >= 0 else errno.errorcode[ctypes.get_errno()]
def tried(what):
    try:
        what()
        return 'ok'
    except OSError as error:
        return errno.errorcode[error.errno]
)py";

struct SystemCallCase {
  std::string script;  // after call_directly
  std::string printed;
};

inline const SystemCallCase settings_of_processes{R"py(
import resource
attr = (ctypes.c_uint32 * 12)(48, 0, 0, 0, 19)  # nice
def state_of_init():
    return (os.getpriority(os.PRIO_PROCESS, 1), os.sched_getscheduler(1), os.sched_getaffinity(1),
            [resource.prlimit(1, kind) for kind in range(16)])
before = state_of_init()
mask, limit = (ctypes.c_ulong * 16)(3), (ctypes.c_ulong * 2)(512, 512)
def calls(pid):
    return [(141, 0, pid, 19), (251, 1, pid, 3 << 13), (203, pid, 128, mask), (142, pid, ctypes.byref(ctypes.c_int(0))),
            (144, pid, 0, ctypes.byref(ctypes.c_int(0))), (314, pid, attr, 0), (302, pid, 7, limit, 0)]
print(*[call(*one) for one in calls(0)])
for pid in (1, os.getpid(), os.getppid(), 4000000, -1, 1 << 32 | 1):
    print({call(*one) for one in calls(pid)})
PGRP, USER, IO_PGRP, IO_USER = 1, 2, 2, 3
print({call(141, which | high, 0, 19) for which in (PGRP, USER) for high in (0, 1 << 32)},
      {call(251, which | high, 0, 3 << 13) for which in (IO_PGRP, IO_USER) for high in (0, 1 << 32)})
print(state_of_init() == before, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
)py",
                                                  "ok ok ok ok ok ok ok\n"
                                                  "{'EPERM'}\n{'EPERM'}\n{'EPERM'}\n"
                                                  "{'EPERM'}\n{'EPERM'}\n{'EPERM'}\n"
                                                  "{'EPERM'} {'EPERM'}\n"
                                                  "True 512\n"};

inline const SystemCallCase programs_on_sockets{R"py(
import socket, struct
FILTER, DETACH, BPF, REUSEPORT_CBPF, REUSEPORT_EBPF = 26, 27, 50, 51, 52
code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0xffff))
program = struct.pack('HxxxxxxP', 1, ctypes.addressof(code))
sockets = [socket.socket(family, kind) for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX)
           for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
print({call(54, one.fileno(), 1 | high, option | high, program, len(program)) for one in sockets
       for option in (FILTER, BPF, REUSEPORT_CBPF, REUSEPORT_EBPF) for high in (0, 1 << 32)})
stream, datagram = sockets[2], sockets[1]
for level, option in ((1, 2), (1, 7), (1, 8), (1, 9), (1, 13), (1, 15), (1, 20), (1, 21), (1, 29), (1, 35), (1, 47),
                      (1, 64), (6, 1), (6, 18), (6, 4), (41, 26), (41, 49)):
    value = struct.pack('ll', 1, 0) if option in (13, 20, 21) else struct.pack('i', 1)
    if stream.setsockopt(level, option, value): print('no option', level, option)
for level, option in ((0, 1), (0, 33), (0, 8), (0, 10), (0, 12), (1, 6)): datagram.setsockopt(level, option, 1)
print('options')
TIMESTAMPING, TIMESTAMPING_NEW, ZEROCOPY, RECVERR, RECVERR6 = (1, 37), (1, 65), (1, 60), (0, 11), (41, 25)
print({call(54, one.fileno(), level, option, struct.pack('i', 18), 4) for one in sockets
       for level, option in (TIMESTAMPING, TIMESTAMPING_NEW, ZEROCOPY, RECVERR, RECVERR6)})
)py",
                                                "{'EPERM'}\noptions\n{'EPERM'}\n"};

inline const SystemCallCase huge_pages{R"py(
import mmap
SHARED, PRIVATE, ANONYMOUS, HUGETLB, ABOVE = 1, 2, 0x20, 0x40000, 1 << 32
print(call(9, 0, 1 << 21, 3, PRIVATE | ANONYMOUS, -1, 0), call(319, b'plain', 1), call(29, 0, 1 << 16, 0o1600))
print({call(9, 0, 1 << 21, 3, kind | ANONYMOUS | HUGETLB | size, -1, 0) for kind in (SHARED, PRIVATE)
       for size in (0, 21 << 26, 30 << 26)})
print({call(319, b'huge', 4 | high) for high in (0, ABOVE, 21 << 26)},
      {call(29, 0, 1 << 21, 0o1600 | 0o4000 | high) for high in (0, ABOVE)})
)py",
                                       "ok ok ok\n{'EPERM'}\n{'EPERM'} {'EPERM'}\n"};

inline const SystemCallCase set_id_bits{R"py(
import stat
AT, CREATE, TEMPORARY, DIRECTORY, ABOVE = -100, 0o100, 0o20000000, 0o200000, 1 << 32
UID, GID, FIFO = 0o4000, 0o2000, 0o10000
open('file', 'w').close()
file = os.open('file', os.O_RDWR)
names = iter(b'new%d' % number for number in range(1000))
def calls(mode):
    yield call(90, b'file', mode)
    yield call(91, file, mode)
    yield call(268, AT, b'file', mode)
    yield call(452, AT, b'file', mode, 0)
    yield call(85, next(names), mode)
    yield call(2, next(names), CREATE | 1, mode)
    yield call(257, AT, next(names), CREATE | 1, mode)
    yield call(2, b'.', TEMPORARY | DIRECTORY | 1, mode)
    yield call(257, AT, b'.', TEMPORARY | DIRECTORY | 1, mode)
    yield call(133, next(names), mode, 0)
    yield call(259, AT, next(names), mode | FIFO, 0)
# fchmodat2 is newer than Linux 6.1.
print({outcome for outcome in calls(0o1755) if outcome != 'ENOSYS'})
print({outcome for bits in (UID, GID, UID | GID, ABOVE | UID) for outcome in calls(bits | 0o755)})
# Without O_CREAT the mode means nothing.
print(call(2, b'file', 1, UID | GID), call(257, AT, b'file', 0, UID), call(257, AT, b'.', DIRECTORY, GID))
print(call(437, AT, b'file', ctypes.create_string_buffer(24), 24))
os.mkdir('directory', 0o6755)
print({oct(os.lstat(name).st_mode & 0o6000) for name in os.listdir('.')})
)py",
                                        "{'ok'}\n{'EPERM'}\nok ok ok\nENOSYS\n{'0o0'}\n"};

inline const SystemCallCase families_of_sockets{
    R"py(
import socket
NETLINK, TIPC, RDS, BT, QIPCRTR, UNIX = 16, 30, 21, 31, 42, 1
missing = {'ENOSYS', 'EPERM'}  # the second by engines up to 20.10
pair = (ctypes.c_int * 2)()
print({call(41, NETLINK, kind, protocol) for kind in (2, 3) for protocol in range(23)} <= missing)
print({call(53, family | high, kind, 0, pair) for family in (NETLINK, TIPC, RDS, BT, QIPCRTR, 2, 10)
       for kind in (1, 2, 5) for high in (0, 1 << 32)} <= missing, call(53, UNIX, 1, 0, pair))
# What the C library asks by netlink elsewhere.
print(tried(socket.if_nameindex) in missing, socket.if_nametoindex('lo'), socket.if_indextoname(1))
flags = socket.AI_ADDRCONFIG
print(sorted({address[4][0] for address in socket.getaddrinfo('localhost', 80, flags=flags)})[0])
)py",
    "True\nTrue ok\nTrue 1 lo\n127.0.0.1\n"};

// What would slow down others that use the same files, start a program of the host, or take memory
// that nothing counts.
inline const SystemCallCase what_reaches_beyond{R"py(
import fcntl, resource, socket, struct
HIGH = 1 << 32
# Cores: a limit of 0 starts the program of core_pattern, 1 does not.
limit = (ctypes.c_ulong * 2)(0, 0)
print(resource.getrlimit(resource.RLIMIT_CORE)[1] <= 1,
      {call(160, 4 | high, limit) for high in (0, HIGH)}, {call(302, 0, 4 | high, limit, 0) for high in (0, HIGH)})
print(call(160, 7, (ctypes.c_ulong * 2)(500, 500)), call(302, 0, 4, 0, limit))
# Notifications, leases and signals of files.
directory = os.open('/usr/bin', os.O_RDONLY)
print({call(72, directory, command | high, 1) for command in (1026, 1024) for high in (0, HIGH)},
      call(72, directory, 4, 0x2000), call(72, directory, 4, 0x800), call(72, directory, 3, 0), call(72, directory, 1030, 50))
pipe = os.pipe()
print(call(72, pipe[0], 1031, 4096), call(72, pipe[0], 8, 0), call(16, pipe[0], 0x5452, ctypes.byref(ctypes.c_int(1))) in ('ENOSYS', 'EPERM'))
# Corks, groups and filters of sources.
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagram.connect(('127.0.0.1', 9))
print({call(44, datagram.fileno(), b'x', 1, 0x8000 | high, 0, 0) for high in (0, HIGH)}, call(44, datagram.fileno(), b'x', 1, 0, 0, 0))
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
refused = {call(54, one.fileno(), level, option, b'\0' * 200, 200) for one, level, options in (
    (datagram, 0, (35, 36, 39, 41, 42, 46, 48)), (datagram, 17, (1,)), (six, 41, (20, 27, 32, 42, 48))) for option in options}
print(refused <= {'ENOSYS', 'EPERM'})
# Policies of memory, and whiteouts.
print(call(237, 0, 4096, 0, 0, 0, 0), call(238, 0, 0, 0))
open('old', 'w').close()
print(call(316, -100, b'old', -100, b'new', 4), call(316, -100, b'old', -100, b'new', 1), os.listdir('.'))
)py",
                                                "True {'EPERM'} {'EPERM'}\nok ok\n"
                                                "{'EPERM'} EPERM ok ok ok\nok ok True\n"
                                                "{'EPERM'} ok\nTrue\nEPERM EPERM\n"
                                                "EPERM ok ['new']\n"};

// Memory and CPU time that the kernel charges to no process, and what tells of the host's files.
inline const SystemCallCase what_nothing_counts{
    R"py(
import socket
SENDFILE, SPLICE, TEE, SIGNALFD, SIGNALFD4, TIMERFD = 40, 275, 276, 282, 289, 283
mask = ctypes.create_string_buffer(8)
readable, writable = os.pipe()
print({call(SENDFILE, writable, 0, 0, 1), call(SPLICE, 0, 0, writable, 0, 1, 0), call(TEE, readable, writable, 1, 0),
       call(SIGNALFD, -1, mask, 8), call(SIGNALFD4, -1, mask, 8, 0), call(TIMERFD, 1, 0)})
stream = socket.socket()
INFO, ZEROCOPY_RECEIVE = 11, 35
print(len(stream.getsockopt(6, INFO, 104)), stream.getsockopt(1, 4),
      tried(lambda: stream.getsockopt(6, ZEROCOPY_RECEIVE, 64)),
      call(55, stream.fileno(), 6 | 1 << 32, ZEROCOPY_RECEIVE | 1 << 32, mask, mask))
open('file', 'w').write('text')
file = os.open('file', os.O_RDONLY)
WILLNEED, DONTNEED, NOWAIT = 3, 4, 8
print(os.preadv(file, [bytearray(4)], 0), tried(lambda: os.preadv(file, [bytearray(4)], 0, NOWAIT)),
      tried(lambda: os.posix_fadvise(file, 0, 0, WILLNEED)), tried(lambda: os.posix_fadvise(file, 0, 0, DONTNEED)))
)py",
    "{'ENOSYS'}\n104 0 EPERM EPERM\n4 EPERM ok EPERM\n"};

inline const SystemCallCase watches_of_files{R"py(
import subprocess
print({call(number, 0, 0, 0) for number in (253, 254, 255, 294)})
open('log', 'w').write('a line\n')
tail = subprocess.Popen(['tail', '-f', '-s', '0.01', 'log'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
print(tail.stdout.readline())
open('log', 'a').write('another\n')
print(tail.stdout.readline())
tail.kill()
)py",
                                             "{'ENOSYS'}\nb'a line\\n'\nb'another\\n'\n"};

// Fills the buffers of sockets that are not read, until they hold more than `most` bytes as the
// kernel counts them, or none takes any more. Prints whether that was less.
inline const std::string fill_sockets = R"py(
import socket, struct
SO_RCVBUF, SO_MEMINFO = 8, 55
def held(one):
    received, _, _, _, _, queued = struct.unpack('6I', one.getsockopt(1, SO_MEMINFO, 36)[:24])
    return received + queued
def fill(sender, address=None):
    sender.setblocking(False)
    for _ in range(48):
        try: sender.sendto(bytes(60000), address) if address else sender.send(bytes(1 << 20))
        except OSError: break
def datagrams():
    receiver, sender = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    receiver.setsockopt(1, SO_RCVBUF, 8 << 20)
    receiver.bind(('127.0.0.1', 0))
    fill(sender, receiver.getsockname())
    return [receiver]
def connection():
    listener = socket.create_server(('127.0.0.1', 0))
    client = socket.create_connection(listener.getsockname())
    accepted = listener.accept()[0]
    fill(client)
    return [client, accepted]
def total_of(kind):
    opened, total = [], 0
    try:
        while total <= most and len(opened) < 400:
            opened += kind()
            total = sum(map(held, opened))
    except OSError: pass
    return total
print(total_of(datagrams) <= most, total_of(connection) <= most)
)py";

}  // namespace hearth::test
