"""Tests of the broker addresses that clients receive."""

import pytest
from pybroker.broker.metadata.advertised_address import AdvertisedAddresses, listeners_named_as_reached, reachable_host
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.network.request import ConnectionInfo
from pybroker.config.load import load_config
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
    return ConnectionInfo(listener, "PLAINTEXT", (host, 19092), ("client", 50_000))


def told(addresses: AdvertisedAddresses, address: ConnectionInfo) -> list[tuple[int, str, int, str | None]]:
    return [tuple(node) for node in addresses.endpoints(address)]  # type: ignore[misc]


def test_client_receives_the_address_it_connected_to() -> None:
    addresses = AdvertisedAddresses(cache(), 1, as_reached={"A", "B"})
    assert told(addresses, reached("10.1.2.3")) == [(1, "10.1.2.3", 19092, "r"), (2, "h2", 9092, "r")]
    assert told(addresses, reached("127.0.0.1"))[0] == (1, "127.0.0.1", 19092, "r")


def test_client_receives_the_advertised_address() -> None:
    addresses = AdvertisedAddresses(cache(), 1, as_reached=())
    assert told(addresses, reached("10.1.2.3"))[0] == (1, "h1", 9092, "r")


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"listeners": "A://localhost:9092,B://0.0.0.0:9093,C://[::]:9094,D://:9095"}, {"B", "C", "D"}),
        ({"listeners": "A://localhost:9092,B://[::0]:9093,C://[0:0:0:0:0:0:0:0]:9094"}, {"B", "C"}),
        ({"listeners": "A://localhost:9092,D://:9095", "advertised.listeners": "A://h:1,D://h:2"}, set()),
        ({"listeners": "A://localhost:9092,D://:9095", "zookeeper.connect": "z:2181", "broker.id": "1"}, set()),
    ],
)
def test_only_listeners_of_every_address_of_a_single_broker_are_named_as_reached(
    settings: dict[str, str], names: set[str]
) -> None:
    protocols = {"listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT,C:PLAINTEXT,D:PLAINTEXT"}
    lines = {**settings, **protocols, "inter.broker.listener.name": "A"}
    config = load_config("".join(f"{name}={value}\n" for name, value in lines.items()))
    assert listeners_named_as_reached(config) == names


def test_client_receives_only_brokers_with_its_listener() -> None:
    addresses = AdvertisedAddresses(cache(), 1, as_reached={"A", "B"})
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
