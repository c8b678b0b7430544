// What honest scripts use must work: a sandbox that is too tight is no use either.
#include "tests/support/in_sandbox.h"
#include "tests/support/with_tool.h"

#include <memory>
#include <set>
#include <string>

using namespace hearth;
using namespace hearth::test;

TEST_CASE("numpy works, its linear algebra with threads too") {
  CHECK(printed(R"py(
import numpy as np
a = np.random.default_rng(1).random((200, 200))
print(np.allclose(np.linalg.inv(a) @ a, np.eye(200)), np.fft.fft(np.ones(8))[0].real)
mapped = np.memmap('mapped', dtype='int32', mode='w+', shape=(1000,))
mapped[:] = 7
mapped.flush()
print(np.fromfile('mapped', dtype='int32').sum())
)py") == "True 8.0\n7000\n");
}

TEST_CASE(
    "a preloaded numpy draws other numbers in each turn, and the same ones from the same seed") {
  native::ZygoteContent environment = plain_environment();
  environment.preload = {"numpy.random"};
  NativeSandboxes sandboxes({}, environment);
  std::set<std::string> seen;
  const auto draw_in = [&](backend::Sandbox& sandbox) {
    const auto result = sandboxes.run_in(sandbox, R"py(
import numpy as np
print(np.random.random(), np.random.normal())
np.random.seed(7)
print(np.random.randint(1000, size=3), '%.6f' % np.random.normal())
)py");
    const std::size_t line_end = result.stdout_text.find('\n');
    REQUIRE(line_end != std::string::npos);
    seen.insert(result.stdout_text.substr(0, line_end));
    CHECK(result.stdout_text.substr(line_end + 1) == "[175 196 537] -1.880223\n");
  };
  const std::unique_ptr<backend::Sandbox> one = sandboxes.spawn();
  const std::unique_ptr<backend::Sandbox> other = sandboxes.spawn();
  draw_in(*one);
  draw_in(*one);
  draw_in(*other);
  CHECK(seen.size() == 3);
}

TEST_CASE("pandas works") {
  CHECK(printed(R"py(
import pandas as pd
frame = pd.DataFrame({'kind': list('abab'), 'size': [1, 2, 3, 4]})
frame.to_csv('sizes.csv', index=False)
print(pd.read_csv('sizes.csv').groupby('kind')['size'].sum().to_dict())
print(pd.date_range('2024-01-01', periods=3, tz='Europe/Berlin')[-1].isoformat())
)py") == "{'a': 4, 'b': 6}\n2024-01-03T00:00:00+01:00\n");
}

TEST_CASE("matplotlib draws, and shows what it drew") {
  NativeSandboxes sandboxes;
  const auto result = sandboxes.run(R"py(
import matplotlib.pyplot as plt
plt.plot([1, 3, 2])
plt.title('drawn')
plt.savefig('/workspace/drawn.svg')
plt.show()
print(open('/workspace/drawn.svg').read(5))
)py",
                                    60);
  CHECK(execution::name_of(result.verdict) == "ok");
  CHECK(result.stdout_text == "<?xml\n");
  CHECK(result.displays.size() == 1);
}

TEST_CASE("a plotting library can be preloaded, and a tool may import it at its top") {
  const WithTool with(R"py(
import matplotlib.pyplot as plt

def chart(values):
    figure, axes = plt.subplots()
    axes.plot(values)
)py");
  native::ZygoteContent environment = with.environment;
  environment.python = "/usr/bin/python3";  // which has Debian's matplotlib
  SUBCASE("both") { environment.preload = {"matplotlib.pyplot"}; }
  SUBCASE("the tool alone") {}
  blueprint::SandboxConfig config;
  config.resource_limits.max_output_bytes = 8 << 20;
  NativeSandboxes sandboxes(config, environment);
  const auto result =
      sandboxes.run("chart([1, 4, 9])\nimport sys\nprint('matplotlib' in sys.modules)", 60);
  INFO("why: ", result.error ? result.error->traceback : result.detail);
  CHECK(result.verdict == execution::Verdict::ok);
  CHECK(result.stderr_text.empty());
  REQUIRE(result.displays.size() == 1);
  CHECK(result.displays[0].data.text.find(R"("image/png":"iVBOR)") != std::string::npos);
}

TEST_CASE("sqlite3 works, in memory and in a file with a journal") {
  CHECK(printed(R"py(
import sqlite3
for place in (':memory:', '/workspace/data.db'):
    with sqlite3.connect(place) as database:
        database.execute('pragma journal_mode=wal')
        database.execute('create table t (n)')
        database.executemany('insert into t values (?)', [(n,) for n in range(100)])
        database.commit()
        print(database.execute('select sum(n) from t').fetchone())
)py") == "(4950,)\n(4950,)\n");
}

TEST_CASE("ssl knows its certificates, and two ends can shake hands") {
  CHECK(printed(R"py(
import ssl
context = ssl.create_default_context()
print(context.cert_store_stats()['x509_ca'] > 0 or bool(ssl.get_default_verify_paths().capath))
one, other = ssl.MemoryBIO(), ssl.MemoryBIO()
client = context.wrap_bio(one, other, server_hostname='localhost')
try: client.do_handshake()
except ssl.SSLWantReadError: print(len(other.read()) > 100)
import hashlib, secrets, uuid
print(len(secrets.token_hex()), hashlib.sha256(b'').hexdigest()[:8], len(str(uuid.uuid4())))
)py") == "True\nTrue\n64 e3b0c442 36\n");
}

TEST_CASE("multiprocessing works in every start method, with pools, queues and shared memory") {
  CHECK(printed(R"py(
import math, multiprocessing
from multiprocessing import shared_memory
def square(n): return n * n
with multiprocessing.get_context('fork').Pool(3) as pool: print(sum(pool.map(square, range(100))))
# The others import the script anew, from a file it does not have.
open(__file__, 'w').close()
for method in ('spawn', 'forkserver'):
    with multiprocessing.get_context(method).Pool(2) as pool: print(pool.map(math.factorial, [3, 4]))
queue = multiprocessing.get_context('fork').Queue()
child = multiprocessing.get_context('fork').Process(target=queue.put, args=('sent',))
child.start()
print(queue.get())
child.join()
block = shared_memory.SharedMemory(create=True, size=100)
block.buf[0] = 5
again = shared_memory.SharedMemory(block.name)
print(again.buf[0])
again.close()
block.close()
block.unlink()
)py") == "328350\n[6, 24]\n[6, 24]\nsent\n5\n");
}

TEST_CASE("concurrent.futures works with threads and processes") {
  CHECK(printed(R"py(
import concurrent.futures, math
for kind in (concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor):
    with kind(3) as executor: print(sum(executor.map(math.isqrt, range(100))))
)py") == "615\n615\n");
}

TEST_CASE("subprocess works: shells, pipes, signals, a terminal's absence") {
  CHECK(printed(R"py(
import subprocess, sys
print(subprocess.check_output('echo one | tr a-z A-Z', shell=True, text=True).strip())
print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout.strip())
sleeper = subprocess.Popen(['sleep', '1000'])
sleeper.terminate()
print(sleeper.wait())
print(subprocess.run(['tty'], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.strip())
print(subprocess.run(['ls', '-ld', '/workspace'], capture_output=True, text=True).stdout.split()[2])
)py") == "ONE\n42\n-15\nnot a tty\nsandbox\n");
}

TEST_CASE("threads, locks and timers work") {
  CHECK(printed(R"py(
import queue, threading
results, jobs = [], queue.Queue()
lock = threading.Lock()
def work():
    for n in iter(jobs.get, None):
        with lock: results.append(n * n)
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for n in range(100): jobs.put(n)
for _ in threads: jobs.put(None)
for thread in threads: thread.join()
print(sum(results))
fired = threading.Event()
threading.Timer(0.001, fired.set).start()
print(fired.wait(30))
)py") == "328350\nTrue\n");
}

TEST_CASE("asyncio works: tasks, processes, streams, signals") {
  CHECK(printed(R"py(
import asyncio, signal, os
async def serve(reader, writer):
    writer.write((await reader.readline()).upper())
    writer.close()
async def main():
    print(await asyncio.gather(*(asyncio.sleep(0, n) for n in range(3))))
    process = await asyncio.create_subprocess_exec('echo', 'hello', stdout=asyncio.subprocess.PIPE)
    print((await process.communicate())[0])
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b'over the loop\n')
    print(await reader.readline())
    server.close()
    got = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, got.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    print(await asyncio.wait_for(got.wait(), 30))
    print(await asyncio.to_thread(len, 'abc'))
asyncio.run(main())
)py") == "[0, 1, 2]\nb'hello\\n'\nb'OVER THE LOOP\\n'\nTrue\n3\n");
}

TEST_CASE("tempfile, zipfile and shutil work") {
  CHECK(printed(R"py(
import os, shutil, tarfile, tempfile, zipfile
with tempfile.TemporaryDirectory() as directory:
    open(directory + '/a', 'w').write('in')
    shutil.make_archive('/workspace/all', 'zip', directory)
    shutil.make_archive('/workspace/all', 'gztar', directory)
with tempfile.NamedTemporaryFile() as file:
    file.write(b'x')
    print(os.path.dirname(file.name))
with tempfile.TemporaryFile() as unnamed: print(unnamed.write(b'12345'))
print(zipfile.ZipFile('all.zip').read('a'), './a' in tarfile.open('all.tar.gz').getnames())
print(shutil.disk_usage('/workspace').total >> 20)
)py") == "/tmp\n5\nb'in' True\n64\n");
}

TEST_CASE("sockets within a sandbox work: pairs, servers, datagrams, named and IPv6") {
  CHECK(printed(R"py(
import http.server, os, socket, threading, urllib.request
one, other = socket.socketpair()
one.sendall(b'pair')
print(other.recv(4))
server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
server.RequestHandlerClass.log_message = lambda *_: None
threading.Thread(target=server.serve_forever, daemon=True).start()
open('page', 'w').write('served')
print(urllib.request.urlopen('http://localhost:%d/page' % server.server_port).read())
server.shutdown()
for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
    with socket.socket(family, socket.SOCK_DGRAM) as receiver, socket.socket(family, socket.SOCK_DGRAM) as sender:
        receiver.bind((address, 0))
        sender.sendto(b'datagram', receiver.getsockname())
        print(receiver.recv(100))
with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
    listener.bind('/tmp/named')
    listener.listen()
    client.connect('/tmp/named')
    print(client.getpeername())
with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
    listener.bind('\0abstract')
    listener.listen()
    client.connect('\0abstract')
    print(client.getpeername())
print(socket.getaddrinfo('localhost', 80, socket.AF_INET, socket.SOCK_STREAM)[0][4])
)py") == "b'pair'\nb'served'\nb'datagram'\nb'datagram'\n/tmp/named\nb'\\x00abstract'\n"
         "('127.0.0.1', 80)\n");
}

TEST_CASE("what the kernel tells programs of themselves is there") {
  CHECK(printed(R"py(
import mmap, os, platform, resource, select, signal, time
print(os.cpu_count() >= 1, len(os.sched_getaffinity(0)) >= 1, os.sysconf('SC_PAGE_SIZE'))
print(platform.system(), open('/proc/self/comm').read() != '', 'MemTotal' in open('/proc/meminfo').read())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, time.process_time() > 0)
anonymous = mmap.mmap(-1, 1 << 20)
anonymous.madvise(mmap.MADV_DONTNEED)
poll = select.epoll()
memory = os.memfd_create('name')
import shutil
open('a', 'wb').write(bytes(100000))
print(os.write(memory, b'abc'), os.path.getsize(shutil.copy('a', 'b')), os.pidfd_open(os.getpid()) > 0)
signal.signal(signal.SIGALRM, lambda *_: None)
print(signal.sigtimedwait([signal.SIGUSR1], 0))
os.nice(1)
print(os.getpriority(os.PRIO_PROCESS, 0), os.get_terminal_size.__name__)
)py") == "True True 4096\nLinux True True\nTrue True\n3 100000 True\nNone\n1 get_terminal_size\n");
}
