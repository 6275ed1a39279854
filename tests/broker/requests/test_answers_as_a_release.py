"""A broker with ``pybroker.as.version`` answers ApiVersions, and what it does not know, as that release of Kafka."""

from collections.abc import Awaitable
from typing import Any

import pytest
from pybroker.broker.apis.cluster.api_versions import with_api_versions
from pybroker.broker.network.request import CloseConnectionError, ConnectionInfo, LaterReply, Request
from pybroker.broker.network.request_header import RequestHeaderParser
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.broker.requests.group_features import SETTINGS_API, GroupFeatures
from pybroker.broker.requests.served_versions import OWN_VERSIONS, versions_as
from pybroker.config.load import load_config
from pybroker.controller.features import FeatureLevels
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import encode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from pybroker.protocol.messages.headers import RequestHeader
from pybroker.protocol.releases.release import RELEASES, release_named
from pybroker.protocol.releases.table import OTHER_APIS
from support.in_process.served_apis import handler_table
from support.releases import RECORDED, exchanges, listed_by, read_response

CONNECTION = ConnectionInfo("PLAINTEXT", "PLAINTEXT", ("127.0.0.1", 9092), ("127.0.0.1", 40000))
WITH_ZOOKEEPER = [name for name in RECORDED if not name.startswith("4.")]
NO_FEATURES = FeatureLevels(None)  # type: ignore[arg-type]
BETWEEN_BROKERS = {"LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"}
BETWEEN_BROKERS |= {"AlterPartition", "Envelope", "AllocateProducerIds"}


def dispatcher_as(name: str, groups: GroupFeatures | None = None) -> Dispatcher:
    """Serves every API that pybroker can encode, as the release ``name``. ``groups``: share groups if None."""
    versions = versions_as(name)
    served: dict[ApiKey, Any] = dict.fromkeys(API_SPECS, lambda _context, _request: None)
    groups = groups or GroupFeatures.asked_for(NO_FEATURES, ["share.version"], is_in_cluster=False)
    return Dispatcher(with_api_versions(served, NO_FEATURES, versions, groups, is_in_cluster=False), versions=versions)


def received(frame: bytes) -> Request:
    body = bytearray(frame)
    key, version, correlation_id, client_id, size = RequestHeaderParser().parse(body)
    name = client_id.decode() if client_id is not None else None
    return Request(key, version, correlation_id, name, size, body, CONNECTION, 1_700_000_000_000)


def answer(dispatcher: Dispatcher, frame: bytes) -> bytes:
    reply = dispatcher(received(frame))
    assert not isinstance(reply, LaterReply | Awaitable)
    assert reply is not None
    return b"".join(reply)  # type: ignore[arg-type]


def frame_of(key: int, version: int) -> bytes:
    """A request with an empty body. The header's version is that of an API without tagged fields."""
    header = RequestHeader(request_api_key=key, request_api_version=version, correlation_id=7, client_id="c")
    return encode(header, 1)


@pytest.mark.parametrize("name", WITH_ZOOKEEPER)
def test_answers_to_api_versions_equal_the_recorded_frames_of_each_version(name: str) -> None:
    """Among them are versions that the release does not know."""
    dispatcher = dispatcher_as(name)
    for exchange in exchanges(name):
        assert exchange.response is not None
        assert answer(dispatcher, exchange.request).hex() == exchange.response.hex(), exchange.version


@pytest.mark.parametrize("name", ["4.0", "4.1", "4.2"])
def test_kafka_4_lists_what_pybroker_has_of_it(name: str) -> None:
    """pybroker lacks some APIs and versions of Kafka 4; none of those may be listed."""
    dispatcher, theirs = dispatcher_as(name), listed_by(name)
    known = {int(key): versions for key, versions in OWN_VERSIONS.accepted.items() if key != SETTINGS_API}
    for exchange in exchanges(name):
        assert exchange.response is not None
        version = exchange.version if exchange.version <= 4 else 0
        recorded = read_response(exchange.response, version)
        ours = read_response(answer(dispatcher, exchange.request), version)
        assert ours.error_code == recorded.error_code
        if recorded.error_code:
            assert ours.api_keys == recorded.api_keys
            continue
        assert {each.api_key: (each.min_version, each.max_version) for each in ours.api_keys} == {
            key: (versions.first, min(versions.last, known[key].last))
            for key, versions in theirs.items()
            if key in known and versions.first <= known[key].last
        }


NOT_TOLD = (None, None)
# Features that a new single broker tells in another way than Kafka 4: the last version and the level that Kafka tells,
# and those that the broker tells.
DIFFERENT = {
    "eligible.leader.replicas.version": ((1, 1), NOT_TOLD),
    "kraft.version": ((1, None), NOT_TOLD),
    "transaction.version": ((2, 2), (2, None)),
}
DIFFERENT_FEATURES: dict[str, Any] = {
    "4.0": {
        **DIFFERENT,
        "eligible.leader.replicas.version": ((1, None), NOT_TOLD),
        "metadata.version": ((25, 25), NOT_TOLD),
    },
    "4.1": DIFFERENT | {"metadata.version": ((27, 27), NOT_TOLD), "share.version": ((1, None), NOT_TOLD)},
    "4.2": DIFFERENT | {"metadata.version": ((29, 29), NOT_TOLD), "streams.version": ((1, 1), NOT_TOLD)},
}


