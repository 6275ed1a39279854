"""Sends every request frame written by Kafka's classes to a running broker; the frames are random within their types.

Each frame gets a valid response of its version, or the connection is closed, or the request waits. None may crash the
broker or cause an unexpected error.
"""

import asyncio
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.metadata.address import Address
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import decode, decode_prefix, encode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pybroker.protocol.messages.headers import RequestHeader, ResponseHeader
from support.golden import Line, golden_files, read_lines

GOLDEN = Path(__file__).resolve().parents[1] / "reference" / "golden"
PREFIXES = ("api-", "transaction-version-2", "newest", "share-groups")
TIMEOUT_S = 2.0
"""Seconds to wait for a response before the next frame; a parked request is not a failure."""
SLOW_MACHINE_S = 30.0
"""The same for versions of which no frame was answered at first."""
AT_ONCE = 100


async def exchange(
    port: int, key: ApiKey, version: int, body: bytes, timeout_s: float | None = TIMEOUT_S
) -> bytes | None:
    """Returns the response frame; b"" if the connection was closed, None without a response yet."""
    spec = API_SPECS[key]
    header = RequestHeader(request_api_key=key, request_api_version=version, correlation_id=9, client_id="golden")
    frame = encode(header, spec.request_header_version(version)) + body
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(len(frame).to_bytes(4, "big") + frame)
        async with asyncio.timeout(timeout_s):
            size = int.from_bytes(await reader.readexactly(4), "big")
            return await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        return b""
    except (ConnectionError, TimeoutError) as error:
        return None if isinstance(error, TimeoutError) else b""
    finally:
        writer.close()


def check_answer(key: ApiKey, version: int, answer: bytes) -> None:
    spec = API_SPECS[key]
    header, start = decode_prefix(ResponseHeader, answer, spec.response_header_version(version))
    assert header.correlation_id == 9
    decode(spec.response_type(), answer, version, start)


async def served_versions(port: int) -> dict[int, range]:
    answer = await exchange(port, ApiKey.API_VERSIONS, 0, encode(ApiVersionsRequest(), 0), timeout_s=None)
    assert answer
    response = decode(ApiVersionsResponse, answer, 0, 4)
    return {api.api_key: range(api.min_version, api.max_version + 1) for api in response.api_keys}


def request_lines() -> list[Line]:
    files = [file for file in golden_files(GOLDEN) if file.name.startswith(PREFIXES)]
    return [line for file in files for line in read_lines(file) if line["kind"] == "request"]


async def test_no_golden_request_causes_an_unexpected_error(caplog: pytest.LogCaptureFixture) -> None:
    # Excludes random topics with a million partitions.
    async with Broker({"auto.create.topics.enable": "false"}) as broker:
        port = Address.parse(broker.bootstrap_servers).port
        served = await served_versions(port)
        lines = [line for line in request_lines() if line["version"] in served.get(line["key"], ())]
        answered: set[tuple[int, int]] = set()
        gate = asyncio.Semaphore(AT_ONCE)

        async def send(line: Line, timeout_s: float) -> None:
            key, version = ApiKey(line["key"]), line["version"]
            async with gate:
                answer = await exchange(port, key, version, bytes.fromhex(line["hex"]), timeout_s)
            if answer:
                check_answer(key, version, answer)
                answered.add((key, version))

        for timeout_s in (TIMEOUT_S, SLOW_MACHINE_S):
            async with asyncio.TaskGroup() as group:
                for line in lines:
                    if (line["key"], line["version"]) not in answered:
                        group.create_task(send(line, timeout_s))
        never = {(ApiKey(key).name, v) for key, versions in served.items() for v in versions} - {
            (ApiKey(key).name, version) for key, version in answered
        }
        assert await served_versions(port) == served
        assert broker.is_running
    assert not never, "versions of which no frame was answered"
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
