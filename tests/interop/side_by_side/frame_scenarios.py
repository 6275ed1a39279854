"""Scenarios of invalid frames, unsupported versions, and the response to ApiVersions."""

import struct
from typing import Any

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import metadata
from pybroker.protocol.apis import API_SPECS, ApiKey, Listener
from pybroker.protocol.codec import encode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.describe_cluster import DescribeClusterRequest

__all__ = ["SCENARIOS"]


def served(answer: Json) -> Json:
    """Returns versions by API name, so that each is compared by itself."""
    versions = {ApiKey(each["apiKey"]).name: [each["minVersion"], each["maxVersion"]] for each in answer["apiKeys"]}
    return {**answer, "apiKeys": versions}


def api_versions(talk: Conversation) -> None:
    for version in range(5):
        software: dict[str, Any] = (
            {"client_software_name": "side-by-side", "client_software_version": "1.0"} if version >= 3 else {}
        )
        talk.ask(ApiVersionsRequest(**software), version, see=served if version == 4 else without_apis)


def without_apis(answer: Json) -> Json:
    return {**answer, "apiKeys": "not compared again"}


def api_versions_with_odd_software_names(talk: Conversation) -> None:
    for name, software_version in (
        ("", "1"),
        ("kafka client", "1"),
        ("-x", "1"),
        ("x", ""),
        ("x", "1 0"),
        ("x" * 300, "1"),
    ):
        request = ApiVersionsRequest(client_software_name=name, client_software_version=software_version)
        talk.ask(request, 3, note=f"{name[:12]!r} {software_version!r}", see=without_apis)


def api_versions_of_the_future(talk: Conversation) -> None:
    body = encode(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)
    for version in (5, 99, 32767):
        talk.send_body(ApiKey.API_VERSIONS, version, body, header_version=2).answer()
    talk.ask(ApiVersionsRequest(), 0, note="the connection goes on", see=without_apis)


def versions_that_are_not_served(talk: Conversation) -> None:
    """Covers every API of a cluster on ZooKeeper. (Future versions of ApiVersions are covered above.)"""
    for key, spec in API_SPECS.items():
        if Listener.ZK_BROKER not in spec.listeners:
            continue
        for version in (-1, spec.min_version - 1, spec.max_version + 1, 99, 32767):
            if version not in spec.versions and (key is not ApiKey.API_VERSIONS or version < 0):
                header_version = 1 if version < 0 else None
                talk.send_body(key, version, b"\0" * 40, header_version=header_version).answer()


def apis_that_are_not_there(talk: Conversation) -> None:
    for key in (88, 1000, 32767, -1):
        talk.send_frame(struct.pack(">hhih", key, 0, 1, -1) + b"\0" * 20, note=f"key {key}")


def broken_frames(talk: Conversation) -> None:
    talk.send_frame(b"", note="empty")
    talk.send_frame(b"\0\x12", note="two bytes")
    talk.send_frame(struct.pack(">hhi", 18, 0, 1), note="no client id")
    talk.send_frame(struct.pack(">hhih", 18, 0, 1, 5) + b"abc", note="client id too long")
    talk.send_frame(struct.pack(">hhih", 18, 0, 1, -2), note="client id of length -2")
    talk.send_frame(struct.pack(">hhih", 3, 9, 1, -1), note="no tagged fields in the header")
    talk.send_frame(b"", note="negative size", size=-1)
    talk.send_frame(b"", note="size of two gigabytes", size=0x7FFFFFFF)
    talk.send_frame(b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n", note="HTTP", size=int.from_bytes(b"GET ", "big"))


def broken_bodies(talk: Conversation) -> None:
    whole = encode(metadata("some-topic", create=True), 1)
    talk.send_body(ApiKey.METADATA, 1, whole[:-3], note="cut").answer()
    talk.send_body(ApiKey.METADATA, 1, b"", note="none").answer()
    talk.send_body(ApiKey.METADATA, 1, b"\x7f\xff\xff\xff", note="huge list").answer()
    talk.send_body(ApiKey.METADATA, 1, b"\xff\xff\xff\xfe", note="list of length -2").answer()
    talk.send_body(ApiKey.METADATA, 0, b"\xff\xff\xff\xff", note="null list where none may be").answer()
    talk.send_body(ApiKey.METADATA, 1, b"\0\0\0\1\xff\xff", note="null name where none may be").answer()
    talk.send_body(ApiKey.METADATA, 1, b"\0\0\0\1\0\2\xff\xfe", note="name that is no UTF-8").answer()
    talk.send_body(ApiKey.METADATA, 9, b"\xff\xff\xff\xff\xff\xff\xff", note="varint without end").answer()


def bytes_behind_the_body(talk: Conversation) -> None:
    talk.send_body(ApiKey.API_VERSIONS, 0, b"left over").answer(without_apis)
    talk.send_body(ApiKey.METADATA, 1, encode(metadata(create=True), 1) + b"left over").answer()


def unknown_tagged_fields(talk: Conversation) -> None:
    body = encode(DescribeClusterRequest(), 0)
    assert body[-1] == 0
    talk.send_body(ApiKey.DESCRIBE_CLUSTER, 0, body[:-1] + b"\1\x63\3abc").answer()


def client_ids(talk: Conversation) -> None:
    for client_id in (None, "", "ünïcode", "a" * 300, "with space", "__admin_client"):
        talk.ask(ApiVersionsRequest(), 0, client_id=client_id, note=repr(client_id)[:20], see=without_apis)
        talk.ask(metadata(), 9, client_id=client_id, note=repr(client_id)[:20])


def requests_in_flight_are_answered_in_order(talk: Conversation) -> None:
    pending = [talk.send(metadata(create=True), version) for version in (1, 5, 9, 12)]
    pending.append(talk.send(ApiVersionsRequest(), 0))
    for each in pending:
        each.answer(see=lambda answer: "answered")


SCENARIOS = [
    api_versions,
    api_versions_with_odd_software_names,
    api_versions_of_the_future,
    versions_that_are_not_served,
    apis_that_are_not_there,
    broken_frames,
    broken_bodies,
    bytes_behind_the_body,
    unknown_tagged_fields,
    client_ids,
    requests_in_flight_are_answered_in_order,
]
