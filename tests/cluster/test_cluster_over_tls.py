"""Tests of ``Cluster(tls=True)``: its clients and the links between its brokers use TLS."""

import ssl

import pytest
from confluent_kafka import Producer
from pybroker import Cluster
from pybroker.broker.library.broker_probe import UnhealthyError, metadata_of
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.broker.metadata.address import Address
from pybroker.config.load import load_config
from pybroker.protocol.client import Credentials

ASK_S = 60.0


def addresses_for_brokers(cluster: BlockingCluster, broker: int) -> tuple[Address, Address]:
    """The address that the broker listens on for others, and that of the proxy, which it advertises."""
    config = load_config(cluster.data_directory(broker).parent / "server.properties")
    own, proxy = (
        next(each for each in listeners if each.name == "BROKERS")
        for listeners in (config.listeners(), config.advertised_listeners() or ())
    )
    assert own.host is not None
    assert proxy.host is not None
    return Address(own.host, own.port), Address(proxy.host, proxy.port)


def test_clients_of_a_cluster_with_tls_trust_its_authority() -> None:
    with Cluster(1, tls=True) as cluster:
        address = Address.parse(cluster.bootstrap_servers)
        trusting = ssl.create_default_context(cafile=cluster.ca_file)
        assert len(metadata_of(address, ASK_S, trusting).brokers) == 1
        for other in (ssl.create_default_context(), None):
            with pytest.raises(UnhealthyError):
                metadata_of(address, ASK_S, other)


def test_brokers_replicate_over_tls_unless_they_are_cut_off() -> None:
    with Cluster(2, {"num.partitions": 1, "min.insync.replicas": 2}, tls=True, mode="process") as cluster:
        own, proxy = addresses_for_brokers(cluster, 1)
        assert len(metadata_of(own, ASK_S, ssl.create_default_context(cafile=cluster.ca_file)).brokers) == 2
        for address in (own, proxy):
            with pytest.raises(UnhealthyError, match="cannot be reached over TLS"):
                metadata_of(address, ASK_S, ssl.create_default_context())
            with pytest.raises(UnhealthyError):
                metadata_of(address, ASK_S)

        given = {"bootstrap.servers": cluster.bootstrap_servers, "security.protocol": "ssl", "linger.ms": 0}
        given |= {"ssl.ca.location": str(cluster.ca_file), "message.timeout.ms": 0}
        to_both, to_leader = Producer({**given, "acks": "all"}), Producer({**given, "acks": 1})
        offsets: dict[str, int | None] = {}

        def produce(producer: Producer, value: str) -> None:
            producer.produce(
                "events",
                value,
                partition=0,
                on_delivery=lambda error, message: offsets.update({value: message.offset()}),
            )

        produce(to_both, "one")
        to_both.flush()
        cluster.cut(1, 2)
        produce(to_both, "two")
        others = 0
        while (last := offsets.get(f"other {others}")) is None or last == others:  # "two" is not in the log yet
            others += 1
            produce(to_leader, f"other {others}")
            to_leader.flush()
            to_both.poll(0)
        assert "two" not in offsets
        cluster.heal(1, 2)
        to_both.flush()
        assert offsets["one"] == 0
        assert offsets["two"] is not None


def test_brokers_of_a_cluster_with_users_log_in_to_each_other_over_tls() -> None:
    with Cluster(2, tls=True, users={"alice": "secret"}, mode="process") as cluster:
        own, _ = addresses_for_brokers(cluster, 1)
        trusting = ssl.create_default_context(cafile=cluster.ca_file)
        alice = Credentials("SCRAM-SHA-256", "alice", "secret")
        assert len(metadata_of(own, ASK_S, trusting, alice).brokers) == 2
        for tls, login in ((trusting, None), (None, alice)):
            with pytest.raises(UnhealthyError):
                metadata_of(own, ASK_S, tls, login)
