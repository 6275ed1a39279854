"""The verdict about a cluster: trouble first, counts in words, and nothing to say when all is well."""

from pybroker.broker.v1.verdict import CaseCount, ClusterFacts, GroupProblem, judge_cluster
from pybroker.views.brokers import Directory


def cases(count: int) -> CaseCount:
    found = CaseCount()
    for partition in range(count):
        found.add("orders", partition + 3)
    return found


def directory(*, is_online: bool = True, free_bytes: int | None = 50) -> Directory:
    return Directory(
        path="/data/a",
        is_online=is_online,
        error=None,
        partitions=1,
        size_bytes=10,
        free_bytes=free_bytes,
        total_bytes=100,
    )


def test_cluster_without_problems_is_healthy() -> None:
    verdict = judge_cluster(ClusterFacts(broker_id=1, has_controller=True, directories=[directory()]))
    assert (verdict.status, verdict.text, verdict.problems) == ("healthy", "healthy", ())


def test_trouble_comes_before_warnings_and_is_named_first() -> None:
    facts = ClusterFacts(broker_id=1, has_controller=True, under_replicated=cases(17), offline=cases(2))
    verdict = judge_cluster(facts)
    assert verdict.status == "trouble"
    assert verdict.text == "2 partitions are offline, 17 partitions lack a replica"
    assert [(each.kind, each.count, each.topic, each.partition) for each in verdict.problems] == [
        ("offline_partitions", 2, "orders", 3),
        ("under_replicated", 17, "orders", 3),
    ]


def test_warnings_alone_are_a_warning() -> None:
    verdict = judge_cluster(ClusterFacts(broker_id=1, has_controller=True, under_replicated=cases(1)))
    assert (verdict.status, verdict.text) == ("warning", "partition orders-3 lacks a replica")


def test_directories_and_groups_are_problems_too() -> None:
    facts = ClusterFacts(
        broker_id=7,
        has_controller=False,
        under_min_isr=cases(1),
        directories=[directory(is_online=False, free_bytes=None), directory(free_bytes=4)],
        groups=[GroupProblem(group="g", kind="group_stopped", severity="trouble", text="group g has stopped")],
    )
    verdict = judge_cluster(facts)
    assert [each.kind for each in verdict.problems] == [
        "no_controller",
        "under_min_isr",
        "offline_log_directory",
        "group_stopped",
        "disk_almost_full",
    ]
    assert verdict.text == (
        "no controller is elected, partition orders-3 has fewer in-sync replicas than min.insync.replicas, "
        "log directory /data/a of broker 7 is offline, and 2 more"
    )
    assert verdict.problems[-1].text == "the disk of /data/a of broker 7 has 4.0% free"
    assert verdict.problems[3].group == "g"


def test_at_most_twenty_problems_are_listed() -> None:
    groups = [
        GroupProblem(group=f"g{number}", kind="group_stopped", severity="warning", text=f"group g{number} has stopped")
        for number in range(100)
    ]
    verdict = judge_cluster(ClusterFacts(broker_id=1, has_controller=True, groups=groups))
    assert len(verdict.problems) == 20
    assert verdict.text.endswith("and 97 more")
