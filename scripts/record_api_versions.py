"""Records the answers of running Kafka brokers to ApiVersions, and to requests in the versions that only Kafka 4 has.

scripts/record-api-versions runs it.

Each line of a recording is one exchange: the version that was asked for, the request and the response in hex, both with
their size. The response is null if the broker closed the connection.
"""

import argparse
import json
import socket
import struct
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from pybroker.protocol.apis import API_SPECS, ApiKey  # noqa: E402 - needs the path above
from pybroker.protocol.codec import encode  # noqa: E402
from pybroker.protocol.messages.api_versions import ApiVersionsRequest  # noqa: E402
from pybroker.protocol.messages.headers import RequestHeader  # noqa: E402
from support.newest_versions import answers_of  # noqa: E402
from support.processes.kafka_versions import started_kafka  # noqa: E402

FOLDER = ROOT / "tests" / "reference" / "releases"
FIRST_WITH_NEWEST = "4.2"
VERSIONS = (0, 1, 2, 3, 4, 5, 99)
_FLEXIBLE = 3


def request_of(version: int) -> bytes:
    """The frame of a request. A version that nobody knows has the body of the last known one."""
    spec = API_SPECS[ApiKey.API_VERSIONS]
    header = RequestHeader(
        request_api_key=ApiKey.API_VERSIONS, request_api_version=version, correlation_id=1000, client_id="golden"
    )
    request = ApiVersionsRequest(client_software_name="golden", client_software_version="1")
    body = encode(request, min(version, spec.max_version))
    frame = encode(header, 2 if version >= _FLEXIBLE else 1) + body
    return struct.pack(">i", len(frame)) + frame


def response_to(address: tuple[str, int], request: bytes) -> bytes | None:
    with socket.create_connection(address) as connection, connection.makefile("rb") as received:
        connection.sendall(request)
        size = received.read(4)
        return size + received.read(int.from_bytes(size, "big")) if size else None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="record-api-versions", description=__doc__)
    parser.add_argument("versions", nargs="+", metavar="VERSION")
    FOLDER.mkdir(exist_ok=True)
    for version in parser.parse_args(arguments).versions:
        lines = []
        with tempfile.TemporaryDirectory() as directory, started_kafka(version, Path(directory)) as servers:
            host, _, port = servers.rpartition(":")
            for asked in VERSIONS:
                request = request_of(asked)
                response = response_to((host, int(port)), request)
                answer = None if response is None else response.hex()
                lines.append(json.dumps({"version": asked, "request": request.hex(), "response": answer}))
            if version.startswith(FIRST_WITH_NEWEST):
                newest = json.dumps(answers_of(servers), indent=1)
                (FOLDER / f"kafka-{version}-newest.json").write_text(newest + "\n")
        (FOLDER / f"kafka-{version}.jsonl").write_text("\n".join(lines) + "\n")
        print(f"{version}: {len(lines)} exchanges")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
