"""DescribeCluster: the brokers, the controller, and refused endpoint types."""

import pytest
from pybroker.broker.apis.cluster.describe_cluster import DescribeCluster
from pybroker.broker.metadata.advertised_address import AdvertisedAddresses
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)
from support.in_process.topic_apis import ADDRESS, context


def ask(version: int, controller_id: int = 2, **fields: int) -> DescribeClusterResponse:
    cache = MetadataCache()
    brokers = [
        UpdateMetadataBroker(
            id=broker_id,
            endpoints=[UpdateMetadataEndpoint(host=f"h{broker_id}", port=9092, listener="PLAINTEXT")],
            rack=None,
        )
        for broker_id in (1, 2)
    ]
    cache.update(UpdateMetadataRequest(controller_id=controller_id, live_brokers=brokers))
    handler = DescribeCluster(cache, AdvertisedAddresses(cache, 1, as_reached={"PLAINTEXT"}), "the-cluster")
    answer = handler(context(version), DescribeClusterRequest(**fields))  # type: ignore[arg-type]
    return decode(DescribeClusterResponse, encode(answer, version), version)


@pytest.mark.parametrize("version", [0, 1])
def test_describe_cluster_lists_brokers_at_the_address_that_the_client_used(version: int) -> None:
    answer = ask(version)
    assert [(node.broker_id, node.host, node.port) for node in answer.brokers] == [
        (1, ADDRESS.local_host, ADDRESS.local_port),
        (2, "h2", 9092),
    ]
    assert (answer.cluster_id, answer.controller_id, answer.error_code) == ("the-cluster", 2, ErrorCode.NONE)
    assert answer.cluster_authorized_operations == -(2**31)


def test_describe_cluster_omits_a_controller_that_is_not_a_listed_broker() -> None:
    assert ask(1, controller_id=9).controller_id == -1
    assert ask(1, controller_id=-1).controller_id == -1


def test_describe_cluster_has_authorized_operations_on_request() -> None:
    assert ask(0, include_cluster_authorized_operations=True).cluster_authorized_operations == 8096


def test_describe_cluster_refuses_endpoint_types_other_than_brokers() -> None:
    answer = ask(1, endpoint_type=2)
    assert answer.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert answer.brokers == []
    assert answer.error_message
    assert ask(1, endpoint_type=7).error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
