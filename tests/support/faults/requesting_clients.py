"""Clients that send any request which they know, byte for byte as given, and report what becomes of it."""

import json
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kafka.protocol.sasl
from kafka.errors import KafkaError
from kafka.net.compat import KafkaNetClient
from kafka.protocol.api_message import ApiMessage
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message, encode
from support.clients.foreign_clients import PROGRAMS, client_command, client_program
from support.processes.java_programs import java_program

__all__ = ["CLIENTS", "NEWEST_JAVA", "Outcome", "RequestingClient"]

NEWEST_JAVA = "java-4.1.1"


@dataclass(frozen=True)
class Outcome:
    """The report of a client about one request."""

    took_ms: int
    codes: tuple[int, ...] = ()
    """The error codes of all items of the response."""
    throttle_ms: int = 0
    error: str | None = None
    """Why there is no response."""


class RequestingClient(AbstractContextManager["RequestingClient"], ABC):
    """A client with a connection to the broker. It does not repeat a request that fails."""

    newest: Mapping[int, int]
    """The newest version of each API that the client knows."""

    def send(self, key: ApiKey, request: Message, version: int) -> Outcome:
        return self._send(int(key), version, encode(request, version))

    @abstractmethod
    def _send(self, key: int, version: int, body: bytes) -> Outcome:
        """Blocks until there is a response or an error."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Program(RequestingClient):
    """The command `requests` of clients/README.md."""

    def __init__(self, command: list[str], servers: str) -> None:
        self._process = subprocess.Popen(
            [*command, "requests", servers], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.newest = {int(key): version for key, version in self._next()["newest"].items()}

    def _next(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
        facts: dict[str, Any] = json.loads(line)
        return facts

    def _send(self, key: int, version: int, body: bytes) -> Outcome:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{key} {version} {body.hex()}\n")
        facts = self._next()
        return Outcome(**{**facts, "codes": tuple(facts.get("codes", ()))})

    def close(self) -> None:
        with self._process:  # closes its input, at whose end it ends
            pass
        assert self._process.returncode == 0


class _KafkaPython(RequestingClient):
    def __init__(self, servers: str) -> None:
        self._client: Any = KafkaNetClient(
            bootstrap_servers=servers, reconnect_backoff_ms=0, reconnect_backoff_max_ms=0
        )
        self._client.check_version()
        self._node = self._client.least_loaded_node()
        self._client.await_ready(self._node)
        self._classes: dict[int, Any] = {each.API_KEY: each for each in _request_classes()}
        newest = {key: each.max_version for key, each in self._classes.items()}
        self.newest = {**newest, ApiKey.API_VERSIONS: 0}  # it decodes each ApiVersions error as version 0

    def _send(self, key: int, version: int, body: bytes) -> Outcome:
        request = self._classes[key].decode(body, version=version)
        began_s = time.monotonic()
        try:
            response, error = self._client.send_and_receive(self._node, request), None
        except KafkaError as failure:
            response, error = None, repr(failure)
        took_ms = int((time.monotonic() - began_s) * 1000)
        if response is None:
            return Outcome(took_ms, error=error)
        return Outcome(took_ms, tuple(_codes_in(response.to_dict())), getattr(response, "throttle_time_ms", 0) or 0)

    def close(self) -> None:
        self._client.close()


def _request_classes() -> Iterator[Any]:
    protocol: Any = kafka.protocol
    for module in (protocol.admin, protocol.consumer, protocol.metadata, protocol.producer, protocol.sasl):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, ApiMessage) and value is not ApiMessage:
                message: Any = value
                if message.is_request():
                    yield message


def _codes_in(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for name, each in value.items():
            if name.endswith("error_code") and name != "topic_config_error_code":
                yield each
            else:
                yield from _codes_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _codes_in(each)


CLIENTS: dict[str, Callable[[str], RequestingClient]] = {
    "franz-go": lambda servers: _Program(client_command("go"), servers),
    "kafka-python": _KafkaPython,
    "java": lambda servers: _Program(java_program(PROGRAMS / "java" / "Requests.java"), servers),
    NEWEST_JAVA: lambda servers: _Program(client_program("Requests"), servers),
}
"""Each takes the address of the broker."""
