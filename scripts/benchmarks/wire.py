"""Sends requests without a client library, whose own cost would distort a measurement."""

import socket
import time

from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message, decode, decode_prefix, encode
from pybroker.protocol.messages.headers import RequestHeader, ResponseHeader
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pybroker.protocol.records.record import Record, build_batch

__all__ = ["exchange", "first_acknowledged_record", "receive"]


def exchange(connection: socket.socket, api_key: ApiKey, version: int, message: Message) -> memoryview:
    """Sends one request and returns the body of the response."""
    spec = API_SPECS[api_key]
    header = RequestHeader(
        request_api_key=api_key, request_api_version=version, correlation_id=1, client_id="benchmark"
    )
    frame = encode(header, spec.request_header_version(version)) + encode(message, version)
    connection.sendall(len(frame).to_bytes(4, "big") + frame)
    size = int.from_bytes(receive(connection, 4), "big")
    answer = memoryview(receive(connection, size))
    return answer[decode_prefix(ResponseHeader, answer, spec.response_header_version(version))[1] :]


def receive(connection: socket.socket, size: int) -> bytes:
    chunks = b""
    while len(chunks) < size:
        chunk = connection.recv(size - len(chunks))
        if not chunk:
            raise ConnectionError("closed")
        chunks += chunk
    return chunks


def first_acknowledged_record(port: int, deadline: float) -> float:
    """Produces one record to a topic that is created automatically; retries until it is acknowledged.

    Returns the monotonic time of the acknowledgement.
    """
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                while time.monotonic() < deadline:
                    if produce_first_record(connection):
                        return time.monotonic()
                    time.sleep(0.005)
        except OSError:
            time.sleep(0.005)
    raise TimeoutError("no record was acknowledged")


def produce_first_record(connection: socket.socket) -> bool:
    """Returns whether the record was acknowledged. Asks for the topic each time, because a broker that has just started
    may fail to create it.
    """
    exchange(connection, ApiKey.METADATA, 4, MetadataRequest(topics=[MetadataRequestTopic(name="first")]))
    batch = build_batch([Record(offset=0, timestamp_ms=int(time.time() * 1000), key=None, value=b"first")])
    topics = [TopicProduceData(name="first", partition_data=[PartitionProduceData(index=0, records=batch)])]
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics)
    answer = decode(ProduceResponse, exchange(connection, ApiKey.PRODUCE, 3, request), 3)
    return answer.responses[0].partition_responses[0].error_code == 0
