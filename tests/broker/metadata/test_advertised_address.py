"""Tests of the broker addresses that clients receive."""

import pytest
from pybroker.broker.metadata.advertised_address import AdvertisedAddresses, reachable_host
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.network.request import ConnectionInfo
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)


def cache() -> MetadataCache:
    filled = MetadataCache()
    brokers = [
        UpdateMetadataBroker(
            id=broker_id,
            endpoints=[UpdateMetadataEndpoint(host=f"h{broker_id}", port=9092, listener=name) for name in listeners],
            rack="r",
        )
        for broker_id, listeners in ((1, ("A",)), (2, ("A", "B")))
    ]
    filled.update(UpdateMetadataRequest(live_brokers=brokers))
    return filled


def reached(host: str, listener: str = "A") -> ConnectionInfo:
    return ConnectionInfo(1, listener, "PLAINTEXT", (host, 19092), ("client", 50_000))


def told(addresses: AdvertisedAddresses, address: ConnectionInfo) -> list[tuple[int, str, int, str | None]]:
    return [tuple(node) for node in addresses.endpoints(address)]  # type: ignore[misc]


def test_client_receives_the_address_it_connected_to() -> None:
    addresses = AdvertisedAddresses(cache(), 1, as_reached=True)
    assert told(addresses, reached("10.1.2.3")) == [(1, "10.1.2.3", 19092, "r"), (2, "h2", 9092, "r")]
    assert told(addresses, reached("127.0.0.1"))[0] == (1, "127.0.0.1", 19092, "r")


def test_client_receives_the_advertised_address() -> None:
    addresses = AdvertisedAddresses(cache(), 1, as_reached=False)
    assert told(addresses, reached("10.1.2.3"))[0] == (1, "h1", 9092, "r")


def test_client_receives_only_brokers_with_its_listener() -> None:
    addresses = AdvertisedAddresses(cache(), 1, as_reached=True)
    assert told(addresses, reached("10.1.2.3", "B")) == [(2, "h2", 9092, "r")]
    assert addresses.endpoint_of(1, reached("10.1.2.3", "B")) is None
    assert addresses.endpoint_of(9, reached("10.1.2.3")) is None


@pytest.mark.parametrize(
    ("local", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("::ffff:10.0.0.5", "10.0.0.5"),
        ("::FFFF:10.0.0.5", "10.0.0.5"),
        ("::ffff:a:b", "::ffff:a:b"),
    ],
)
def test_address_of_a_dual_stack_socket_is_shown_in_the_form_that_clients_use(local: str, host: str) -> None:
    assert reachable_host(local) == host
