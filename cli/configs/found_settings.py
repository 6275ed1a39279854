"""Reads the settings of resources from a cluster (DescribeConfigs)."""

from collections.abc import Iterable, Sequence

from ...client.admin_cluster import AdminCluster
from ...client.response_error import response_error
from ...protocol.errors import ErrorCode, UnsupportedVersionError, error_for
from ...protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from .resources import NamedResource

__all__ = ["SOURCES", "found_settings"]

SOURCES = {
    1: "topic",
    2: "broker",
    3: "all brokers",
    4: "file",
    5: "default",
    6: "broker logger",
    7: "client metrics",
    8: "group",
}
"""Where a value comes from, by Kafka's numbers."""


def found_settings(
    cluster: AdminCluster,
    resources: Iterable[NamedResource],
    names: Sequence[str] | None = None,
    *,
    with_docs: bool = False,
) -> dict[NamedResource, list[DescribeConfigsResourceResult]]:
    """The settings of each resource, by name. ``names``: only these. Raises KafkaError for the first that fails.

    Brokers older than Kafka 2.6 have no documentation; the settings then come without.
    """
    by_broker: dict[int | None, list[NamedResource]] = {}
    for resource in resources:
        by_broker.setdefault(resource.broker_id, []).append(resource)
    found = {}
    for broker_id, asked in by_broker.items():
        for resource, settings in zip(asked, _described(cluster, broker_id, asked, names, with_docs), strict=True):
            found[resource] = sorted(settings, key=lambda each: each.name)
    return found


def _described(
    cluster: AdminCluster,
    broker_id: int | None,
    asked: list[NamedResource],
    names: Sequence[str] | None,
    with_docs: bool,
) -> list[list[DescribeConfigsResourceResult]]:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=resource.kind,
                resource_name=resource.name,
                configuration_keys=None if names is None else list(names),
            )
            for resource in asked
        ],
        include_documentation=with_docs,
    )
    try:
        response = cluster.ask_any(request) if broker_id is None else cluster.ask_broker(broker_id, request)
    except UnsupportedVersionError:
        if not with_docs:
            raise
        return _described(cluster, broker_id, asked, names, with_docs=False)
    results = {(result.resource_type, result.resource_name): result for result in response.results}
    settings = []
    for resource in asked:
        result = results.get((resource.kind, resource.name))
        if result is None:
            raise error_for(ErrorCode.UNKNOWN_SERVER_ERROR, f"{resource}: the response does not have it")
        if result.error_code:
            raise response_error(result, resource)
        settings.append(result.configs)
    return settings
