"""The web console as a child process of the broker: started when the broker is ready, and again when it dies.

**How.** The child's standard input is a pipe that the broker holds, so the child ends with the broker, however that
ends. It lowers its own priority and bounds its own memory. **Limits.** The console costs the broker neither its start
nor its stop: what goes wrong with it is one line in the log.
"""

import asyncio
import contextlib
import importlib.util
import json
import logging
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence

from ...config.config import Config
from ...config.listeners import is_encrypted
from ..http.token_file import TOKEN_FILE
from ..metadata.address import local_address
from ..network.settings import Endpoint

__all__ = ["ConsoleChild", "console_arguments", "start_console"]

logger = logging.getLogger(__name__)

CONSOLE_ADDRESS = "pybroker.console"
NICE = 10
MEMORY_BYTES = 1 << 30
_EXTRA = ("starlette", "uvicorn")
_RUN = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from pybroker.console.command import console_command; "
    "sys.exit(console_command(sys.argv[2:]))"
)
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
_END_S = 5.0
_PROTOCOLS = ("PLAINTEXT", "SASL_PLAINTEXT")


def lacks_console() -> bool:
    """Whether the packages of the extra ``console`` are not installed."""
    return any(importlib.util.find_spec(name) is None for name in _EXTRA)


def console_arguments(config: Config, endpoints: Sequence[Endpoint], http: Sequence[Endpoint]) -> list[str] | None:
    """The arguments of ``pybroker console`` for this broker; None when no listener suits it.

    ``http``: the addresses of the HTTP endpoint. The console asks the first one without TLS, too.
    """
    settings_file = config.optional_string("pybroker.console.command.config")
    arguments = ["--http", config.string(CONSOLE_ADDRESS), "--nice", str(NICE), "--memory-bytes", str(MEMORY_BYTES)]
    if settings_file is not None:
        arguments += ["--command-config", settings_file]
    if config.boolean("pybroker.console.allow.writes"):
        arguments.append("--allow-writes")
    protocol_of = {listener.name: listener.security_protocol for listener in config.listeners()}
    suitable = [each for each in endpoints if settings_file or protocol_of[each.listener_name] in _PROTOCOLS]
    if not suitable:
        return None
    chosen = suitable[0]
    if settings_file is None:
        arguments += ["--security-protocol", protocol_of[chosen.listener_name]]
    arguments += ["--bootstrap-server", str(local_address(chosen.host, chosen.port))]
    plain = next((each for each in http if not is_encrypted(each.security_protocol)), None)
    if plain is not None:  # the certificate of an encrypted one need not be for the local address
        arguments += ["--v1", f"http://{local_address(plain.host, plain.port)}"]
        if (token_file := config.optional_string(TOKEN_FILE)) is not None:
            arguments += ["--v1-token-file", token_file]
    return [*arguments, "--ends-with-stdin"]


def start_console(config: Config, endpoints: Sequence[Endpoint], http: Sequence[Endpoint]) -> "ConsoleChild | None":
    """Start the console if the settings ask for it; None, with a line in the log, when that is impossible."""
    if not config.is_given(CONSOLE_ADDRESS) or not config.string(CONSOLE_ADDRESS):
        return None
    if lacks_console():
        logger.warning("no web console: it needs more packages: pip install 'pybroker[console]'")
        return None
    arguments = console_arguments(config, endpoints, http)
    if arguments is None:
        logger.warning("no web console: every listener has TLS; set pybroker.console.command.config")
        return None
    child = ConsoleChild(arguments, f"http://{config.string(CONSOLE_ADDRESS)}")
    child.start()
    return child


class ConsoleChild:
    """Runs the child until `close`. Used on the event loop only. ``command``: replaces the console's, for tests."""

    def __init__(
        self,
        arguments: Sequence[str],
        url: str,
        command: Sequence[str] | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = url
        """The address in browsers."""
        self._command = [*(command or [sys.executable, "-c", _RUN, json.dumps(sys.path)]), *arguments]
        self._clock_s = clock_s
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None
        self.starts = 0

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def pid(self) -> int | None:
        """The process that runs now."""
        return None if self._process is None else self._process.pid

    async def close(self) -> None:
        """End the child, and wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                async with asyncio.timeout(_END_S):
                    await process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    async def _run(self) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            began_s = self._clock_s()
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command, stdin=PIPE, stdout=DEVNULL, start_new_session=True
                )
            except OSError as error:
                logger.warning("the web console could not be started: %s; it is tried again in %d s", error, wait_s)
            else:
                self.starts += 1
                code = await self._process.wait()
                self._process = None
                if self._clock_s() - began_s > _LONGEST_WAIT_S:
                    wait_s = _FIRST_WAIT_S
                logger.warning("the web console ended with %d; it is started again in %d s", code, wait_s)
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
