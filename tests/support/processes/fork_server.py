"""Forks broker processes from one that has imported the broker, because the import costs most of a start's CPU time.

The process of the tests runs this file. A request on its socket is a JSON object with the `words` of the command line,
the `directory` and the `environment`; with it come two pipes, for the output and for the response. The response is two
lines: the process id; and when the process has ended, its status as `os.wait4` gives it and its CPU seconds. When the
socket closes, the forked processes are killed.
"""

import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
from importlib import import_module
from typing import Any

MOST_BYTES = 1 << 20


class ForkServer:
    """`serve` returns twice: in the process of the server at its end, and in each forked process with its order."""

    def __init__(self, orders: socket.socket) -> None:
        self._orders = orders
        self._responses: dict[int, int] = {}
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wake_write)

    def serve(self) -> dict[str, Any] | None:
        while True:
            ready, _, _ = select.select([self._orders.fileno(), self._wake_read], [], [])
            if self._wake_read in ready:
                os.read(self._wake_read, 4096)
                self._reap()
            if self._orders.fileno() in ready:
                data, pipes, _, _ = socket.recv_fds(self._orders, MOST_BYTES, 2)
                if not data:
                    break
                if (order := self._fork(json.loads(data), *pipes)) is not None:
                    return order
        for pid in self._responses:
            os.kill(pid, signal.SIGKILL)
        return None

    def _fork(self, order: dict[str, Any], output: int, response: int) -> dict[str, Any] | None:
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            self._orders.detach()
            return order
        os.close(output)
        os.write(response, f"{pid}\n".encode())
        self._responses[pid] = response
        return None

    def _reap(self) -> None:
        while self._responses:
            pid, status, used = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            response = self._responses.pop(pid)
            os.write(response, f"{status} {used.ru_utime + used.ru_stime}\n".encode())
            os.close(response)


def import_the_broker() -> None:
    """Also the modules that a broker imports on first use."""
    import_module("pybroker.broker.commands.command_line")
    import_module("pybroker.broker.server")
    messages = import_module("pybroker.protocol.messages")
    for module in pkgutil.walk_packages(messages.__path__, f"{messages.__name__}."):
        import_module(module.name)


if __name__ == "__main__":
    import_the_broker()
    gc.collect()
    gc.freeze()
    order = ForkServer(socket.socket(fileno=int(sys.argv[1]))).serve()
    if order is not None:
        os.chdir(order["directory"])
        os.environ.clear()
        os.environ.update(order["environment"])
        sys.argv = ["pybroker", *order["words"]]
        runpy.run_module("pybroker", run_name="__main__", alter_sys=True)
