"""A running broker obeys quotas from the response to AlterClientQuotas on, and again after a restart."""

import time
from pathlib import Path

from pybroker import Broker
from pybroker.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from support.clients.good_client import create_topic, produce_request
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of

VERSIONS = ApiVersionsRequest(client_software_name="x", client_software_version="1")


def set_quota(client: WireClient, key: str, value: float | None, *entity: tuple[str, str | None]) -> None:
    op = OpData(key=key, value=value or 0.0, remove=value is None)
    parts = [RequestEntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    (entry,) = client.ask(AlterClientQuotasRequest(entries=[RequestEntryData(entity=parts, ops=[op])]), 1).entries
    assert (entry.error_code, entry.error_message) == (0, None)


def produced(client: WireClient, size_bytes: int) -> int:
    """The throttle time after a request of about this size."""
    response = client.ask(produce_request("t", batch_of(b"x" * size_bytes)), 9)
    assert response.responses[0].partition_responses[0].error_code == 0
    throttle_time_ms: int = response.throttle_time_ms
    return throttle_time_ms


def test_a_quota_is_in_force_at_once_and_after_a_restart(tmp_path: Path) -> None:
    with Broker({"log.dirs": str(tmp_path)}) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            create_topic(client, "t")
            assert produced(client, 10_000) == 0
            set_quota(client, "producer_byte_rate", 10.0, ("user", "ANONYMOUS"), ("client-id", None))
            assert produced(client, 10_000) > 900_000
        with WireClient(broker.bootstrap_servers) as client:
            set_quota(client, "producer_byte_rate", None, ("user", "ANONYMOUS"), ("client-id", None))
            set_quota(client, "producer_byte_rate", 10.0, ("user", None))
        broker.stop()
        broker.start()
        with WireClient(broker.bootstrap_servers) as client:
            assert produced(client, 10_000) > 900_000


def test_a_throttled_client_gets_its_response_at_once_and_the_next_one_after_the_throttle_time(tmp_path: Path) -> None:
    with Broker({"log.dirs": str(tmp_path)}) as broker, WireClient(broker.bootstrap_servers) as client:
        create_topic(client, "t")
        set_quota(client, "producer_byte_rate", 1000.0, ("client-id", None))
        throttle_ms = produced(client, 10_200)
        answered_s = time.monotonic()
        assert 100 < throttle_ms < 5_000
        client.ask(VERSIONS, 3)
        assert time.monotonic() - answered_s >= throttle_ms / 1000 - 0.01
