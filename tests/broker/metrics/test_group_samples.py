"""The series of groups have the values of the groups, by Prometheus' own parser."""

from pathlib import Path

import pytest
from prometheus_client import parser
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.metrics.exposition import TEXT, Exposition
from pybroker.broker.metrics.group_samples import add_group_samples
from pybroker.broker.metrics.registry import Registry
from pybroker.broker.metrics.scraped_groups import ScrapedGroups
from pybroker.broker.metrics.selection import Selection
from pybroker.broker.metrics.series.table import series_named
from support.in_process.lag_world import P0, P1, LagWorld

HOSTILE = 'a"\\\n{}=\N{GRINNING FACE}'


class Scraper:
    """A topic with two partitions, groups, and what a scrape of them gives."""

    def __init__(self, root: Path) -> None:
        self.world = world = LagWorld(root)
        world.host(P0)
        world.host(P1)
        registry = Registry()
        add_group_samples(registry, world.lags, world.time, "cluster")
        self._exposition = Exposition(
            registry,
            Selection(),
            series_named("pybroker_metrics_dropped_series"),
            series_named("pybroker_metrics_failed_sources"),
        )

    async def scrape(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Each sample by its name and labels."""
        text = b"".join([piece async for piece in self._exposition.text(TEXT)]).decode()
        found = [
            ((sample.name, frozenset(sample.labels.items())), sample.value)
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples
        ]
        assert len(dict(found)) == len(found), "a series is there twice"
        samples = dict(found)
        assert samples["pybroker_metrics_failed_sources", frozenset()] == 0
        return samples

    async def value(self, name: str, **labels: str) -> float | None:
        return (await self.scrape()).get((name, frozenset(labels.items())))


@pytest.fixture
async def scraper(tmp_path: Path) -> Scraper:
    return Scraper(tmp_path)


@pytest.mark.parametrize("group_id", ["g", HOSTILE])
async def test_every_series_of_a_group_has_the_values_of_the_group(scraper: Scraper, group_id: str) -> None:
    world = scraper.world
    world.produce(P0, 10)
    world.time.advance(4_000)
    world.produce(P1, 5)
    world.groups.commit({P0: 3, P1: 5}, group_id=group_id)
    place = {"topic": "orders", "partition": "0"}
    exported = {"consumergroup": group_id, **place}
    in_cluster = {"cluster_name": "cluster", "group": group_id}
    lagging = {**in_cluster, **place, "member_host": "", "consumer_id": "", "client_id": ""}
    expected = [
        ("kafka_consumergroup_current_offset", exported, 3),
        ("kafka_consumergroup_current_offset", exported | {"partition": "1"}, 5),
        ("kafka_consumergroup_lag", exported, 7),
        ("kafka_consumergroup_lag", exported | {"partition": "1"}, 0),
        ("kafka_consumergroup_current_offset_sum", {"consumergroup": group_id, "topic": "orders"}, 8),
        ("kafka_consumergroup_lag_sum", {"consumergroup": group_id, "topic": "orders"}, 7),
        ("kafka_consumergroup_members", {"consumergroup": group_id}, 0),
        ("kafka_consumergroup_group_offset", lagging, 3),
        ("kafka_consumergroup_group_lag", lagging, 7),
        ("kafka_consumergroup_group_lag_seconds", lagging | {"partition": "1"}, 0),
        ("kafka_consumergroup_group_max_lag", in_cluster, 7),
        ("kafka_consumergroup_group_sum_lag", in_cluster, 7),
        ("kafka_consumergroup_group_topic_sum_lag", in_cluster | {"topic": "orders"}, 7),
        ("pybroker_group_verdict", {"group": group_id, "verdict": "ok"}, 1),
    ]
    found = await scraper.scrape()
    for name, labels, value in expected:
        assert found[name, frozenset(labels.items())] == value, name
    for name, labels in [
        ("kafka_consumergroup_group_lag_seconds", lagging),
        ("kafka_consumergroup_group_max_lag_seconds", in_cluster),
    ]:
        assert found[name, frozenset(labels.items())] == pytest.approx(4, abs=0.02)
    assert not any(name in ("pybroker_group_offset_lost", "pybroker_group_seconds_to_catch_up") for name, _ in found)


async def test_lost_offset_and_time_to_catch_up_are_told(scraper: Scraper) -> None:
    world = scraper.world
    world.produce(P0, 100)
    for offset in (10, 20, 30):
        world.commit(offset)
        world.time.advance(5_000)
    assert await scraper.value("pybroker_group_seconds_to_catch_up", group="g") == pytest.approx(35)
    assert await scraper.value("pybroker_group_verdict", group="g", verdict="catching_up") == 1
    world.time.advance(20_000)
    world.partitions.require(P0).log.increment_log_start_offset(50)
    assert await scraper.value("pybroker_group_offset_lost", group="g", topic="orders", partition="0") == 1
    assert await scraper.value("kafka_consumergroup_lag_sum", consumergroup="g", topic="orders") == 50


async def test_partition_whose_end_is_unknown_has_its_offset_and_no_lag(scraper: Scraper) -> None:
    scraper.world.commit(5, TopicPartition("elsewhere", 0))
    found = {name for name, _ in await scraper.scrape()}
    assert "kafka_consumergroup_current_offset" in found
    assert not any("lag" in name for name in found)


async def test_members_and_rebalances_are_counted(scraper: Scraper) -> None:
    groups = scraper.world.groups
    groups.stable_group("a", "b")
    assert await scraper.value("kafka_consumergroup_members", consumergroup="g") == 2
    found = await scraper.value("pybroker_group_rebalances_total", group="g", reason="member_joined")
    assert found == groups.group().timeline.rebalances[next(iter(groups.group().timeline.rebalances))]


async def test_each_scrape_computes_the_lag_of_a_group_exactly_once(
    scraper: Scraper, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = scraper.world
    world.produce(P0, 10)
    world.commit(0)
    computed: list[str] = []
    steps = world.lags.steps

    def counted(group, readings):  # type: ignore[no-untyped-def]
        computed.append(group.group_id)
        return steps(group, readings)

    monkeypatch.setattr(world.lags, "steps", counted)
    await scraper.scrape()
    assert computed == ["g"]
    world.commit(4)
    world.time.advance(2_000)
    assert await scraper.value("kafka_consumergroup_lag_sum", consumergroup="g", topic="orders") == 6
    assert computed == ["g", "g"]


async def test_lag_in_seconds_grows_while_a_computed_lag_serves(scraper: Scraper) -> None:
    world = scraper.world
    world.produce(P0, 1)
    world.commit(0)
    labels = {"cluster_name": "cluster", "group": "g", "topic": "orders", "partition": "0"}
    empty = dict.fromkeys(["member_host", "consumer_id", "client_id"], "")
    world.time.advance(100_000)
    for age in (100, 100.9):
        found = await scraper.value("kafka_consumergroup_group_lag_seconds", **labels, **empty)
        assert found == pytest.approx(age, abs=0.01)
        world.time.advance(900)


async def test_lags_of_many_groups_are_freed_in_several_turns(
    scraper: Scraper, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = scraper.world
    groups = ScrapedGroups(world.lags, world.time)
    for number in range(5):
        world.groups.commit({P0: 0}, group_id=f"g{number}")
    assert len(list(groups)) == 5
    monkeypatch.setattr("pybroker.broker.metrics.scraped_groups._FREED_AT_A_TIME", 4)
    turns: list[dict[str, object]] = []
    monkeypatch.setattr(world.time, "call_soon", lambda callback, left: turns.append(left))
    world.time.advance(11_000)
    assert [len(left) for left in turns] == [3]  # two groups, with a partition each
    assert not groups._scraped


async def test_groups_of_a_scrape_read_a_partition_once_in_a_tenth_of_a_second(
    scraper: Scraper, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = scraper.world
    world.produce(P0, 10)
    for number in range(5):
        world.groups.commit({P0: number}, group_id=f"g{number}")
    read: list[TopicPartition] = []
    end_of = world.ends.of

    def counted(topic_partition: TopicPartition):  # type: ignore[no-untyped-def]
        read.append(topic_partition)
        return end_of(topic_partition)

    monkeypatch.setattr(type(world.ends), "of", lambda ends, topic_partition: counted(topic_partition))
    groups = ScrapedGroups(world.lags, world.time)
    for _ in groups:
        world.time.advance(40)
    assert read == [P0, P0]
