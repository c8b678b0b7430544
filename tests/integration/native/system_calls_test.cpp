// Every rule of the seccomp list with a use it allows and one it forbids, asked of the kernel
// itself.
#include "tests/support/in_sandbox.h"
#include "tests/support/system_call_cases.h"

using namespace hearth;
using namespace hearth::test;
using execution::Verdict;

namespace {

std::string outcome(const std::string& script) { return printed(call_directly + script); }

void check(const SystemCallCase& one) { CHECK(outcome(one.script) == one.printed); }

}  // namespace

#ifdef __x86_64__

TEST_CASE("a process can be cloned, but not into a new namespace") {
  CHECK(outcome(R"py(
NEWTIME, NEWNS, NEWCGROUP, NEWUTS = 0x80, 0x20000, 0x2000000, 0x4000000
NEWIPC, NEWUSER, NEWPID, NEWNET = 0x8000000, 0x10000000, 0x20000000, 0x40000000
kinds = (NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET)
print(*[call(56, kind | 17, 0, 0, 0, 0) for kind in kinds])
print(call(56, NEWUSER | NEWPID | 17, 0, 0, 0, 0), call(56, 1 << 32 | NEWUSER | 17, 0, 0, 0, 0))
print(*{call(272, kind) for kind in kinds}, *{call(308, 0, kind) for kind in kinds})
print(call(435, 0, 0))
child = value_of(56, 17, 0, 0, 0, 0)
if child == 0: os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
)py") == "EPERM EPERM EPERM EPERM EPERM EPERM EPERM EPERM\nEPERM EPERM\nEPERM EPERM\nENOSYS\n7\n");
}

TEST_CASE("calls that have been ways out of sandboxes are refused") {
  CHECK(outcome(R"py(
refused = dict(
    userfaultfd=323, bpf=321, perf_event_open=298, ptrace=101, process_vm_readv=310,
    process_vm_writev=311, kcmp=312, pidfd_getfd=438, process_madvise=440, add_key=248,
    request_key=249, keyctl=250, name_to_handle_at=303, open_by_handle_at=304, fanotify_init=300,
    quotactl=179, lookup_dcookie=212, mount=165, umount2=166, pivot_root=155, chroot=161,
    open_tree=428, move_mount=429, fsopen=430, fsconfig=431, fsmount=432, fspick=433,
    mount_setattr=442, modify_ldt=154, iopl=172, ioperm=173, kexec_load=246, init_module=175,
    finit_module=313, delete_module=176, swapon=167, swapoff=168, reboot=169, acct=163,
    settimeofday=164, clock_settime=227, adjtimex=159, clock_adjtime=305, sethostname=170,
    setdomainname=171, syslog=103, vhangup=153, seccomp=317, memfd_secret=447, sync=162, syncfs=306,
    migrate_pages=256, move_pages=279)
print({name: outcome for name, outcome in ((name, call(number, 0, 0, 0, 0, 0, 0))
                                           for name, number in refused.items()) if outcome != 'EPERM'})
# Their harmless neighbours are there.
print(call(39), call(319, b'memory', 0), call(228, 0, ctypes.create_string_buffer(16)))
)py") == "{}\nok ok ok\n");
}

TEST_CASE("no access control list takes kernel memory, and copies go on without") {
  CHECK(outcome(R"py(
import errno, os, shutil, subprocess
open('a', 'w').write('text')
os.chmod('a', 0o640)
for name in ('system.posix_acl_access', 'system.posix_acl_default', 'user.note'):
    try: print(os.setxattr('.', name, b'x' * 20))
    except OSError as error: print(errno.errorcode[error.errno], end=' ')
print({call(number, 0, 0, 0, 0, 0, 0) for number in (188, 189, 190)})
shutil.copy2('a', 'b')
print(oct(os.stat('b').st_mode), subprocess.run(['cp', '-a', 'a', 'c']).returncode)
)py") == "ENOTSUP ENOTSUP ENOTSUP {'ENOTSUP'}\n0o100640 0\n");
}

TEST_CASE("io_uring, calls newer than the list and calls that are not invented yet do not exist") {
  CHECK(outcome(R"py(
print({call(number, 0, 0, 0, 0, 0, 0) for number in (425, 426, 427)})
newer = [number for number in (451, 453, *range(457, 462), *range(463, 480))]
print({call(number, 0, 0, 0, 0, 0, 0) for number in newer})
print({call(number, 0, 0, 0, 0, 0, 0) for number in (334 + 20, 400, 600, 999, 12345, 0x3fffffff)})
)py") == "{'ENOSYS'}\n{'ENOSYS'}\n{'ENOSYS'}\n");
}

TEST_CASE("sockets are local, TCP or UDP, and nothing else") {
  CHECK(outcome(R"py(
UNIX, INET, INET6, NETLINK, PACKET, KEY, CAN, TIPC, BT, ALG, VSOCK, XDP, RDS = (
    1, 2, 10, 16, 17, 15, 29, 30, 31, 38, 40, 44, 21)
STREAM, DGRAM, RAW, SEQPACKET, DCCP, TCP, UDP, ICMP, ICMP6, SCTP, MPTCP = 1, 2, 3, 5, 6, 6, 17, 1, 58, 132, 262
NONBLOCK_CLOEXEC, ABOVE = 0x80800, 1 << 32
allowed = [(UNIX, STREAM, 0), (UNIX, DGRAM, 0), (UNIX, SEQPACKET, 0)]
for family in (INET, INET6):
    allowed += [(family, STREAM, 0), (family, STREAM, TCP), (family, DGRAM, 0), (family, DGRAM, UDP),
                (family, STREAM | NONBLOCK_CLOEXEC, 0)]
print([socket for socket in allowed if call(41, *socket) != 'ok'])
refused = [(family, kind, 0) for family in (PACKET, KEY, CAN, TIPC, BT, ALG, VSOCK, XDP, RDS)
           for kind in (STREAM, DGRAM, RAW, SEQPACKET)]
refused += [(NETLINK, RAW, protocol) for protocol in range(23)]
for family in (INET, INET6):
    refused += [(family, RAW, protocol) for protocol in (0, ICMP, TCP, UDP, 255)]
    refused += [(family, DGRAM, ICMP), (family, DGRAM, ICMP6), (family, DGRAM, 136), (family, STREAM, SCTP),
                (family, STREAM, MPTCP), (family, SEQPACKET, SCTP), (family, DCCP, 33), (family, 10, 0)]
refused += [(ABOVE | family, kind | high, protocol | high) for high in (0, ABOVE)
            for family, kind, protocol in refused]
print([socket for socket in refused if call(41, *socket) != 'ENOSYS'], len(refused))
pair = (ctypes.c_int * 2)()
print(call(53, UNIX, STREAM, 0, pair))
)py") == "[]\n[] 255\nok\n");
}

TEST_CASE("scheduling, priority and limits can be set for the caller alone, and read for all") {
  check(settings_of_processes);
}

TEST_CASE("no program can be attached to a socket, and its other options work") {
  check(programs_on_sockets);
}

TEST_CASE("no call reaches beyond the sandbox by files, cores or memory that others share") {
  check(what_reaches_beyond);
}

TEST_CASE("memory comes in ordinary pages, not from the pool of huge ones") { check(huge_pages); }

TEST_CASE("no file gets a set-uid or set-gid bit, however it is made or changed") {
  check(set_id_bits);
}

TEST_CASE("netlink does not exist, and names of hosts and interfaces are found without it") {
  check(families_of_sockets);
}

TEST_CASE("files cannot be watched, and tail follows one without") { check(watches_of_files); }

TEST_CASE("memory and CPU time that no limit counts cannot be had") { check(what_nothing_counts); }

TEST_CASE(
    "a terminal can be set, but nothing typed into it, nor its driver changed, whatever the upper "
    "bits say") {
  CHECK(outcome(R"py(
buffer = ctypes.create_string_buffer(256)
TCGETS, TCSETS, TIOCSTI, TIOCGWINSZ, TIOCLINUX, FIONREAD = 0x5401, 0x5402, 0x5412, 0x5413, 0x541c, 0x541b
ABOVE = 1 << 32
TIOCSCTTY, TIOCSWINSZ, TIOCSETD = 0x540e, 0x5414, 0x5423
print(call(16, 1, TCGETS, buffer), call(16, 1, TIOCGWINSZ, buffer), call(16, 1, FIONREAD, buffer))
print({call(16, 1, request, buffer) for request in (TCSETS, TIOCSCTTY, TIOCSWINSZ)})
forbidden = (TIOCSTI, TIOCLINUX, TIOCSETD, 0x4b47, 0x8914, 0x89f0, 0x1277, 0xc0045877)
print({call(16, 1, high | request, buffer) for request in forbidden for high in (0, ABOVE, -1 << 32)})
)py") == "ENOTTY ENOTTY ok\n{'ENOTTY'}\n{'ENOSYS'}\n");
}

TEST_CASE("a persona can be asked for and reset, not changed") {
  CHECK(outcome(R"py(
print(call(135, 0xffffffff), call(135, 0))
print({call(135, persona | high) for persona in (0x40000, 0x400000, 8, 1) for high in (0, 1 << 32)})
print(value_of(135, 0xffffffff))
)py") == "ok ok\n{'ENOSYS'}\n0\n");
}

TEST_CASE("files, pipes and sockets can be made as nodes, devices cannot") {
  CHECK(outcome(R"py(
CHAR, BLOCK, FIFO, REGULAR, SOCKET = 0o20000, 0o60000, 0o10000, 0o100000, 0o140000
def make(kind, device=0):
    name = b'node%d' % len(os.listdir('.'))
    return call(133, name, kind | 0o600, device), call(259, -100, name + b'at', kind | 0o600, device)
for kind in (FIFO, REGULAR, SOCKET, 0): print(*make(kind))
# 0:0, 1:3 and 8:0
print({outcome for kind in (CHAR, BLOCK) for device in (0, 0x103, 0x800) for outcome in make(kind, device)})
print({outcome for outcome in make(1 << 32 | CHAR)})
)py") == "ok ok\nok ok\nok ok\nok ok\n{'EPERM'}\n{'EPERM'}\n");
}

TEST_CASE("a process can name itself, not change what it is allowed to do") {
  CHECK(outcome(R"py(
name = ctypes.create_string_buffer(b'new name')
print(call(157, 15, name, 0, 0, 0), open('/proc/self/comm').read().strip())
number = ctypes.create_string_buffer(8)
print(call(157, 1, 0, 0, 0, 0), call(157, 2, number, 0, 0, 0), call(157, 3, 0, 0, 0, 0), call(157, 39, 0, 0, 0, 0))
KEEPCAPS, SECCOMP, CAPBSET_DROP, SECUREBITS, SET_MM, PTRACER, AMBIENT, TSC = 8, 22, 24, 28, 35, 0x59616d61, 47, 26
others = (KEEPCAPS, SECCOMP, CAPBSET_DROP, SECUREBITS, SET_MM, PTRACER, AMBIENT, TSC, 53, 54, 59, 62, 65, 999)
print({call(157, high | option, 1, 0, 0, 0) for option in others for high in (0, 1 << 32)})
)py") == "ok new name\nok ok ok ok\n{'ENOSYS'}\n");
}

TEST_CASE("a call in the manner of another machine ends the process") {
  const std::string run_code = R"py(
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
def run(code):
    page.seek(0)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long)(address)()
print(run(b'\xb8\x27\x00\x00\x00\x0f\x05\xc3') == os.getpid(), flush=True)  # mov eax, 39; syscall; ret
)py";
  NativeSandboxes sandboxes;
  const auto sandbox = sandboxes.spawn();
  // mov eax, 20; int 0x80; ret
  const auto thirty_two_bits =
      sandboxes.run_in(*sandbox, call_directly + run_code +
                                     "print(run(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3'))");
  CHECK(thirty_two_bits.verdict == Verdict::crashed);
  CHECK(thirty_two_bits.signal == 31);
  CHECK(thirty_two_bits.stdout_text == "True\n");
  const auto x32 = sandboxes.run_in(*sandbox, call_directly + "print(call(0x40000000 | 39))");
  CHECK(x32.verdict == Verdict::crashed);
  CHECK(x32.signal == 31);
  CHECK(x32.stdout_text.empty());
  // Only the script's own process.
  CHECK(printed(sandboxes, *sandbox, "print('on')") == "on\n");
}

#endif
