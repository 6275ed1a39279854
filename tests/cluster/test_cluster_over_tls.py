"""Tests of ``Cluster(tls=True)``: its clients use TLS."""

import ssl

import pytest
from pybroker import Cluster
from pybroker.broker.library.broker_probe import UnhealthyError, metadata_of
from pybroker.broker.metadata.address import Address


def test_clients_of_a_cluster_with_tls_trust_its_authority() -> None:
    with Cluster(1, tls=True) as cluster:
        address = Address.parse(cluster.bootstrap_servers)
        trusting = ssl.create_default_context(cafile=cluster.ca_file)
        assert len(metadata_of(address, 5, trusting).brokers) == 1
        for other in (ssl.create_default_context(), None):
            with pytest.raises(UnhealthyError):
                metadata_of(address, 5, other)
