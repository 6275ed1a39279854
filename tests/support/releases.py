"""Answers to ApiVersions, recorded from running brokers of Apache Kafka (``scripts/record-api-versions``)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pybroker.protocol.codec import decode
from pybroker.protocol.codec.schema import VersionRange
from pybroker.protocol.messages.api_versions import ApiVersionsResponse

__all__ = ["RECORDED", "Exchange", "exchanges", "listed_by", "read_response"]

_FOLDER = Path(__file__).resolve().parents[1] / "reference" / "releases"
RECORDED: Mapping[str, str] = {
    "0.10.2": "0.10.2.2",
    "1.1": "1.1.1",
    "2.0": "2.0.1",
    "2.8": "2.8.2",
    "3.6": "3.6.2",
    "4.0": "4.0.0",
    "4.1": "4.1.1",
    "4.2": "4.2.0",
}
"""The releases with recordings, and the version of each that was recorded."""
_HEAD = 8  # size and correlation id


class Exchange(NamedTuple):
    """A request in this version, and the response; both without the size in front. None: no response."""

    version: int
    request: bytes
    response: bytes | None


def exchanges(release: str) -> list[Exchange]:
    lines = map(json.loads, (_FOLDER / f"kafka-{RECORDED[release]}.jsonl").read_text().splitlines())
    return [
        Exchange(
            line["version"],
            bytes.fromhex(line["request"])[4:],
            None if line["response"] is None else bytes.fromhex(line["response"])[4:],
        )
        for line in lines
    ]


def read_response(frame: bytes, version: int) -> ApiVersionsResponse:
    """The response in a frame without its size."""
    return decode(ApiVersionsResponse, frame[_HEAD - 4 :], version)


def listed_by(release: str) -> dict[int, VersionRange]:
    """The APIs that a broker of the release lists, with their versions."""
    first = exchanges(release)[0]
    assert first.response is not None
    listed = read_response(first.response, first.version).api_keys
    return {each.api_key: VersionRange(each.min_version, each.max_version) for each in listed}
