"""Versions of the requests between brokers, by inter.broker.protocol.version."""

from dataclasses import asdict

import pytest
from pybroker.broker.inter_broker.request_versions import RequestVersions
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from pybroker.config.versions import METADATA_VERSIONS, is_at_least
from pybroker.protocol.apis import API_SPECS, ApiKey

SPOKEN = [version for version in METADATA_VERSIONS if is_at_least(version, "3.0-IV0") and version[0] == "3"]


KAFKAS = {
    # leader_and_isr, stop_replica, update_metadata, fetch, list_offsets, offset_for_leader_epoch, write_txn_markers;
    # Kafka negotiates requests to the controller by ApiVersions: alter_partition
    "3.0-IV0": (5, 3, 7, 12, 6, 4, 1, 0),
    "3.0-IV1": (5, 3, 7, 12, 7, 4, 1, 0),
    "3.1-IV0": (5, 3, 7, 13, 7, 4, 1, 0),
    "3.2-IV0": (6, 3, 7, 13, 7, 4, 1, 1),
    "3.3-IV0": (6, 3, 7, 13, 7, 4, 1, 2),
    "3.3-IV1": (6, 3, 7, 13, 7, 4, 1, 2),
    "3.3-IV2": (6, 3, 7, 13, 7, 4, 1, 2),
    "3.3-IV3": (6, 3, 7, 13, 7, 4, 1, 2),
    "3.4-IV0": (7, 4, 8, 13, 7, 4, 1, 2),
    "3.5-IV0": (7, 4, 8, 14, 8, 4, 1, 3),
    "3.5-IV1": (7, 4, 8, 15, 8, 4, 1, 3),
    "3.5-IV2": (7, 4, 8, 15, 8, 4, 1, 3),
    "3.6-IV0": (7, 4, 8, 15, 8, 4, 1, 3),
    "3.6-IV1": (7, 4, 8, 15, 8, 4, 1, 3),
    "3.6-IV2": (7, 4, 8, 15, 8, 4, 1, 3),
    "3.7-IV0": (7, 4, 8, 15, 8, 4, 1, 3),
    "3.7-IV1": (7, 4, 8, 15, 8, 4, 1, 3),
    "3.7-IV2": (7, 4, 8, 15, 8, 4, 1, 3),
    "3.7-IV3": (7, 4, 8, 15, 8, 4, 1, 3),
    "3.7-IV4": (7, 4, 8, 16, 8, 4, 1, 3),
    "3.8-IV0": (7, 4, 8, 16, 8, 4, 1, 3),
    "3.9-IV0": (7, 4, 8, 17, 9, 4, 1, 3),
}
"""Kafka 3.9.1's own answers, of MetadataVersion and ControllerChannelManager."""

LAST_OF_RELEASE = {version.partition("-")[0]: version for version in KAFKAS}
SPELLINGS = [
    *((version, version) for version in KAFKAS),
    *LAST_OF_RELEASE.items(),
    *((f"{release}.1", version) for release, version in LAST_OF_RELEASE.items()),
]


@pytest.mark.parametrize(("text", "version"), SPELLINGS)
def test_each_protocol_version_uses_the_request_versions_of_kafka(text: str, version: str) -> None:
    spoken = RequestVersions.of(text)
    assert (
        spoken.leader_and_isr,
        spoken.stop_replica,
        spoken.update_metadata,
        spoken.fetch,
        spoken.list_offsets,
        spoken.offset_for_leader_epoch,
        spoken.write_txn_markers,
        spoken.alter_partition,
    ) == KAFKAS[version]
    config_of(text)


def test_unknown_protocol_versions_are_refused() -> None:
    assert list(KAFKAS) == SPOKEN
    for version in METADATA_VERSIONS:
        if version not in KAFKAS:
            with pytest.raises(ConfigError, match=r"inter\.broker\.protocol\.version"):
                config_of(version)


def config_of(protocol_version: str) -> Config:
    """The config of a broker with that protocol version."""
    settings = {"zookeeper.connect": "localhost:2181", "inter.broker.protocol.version": protocol_version}
    return load_config("", settings)


def test_request_versions_never_decrease_from_release_to_release() -> None:
    earlier = asdict(RequestVersions.of(SPOKEN[0]))
    for protocol_version in SPOKEN[1:]:
        later = asdict(RequestVersions.of(protocol_version))
        assert all(later[name] >= earlier[name] for name in earlier)
        earlier = later


def test_newest_protocol_version_uses_the_newest_request_versions_of_kafka_3_9() -> None:
    for name, version in asdict(RequestVersions.of(SPOKEN[-1])).items():
        advertised = API_SPECS[ApiKey[name.upper()]].advertised
        assert advertised is not None
        assert version == advertised.last


@pytest.mark.parametrize(("level", "version"), [(0, 1), (1, 1), (2, 2)])
def test_markers_tell_their_transaction_version_when_every_broker_reads_it(level: int, version: int) -> None:
    assert RequestVersions.of(SPOKEN[-1]).write_txn_markers_at(level) == version
