"""A broker whose every text is hostile: it gives the same text for each name, value and message that a client reads.

A client that asks for a thing of that name finds it, so that the commands of a client go on to what they print.
"""

import json
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message, Struct, decode, decode_prefix, encode
from pybroker.protocol.codec.schema import Array, Blob, FieldSchema, Fixed, Nested, RecordSet, Text, WireType
from pybroker.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from pybroker.protocol.messages.consumer_protocol import (
    AssignmentTopicPartition,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from pybroker.protocol.messages.headers import RequestHeader, ResponseHeader
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from pybroker.protocol.sentinels import EARLIEST
from pybroker.views.resources import RESOURCES

__all__ = ["LyingBroker", "lying_broker", "lying_pages"]

_INTEGERS: Mapping[str, int] = {
    "resource_type": 2,
    "pattern_type": 3,
    "operation": 3,
    "permission_type": 3,
    "config_source": 1,
    "mechanism": 1,
    "offset": 7,
    "high_watermark": 7,
    "last_stable_offset": 7,
    "committed_offset": 3,
    "timestamp": 1_700_000_000_000,
    "current_txn_start_offset": 1,
    "last_timestamp": 1_700_000_000_000,
    "transaction_timeout_ms": 1,
    "transaction_start_time_ms": 1_700_000_000_000,
    "member_epoch": 1,
    "total_bytes": 100,
    "usable_bytes": 50,
    "log_append_time_ms": -1,
    "producer_id": 7,
}
_NUMBERS_IN_TEXT = ("ms", "bytes", "replicas", "minutes", "records", "partitions")
_SURE = (ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.API_VERSIONS, ApiKey.LIST_OFFSETS)
"""Without them no command comes far."""


class LyingBroker:
    """``text``: its value of each text. ``error_code``: that of most responses; with one, it names a second broker."""

    def __init__(self, port: int, text: str, error_code: int) -> None:
        self._port = port
        self._text = text
        self._error_code = error_code

    def answer(self, frame: bytes) -> bytes:
        """The response to a request; both are without their sizes."""
        key, version = struct.unpack_from(">hh", frame)
        spec = API_SPECS[ApiKey(key)]
        header, start = decode_prefix(RequestHeader, frame, spec.request_header_version(version))
        if spec.key is ApiKey.API_VERSIONS:
            answer: Message = self._versions()
            version = min(version, spec.response_type().MESSAGE.versions.last)
        else:
            request = decode(spec.request_type(), frame, version, offset=start)
            answer = self._response(spec.key, request, version)
        head = encode(ResponseHeader(correlation_id=header.correlation_id), spec.response_header_version(version))
        return head + encode(answer, version)

    def _versions(self) -> ApiVersionsResponse:
        served = [spec for spec in API_SPECS.values() if spec.advertised is not None]
        rows = [
            ApiVersion(api_key=int(spec.key), min_version=spec.advertised.first, max_version=spec.advertised.last)
            for spec in served
            if spec.advertised is not None
        ]
        return ApiVersionsResponse(api_keys=rows)

    def _response(self, key: ApiKey, request: Message, version: int) -> Message:
        spec = API_SPECS[key]
        kind = spec.response_type()
        code = 0 if key in _SURE else self._error_code
        answer: Any = self._filled(kind, version, code)
        asked: Any = request
        if key is ApiKey.LIST_OFFSETS:
            for each, wanted in zip(answer.topics[0].partitions, asked.topics[0].partitions, strict=False):
                each.offset = 0 if wanted.timestamp == EARLIEST else 7
        elif key is ApiKey.FETCH:
            asked_offset = asked.topics[0].partitions[0].fetch_offset
            (partition,) = answer.responses[0].partitions
            partition.records = struct.pack(">q", asked_offset) + bytes(partition.records)[8:]
        elif key is ApiKey.METADATA and self._error_code:  # a host that nobody reaches
            answer.brokers.append(type(answer.brokers[0])(node_id=1, host=self._text, port=1, rack=self._text))
        elif key is ApiKey.DESCRIBE_CONFIGS:
            (pattern,) = answer.results
            answer.results = [self._settings(pattern, each) for each in asked.resources]
        elif key in (ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS):
            for each, wanted in zip(answer.responses, asked.resources, strict=False):
                each.resource_type, each.resource_name = wanted.resource_type, wanted.resource_name
        return answer  # type: ignore[no-any-return]

    def _settings(self, pattern: Any, asked: Any) -> Any:
        (setting,) = pattern.configs
        names = asked.configuration_keys or [self._text]
        configs = [
            setting.__class__(
                **{field.name: getattr(setting, field.name) for field in fields(setting)}
                | {"name": name, "value": "1" if name.endswith(_NUMBERS_IN_TEXT) else self._text}
            )
            for name in names
        ]
        return pattern.__class__(
            **{field.name: getattr(pattern, field.name) for field in fields(pattern)}
            | {"resource_type": asked.resource_type, "resource_name": asked.resource_name, "configs": configs}
        )

    def _filled(self, kind: type[Struct], version: int, code: int) -> Any:
        values = {
            field.name: self._value(field, field.type, version, code)
            for field in kind.SCHEMA.fields
            if version in field.versions
        }
        return kind(**values)

    def _value(self, field: FieldSchema, wire_type: WireType, version: int, code: int) -> Any:
        match wire_type:
            case Fixed():
                return self._number(field.name, wire_type, code)
            case Text():
                return "127.0.0.1" if field.name == "host" else self._text
            case RecordSet():
                return _batch(self._text)
            case Blob():
                return _blob(field.name, self._text)
            case Nested():
                return self._filled(wire_type.struct, version, code)
            case Array():
                return [self._value(field, wire_type.element, version, code)]

    def _number(self, name: str, wire_type: Fixed[Any], code: int) -> Any:
        if wire_type.name == "bool":
            return name != "is_internal"
        if wire_type.name == "float64":
            return 1.0
        if wire_type.name == "uuid":
            return UUID(int=7)
        if name == "error_code":
            return code
        return self._port if name == "port" else _INTEGERS.get(name, 0)


def _batch(text: str) -> bytes:
    said = text.encode()
    return bytes(build_batch([Record(0, 1_700_000_000_000, said, said, ((text, said),))]))


def _blob(name: str, text: str) -> bytes:
    if name in ("metadata", "member_metadata"):
        return b"\0\1" + encode(ConsumerProtocolSubscription(topics=[text], user_data=text.encode()), 1)
    if name in ("assignment", "member_assignment"):
        parts = [AssignmentTopicPartition(topic=text, partitions=[0])]
        return b"\0\1" + encode(ConsumerProtocolAssignment(assigned_partitions=parts), 1)
    return text.encode()


@contextmanager
def lying_broker(text: str, error_code: int = 0, kind: type[LyingBroker] = LyingBroker) -> Iterator[str]:
    """The address of such a broker."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        broker = kind(port, text, error_code)
        failures: list[Exception] = []

        def serve(connection: socket.socket) -> None:
            with connection, connection.makefile("rb") as file:
                try:
                    while len(size := file.read(4)) == 4:
                        said = broker.answer(file.read(struct.unpack(">i", size)[0]))
                        connection.sendall(struct.pack(">i", len(said)) + said)
                except OSError:
                    return
                except Exception as error:
                    failures.append(error)

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
        assert not failures, failures[0]


@contextmanager
def lying_pages(text: str) -> Iterator[str]:
    """The URL of an HTTP port whose documents under /v1 have this text in each field of text."""
    views = {resource.path: resource.view for resource in RESOURCES}

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = self.path.partition("?")[0].strip("/").split("/")
            names = [path for path in views if len(path.strip("/").split("/")) == len(parts)]
            path = next(each for each in names if _fits(each.strip("/").split("/"), parts))
            body = json.dumps(_document(views[path], text)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def _fits(pattern: list[str], parts: list[str]) -> bool:
    return all(want.startswith("{") or want == part for want, part in zip(pattern, parts, strict=True))


def _document(kind: Any, text: str) -> Any:
    """A value of a type of the views, as JSON has it."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _document(get_args(kind)[0], text)
    if origin in (Union, UnionType):
        return _document(next(each for each in get_args(kind) if each is not NoneType), text)
    if origin is Literal:
        return get_args(kind)[0]
    if origin is tuple:
        return [_document(get_args(kind)[0], text)]
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return {field.name: _document(hints[field.name], text) for field in fields(kind)}
    if kind is str:
        return text
    if kind is bool:
        return True
    if kind in (int, float):
        return kind(1)
    return {text: text}
