"""Which request versions go between brokers."""

from dataclasses import asdict

import pytest
from pybroker.broker.inter_broker.request_versions import RequestVersions
from pybroker.config.versions import METADATA_VERSIONS, is_at_least
from pybroker.protocol.apis import API_SPECS, ApiKey

SPOKEN = [version for version in METADATA_VERSIONS if is_at_least(version, "3.0-IV0") and version[0] == "3"]


@pytest.mark.parametrize(
    ("protocol_version", "versions"),
    [  # leader_and_isr, stop_replica, update_metadata, fetch, list_offsets, alter_partition
        ("3.0-IV0", (5, 3, 7, 12, 6, 0)),
        ("3.0", (5, 3, 7, 12, 7, 0)),
        ("3.1", (5, 3, 7, 13, 7, 0)),
        ("3.2", (6, 3, 7, 13, 7, 1)),
        ("3.3", (6, 3, 7, 13, 7, 2)),
        ("3.4", (7, 4, 8, 13, 7, 2)),
        ("3.5-IV0", (7, 4, 8, 14, 8, 3)),
        ("3.5", (7, 4, 8, 15, 8, 3)),
        ("3.6", (7, 4, 8, 15, 8, 3)),
        ("3.7", (7, 4, 8, 16, 8, 3)),
        ("3.8", (7, 4, 8, 16, 8, 3)),
        ("3.9", (7, 4, 8, 17, 9, 3)),
        ("3.9.1", (7, 4, 8, 17, 9, 3)),
    ],
)
def test_versions_of_each_release(protocol_version: str, versions: tuple[int, ...]) -> None:
    spoken = RequestVersions.of(protocol_version)
    assert (
        spoken.leader_and_isr,
        spoken.stop_replica,
        spoken.update_metadata,
        spoken.fetch,
        spoken.list_offsets,
        spoken.alter_partition,
    ) == versions


def test_no_version_falls_from_one_release_to_the_next() -> None:
    earlier = asdict(RequestVersions.of(SPOKEN[0]))
    for protocol_version in SPOKEN[1:]:
        later = asdict(RequestVersions.of(protocol_version))
        assert all(later[name] >= earlier[name] for name in earlier)
        earlier = later


def test_the_newest_are_the_newest_that_there_are() -> None:
    for name, version in asdict(RequestVersions.of(SPOKEN[-1])).items():
        assert version == API_SPECS[ApiKey[name.upper()]].max_version