@pytest.mark.parametrize("name", DIFFERENT_FEATURES)
def test_single_broker_tells_the_features_of_kafka_4_but_those_named_here(name: str) -> None:
    config = load_config("", {"pybroker.as.version": name})
    groups = GroupFeatures.of(config, NO_FEATURES)
    (exchange,) = [each for each in exchanges(name) if each.version == 4]
    assert exchange.response is not None
    theirs = features_of(read_response(exchange.response, 4))
    ours = features_of(read_response(answer(dispatcher_as(name, groups), exchange.request), 4))
    told = {each: (theirs.get(each, NOT_TOLD), ours.get(each, NOT_TOLD)) for each in theirs.keys() | ours.keys()}
    assert {each: pair for each, pair in told.items() if pair[0] != pair[1]} == DIFFERENT_FEATURES[name]


def features_of(response: ApiVersionsResponse) -> dict[str, tuple[int | None, int | None]]:
    """The last version and the level of each feature."""
    last = {each.name: each.max_version for each in response.supported_features}
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    return {name: (last.get(name), levels.get(name)) for name in last.keys() | levels.keys()}


# APIs of a release that a single broker does not list, beside those that brokers send each other.
SHARE_GROUPS = {"ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge"}
SHARE_GROUPS |= {f"{verb}ShareGroupOffsets" for verb in ("Describe", "Alter", "Delete")}
SHARE_STATES = {f"{verb}ShareGroupState" for verb in ("Initialize", "Read", "Write", "Delete")}
SHARE_STATES |= {"ReadShareGroupStateSummary"}
OF_KRAFT = {"AddRaftVoter", "RemoveRaftVoter", "DescribeQuorum", "UnregisterBroker"}
LACKED = {
    "4.0": OF_KRAFT,
    "4.1": OF_KRAFT | SHARE_STATES | SHARE_GROUPS,
    "4.2": OF_KRAFT | SHARE_STATES | {"StreamsGroupHeartbeat", "StreamsGroupDescribe"},
}
# APIs whose last version is lower than the release's, with the last version that a broker lists instead.
LOWER_IN_4_0 = {"ConsumerGroupHeartbeat": 0, "ConsumerGroupDescribe": 0}
# The last version of ListTransactions takes a regular expression of RE2.
LOWER_IN_4_1 = LOWER_IN_4_0 | {"ListClientMetricsResources": 0, "ListTransactions": 1}
LOWER = {"4.0": LOWER_IN_4_0, "4.1": LOWER_IN_4_1, "4.2": LOWER_IN_4_1}


@pytest.mark.parametrize("name", RELEASES)
def test_a_single_broker_lists_all_of_a_release_but_the_apis_and_versions_named_here(name: str) -> None:
    release, versions = release_named(name), versions_as(name)
    served = handler_table({"pybroker.as.version": name})
    names = {
        **{int(key): spec.name for key, spec in API_SPECS.items()},
        **{key: api for api, key in OTHER_APIS.items()},
    }
    listed = {key: versions.listed[key] for key in served if key in versions.listed}
    assert {names[key] for key in release.versions if key not in listed} - BETWEEN_BROKERS == LACKED.get(name, set())
    assert {names[key]: ours.last for key, ours in listed.items() if ours != release.listed_versions(key)} == LOWER.get(
        name, {}
    )


@pytest.mark.parametrize("name", RELEASES)
def test_versions_of_a_release_that_pybroker_lacks_are_neither_accepted_nor_listed(name: str) -> None:
    versions, release = versions_as(name), release_named(name)
    for key, accepted in versions.accepted.items():
        own = OWN_VERSIONS.accepted[key]
        theirs = release.versions[key]
        assert list(accepted) == [each for each in theirs if each in own]
        assert versions.listed[key].last == accepted.last


@pytest.mark.parametrize(
    ("name", "key", "version"),
    [
        ("0.10.2", ApiKey.DELETE_RECORDS, 0),  # an API that the release lacks
        ("0.10.2", ApiKey.PRODUCE, 3),  # a version that is too new for it
        ("4.0", ApiKey.PRODUCE, 2),  # a version that it has removed, though it lists it
        ("4.0", ApiKey.LEADER_AND_ISR, 0),
        ("2.6", ApiKey.OFFSET_DELETE, 1),
    ],
)
def test_request_that_the_release_does_not_know_closes_the_connection(name: str, key: int, version: int) -> None:
    with pytest.raises(CloseConnectionError, match="not served"):
        dispatcher_as(name)(received(frame_of(key, version)))


def test_in_a_cluster_the_release_is_listed_and_newer_requests_of_brokers_are_accepted() -> None:
    alone, in_cluster = versions_as("2.8"), versions_as("2.8", accepts_all=True)
    assert in_cluster.listed == alone.listed
    assert in_cluster.accepted == OWN_VERSIONS.accepted


def test_without_a_release_the_newest_versions_are_accepted() -> None:
    versions = versions_as(None)
    assert versions is OWN_VERSIONS
    assert versions.accepted[ApiKey.PRODUCE].last == API_SPECS[ApiKey.PRODUCE].max_version


def test_software_name_that_kafka_refuses_is_refused_as_a_release_too() -> None:
    request = ApiVersionsRequest(client_software_name="-", client_software_version="1")
    header = RequestHeader(request_api_key=18, request_api_version=3, correlation_id=7, client_id="c")
    reply = answer(dispatcher_as("2.8"), encode(header, 2) + encode(request, 3))
    assert read_response(reply, 3).error_code == 42
