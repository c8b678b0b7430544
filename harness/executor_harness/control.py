"""The control socket: packets with descriptors, and the harness that forks workers for init."""

import array
import json
import os
import socket

from .cpython import fork_handlers
from .worker import serve_worker


def serve_control(control, runner):
    while True:
        packet, fds = receive(control)
        if not packet:
            os._exit(0)
        try:
            request = _decoded(packet)
            if request.get("type") == "prepare" and len(fds) == 4:
                prepare(control, fds, runner)
        except OSError as error:
            message = "fork: %s" % error.strerror
            number = request.get("number", 0)
            send(control, {"type": "prepare_failed", "number": number, "message": message})
        finally:
            for fd in fds:
                os.close(fd)


def _decoded(packet):
    try:
        message = json.loads(packet)
    except ValueError:
        message = None
    return message if isinstance(message, dict) else {}


def receive(control):
    """One packet and the descriptors that came with it. socket.recv_fds would need 3.9."""
    fds = array.array("i")
    space = socket.CMSG_SPACE(16 * fds.itemsize)
    try:
        packet, ancillary, _, _ = control.recvmsg(1 << 16, space, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return b"", []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return packet, list(fds)


def send(control, message):
    control.send(json.dumps(message).encode())


def prepare(control, fds, runner):
    """Forks twice. The process between exits at once, so the worker becomes a child of init."""
    fork_handlers.expect_worker()
    try:
        between = os.fork()
    except OSError:
        fork_handlers.expect_any()
        raise
    if between == 0:
        _fork_worker(control, fds, runner)
    fork_handlers.expect_any()
    _, wait_status = os.waitpid(between, 0)
    if wait_status != 0:
        code = os.WEXITSTATUS(wait_status) if os.WIFEXITED(wait_status) else 0
        raise OSError(code, os.strerror(code))


def _fork_worker(control, fds, runner):
    """Never returns. The exit status is the error number of the fork."""
    status = 1
    try:
        own_pid = os.getpid()
        fork_handlers.expect_worker()
        if os.fork() == 0:
            control.close()
            serve_worker(*fds, runner, own_pid)
        status = 0
    except OSError as error:
        status = error.errno
    finally:
        os._exit(status)
