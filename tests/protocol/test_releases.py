"""The table of Kafka's releases, compared with recordings of running brokers and with pybroker's own table of APIs."""

from itertools import pairwise

import pytest
from pybroker.config.versions import RELEASES_TO_ANSWER_AS
from pybroker.protocol.apis import API_SPECS, Listener
from pybroker.protocol.releases.release import RELEASES, FeatureBlock, release_named
from support.releases import RECORDED, listed_by


def test_settings_allow_exactly_the_releases_of_the_table() -> None:
    assert RELEASES == RELEASES_TO_ANSWER_AS


@pytest.mark.parametrize("name", RECORDED)
def test_release_lists_what_its_running_broker_lists(name: str) -> None:
    release = release_named(name)
    assert {int(key): release.listed_versions(key) for key in release.versions} == listed_by(name)


def test_release_3_9_has_the_versions_that_the_table_of_apis_advertises_with_zookeeper() -> None:
    advertised = {int(key): spec.advertised for key, spec in API_SPECS.items() if Listener.ZK_BROKER in spec.listeners}
    assert release_named("3.9").versions == advertised


@pytest.mark.parametrize(("older", "newer"), list(pairwise(RELEASES)))
def test_highest_versions_never_fall_from_one_release_to_the_next(older: str, newer: str) -> None:
    """An API that a release lacks had been removed with 4.0, because it belonged to ZooKeeper."""
    before, after = release_named(older).versions, release_named(newer).versions
    assert all(before[key].last <= after[key].last for key in before if key in after)
    gone = {key for key in before if key not in after}
    assert not gone or newer == "4.0"


def test_kafka_4_accepts_no_produce_below_3_though_it_lists_it_from_0() -> None:
    release = release_named("4.0")
    assert (release.versions[0].first, release.listed_versions(0).first) == (3, 0)


def test_features_are_told_from_2_7_on_and_their_levels_from_4_0_on() -> None:
    blocks = [release_named(name).feature_block for name in ("2.6", "2.7", "3.9", "4.0")]
    assert blocks == [FeatureBlock.NONE, FeatureBlock.EPOCH, FeatureBlock.EPOCH, FeatureBlock.LEVELS]


def test_unknown_release_has_no_table() -> None:
    with pytest.raises(KeyError):
        release_named("2.9")
