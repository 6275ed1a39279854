"""What befalls a `LoadedCluster`. Each fault is over when its function returns; meanwhile the clients have worked."""

import shutil
import time
from collections.abc import Callable, Mapping

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pybroker.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from support.kafka_process import ZooKeeperProcess
from support.loaded_cluster import PARTITIONS, SESSION_TIMEOUT_S, LoadedCluster
from support.patience import await_answer, await_that
from support.zookeeper_tree import client_of

__all__ = ["FAULTS", "Fault", "a_log_directory_is_taken_away"]

Fault = Callable[[LoadedCluster, ZooKeeperProcess], None]


def a_leader(it: LoadedCluster) -> int:
    return it.view.leader(it.clients.events, it.random.randrange(PARTITIONS))


def leader_is_killed(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    kill_and_start(it, a_leader(it))


def controller_is_killed(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    kill_and_start(it, it.view.controller())


def kill_and_start(it: LoadedCluster, broker: int) -> None:
    with it.without(broker):
        it.cluster.kill(broker)
        it.await_progress()
        it.cluster.start(broker)


def all_but_one_are_killed(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    """One member of an ISR is left; where one in sync is enough, it goes on alone."""
    in_sync = sorted(it.view.isr(it.clients.lonely, it.random.randrange(PARTITIONS)))
    killed = it.random.sample(in_sync, len(in_sync) - 1)
    with it.without(*killed):
        for broker in killed:
            it.cluster.kill(broker)
        if it.enough_in_sync == 1:
            it.await_progress_of_lonely()
    for broker in it.random.sample(killed, len(killed)):
        it.cluster.start(broker)


def all_are_killed(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    for broker in it.random.sample(it.cluster.broker_ids, len(it.cluster.broker_ids)):
        it.cluster.kill(broker)
    for broker in it.random.sample(it.cluster.broker_ids, len(it.cluster.broker_ids)):
        it.cluster.start(broker)


def leader_is_paused_past_its_session(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    pause_and_resume(it, a_leader(it))


def controller_is_paused_past_its_session(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    pause_and_resume(it, it.view.controller())


def pause_and_resume(it: LoadedCluster, broker: int) -> None:
    with it.without(broker):
        it.cluster.pause(broker)
        it.await_missed(broker)
        it.await_progress()
        it.cluster.resume(broker)


def zookeeper_is_away(it: LoadedCluster, zookeeper: ZooKeeperProcess) -> None:
    """For longer than sessions last. Leaders and followers go on, and so does the group; topics can't be made
    meanwhile. A ZooKeeper that comes back gives every session its whole time again."""
    zookeeper.kill()
    clients_go_on(it)
    end = time.monotonic() + 1.2 * SESSION_TIMEOUT_S
    while time.monotonic() < end:
        clients_go_on(it)
    zookeeper.start()


def all_are_cut_off_from_zookeeper(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    """Until none of them has a session: there is no controller then, and they go on as they did."""
    for broker in it.cluster.broker_ids:
        it.cluster.cut(broker, "zookeeper")
    with client_of(it.cluster.zookeeper) as client:
        await_that(lambda: client.get_children("/brokers/ids") == [], "the sessions of all brokers are over")
    clients_go_on(it)
    for broker in it.random.sample(it.cluster.broker_ids, len(it.cluster.broker_ids)):
        it.cluster.heal(broker, "zookeeper")


def clients_go_on(it: LoadedCluster) -> None:
    it.await_progress_of(*it.clients.producers)
    it.await_progress_of_group()


def two_brokers_are_cut_off_from_each_other(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    """Leaders among them still reach the controller, so they can do without the other one."""
    controller = it.view.controller()
    one, other = it.random.sample([each for each in it.cluster.broker_ids if each != controller], 2)
    it.cluster.cut(one, other)

    def is_another() -> bool:
        return it.view.controller() != controller

    await_that(lambda: it.are_apart(one, other) or is_another(), "neither has the other in sync")
    it.await_progress(unless=is_another)
    it.cluster.heal(one, other)


def a_broker_is_cut_off_from_zookeeper(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    """Its groups stay with it, who can store nothing, until it hears of the others, as with Kafka."""
    broker = a_leader(it)
    with it.without(broker):
        it.cluster.cut(broker, "zookeeper")
        it.await_missed(broker)
        it.await_some_progress_of(*it.clients.producers)
        it.cluster.heal(broker, "zookeeper")


def a_broker_is_cut_off_from_all(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    """But clients still reach it: it must not take what others do not have. Groups: as above."""
    broker = a_leader(it)
    others = [each for each in it.cluster.broker_ids if each != broker]
    with it.without(broker):
        it.cluster.cut(broker, "zookeeper")
        for other in others:
            it.cluster.cut(broker, other)
        it.await_missed(broker)
        it.await_some_progress_of(*it.clients.producers)
        for other in it.random.sample(others, len(others)):
            it.cluster.heal(broker, other)
        it.cluster.heal(broker, "zookeeper")


def brokers_are_restarted_one_after_the_other(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    for broker in it.random.sample(it.cluster.broker_ids, len(it.cluster.broker_ids)):
        with it.without(broker):
            it.cluster.stop(broker)
            it.await_progress()
            it.cluster.start(broker)
        it.view.await_health()


def a_log_directory_is_taken_away(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    """One of two: what was in it is offline there, until the broker is started with an empty one in its place.

    Nobody can know that it was not the last in sync: two must be so for what is acknowledged to survive.
    """
    assert it.enough_in_sync == 2
    broker = a_leader(it)
    directory = it.cluster.data_directory(broker)
    with it.without(broker):
        shutil.rmtree(directory, ignore_errors=True)  # the broker may write there just now
        await_that(lambda: it.view.offline_replicas_of(broker), f"broker {broker} misses {directory}")
        it.await_progress()
        it.cluster.stop(broker)
        shutil.rmtree(directory, ignore_errors=True)
        it.cluster.start(broker)


def a_broker_comes_back_empty(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    """It was not the last of any ISR: others have gone on without it."""
    broker = a_leader(it)
    with it.without(broker):
        it.cluster.kill(broker)
        while not it.is_out_of_all_isrs(broker):
            it.cluster.start(broker)
            it.view.await_health()
            it.cluster.kill(broker)
        it.await_progress()
        for directory in it.log_directories(broker):
            shutil.rmtree(directory)
        it.cluster.start(broker)


def partitions_are_moved(it: LoadedCluster, _: ZooKeeperProcess) -> None:
    """One topic's from two brokers to two others, as far as there are others, the other topic's to others to lead,
    and, where there are more than three, to other brokers; and one of all dies meanwhile."""
    brokers = it.cluster.broker_ids
    events, lonely = it.clients.events, it.clients.lonely
    pairs = [it.random.sample(brokers, 2) for _ in range(PARTITIONS)]
    move(it, {lonely: pairs})
    await_moved(it, {lonely: pairs})
    wishes = {
        events: [it.random.sample(brokers, 3) for _ in range(PARTITIONS)],
        lonely: [other_pair(it, pair) for pair in pairs],
    }
    move(it, wishes)
    kill_and_start(it, it.random.choice(brokers))
    await_moved(it, wishes)
    wishes = {lonely: [it.random.sample(brokers, 3) for _ in range(PARTITIONS)]}
    move(it, wishes)
    await_moved(it, wishes)


def other_pair(it: LoadedCluster, pair: list[int]) -> list[int]:
    """Of another broker and one of these."""
    others = [broker for broker in it.cluster.broker_ids if broker not in pair]
    return it.random.sample([it.random.choice(others), it.random.choice(pair)], 2)


def move(it: LoadedCluster, wishes: Mapping[str, list[list[int]]]) -> None:
    """To these brokers, by topic and partition. Returns when it is under way."""
    request = AlterPartitionReassignmentsRequest(
        topics=[
            ReassignableTopic(
                name=topic,
                partitions=[
                    ReassignablePartition(partition_index=number, replicas=replicas)
                    for number, replicas in enumerate(partitions)
                ],
            )
            for topic, partitions in wishes.items()
        ],
        timeout_ms=10_000,
    )

    def begun() -> bool:
        answer = it.view.ask_controller(request, 0)
        return answer is not None and all(
            code == ErrorCode.NONE
            for code in (
                answer.error_code,
                *(each.error_code for topic in answer.responses for each in topic.partitions),
            )
        )

    await_that(begun, "the move begins")


def await_moved(it: LoadedCluster, wishes: Mapping[str, list[list[int]]]) -> None:
    await_that(lambda: not moves(it), "the move is done")
    for topic, partitions in wishes.items():
        for number, replicas in enumerate(partitions):
            await_answer(
                lambda topic=topic, number=number: it.view.partition(topic, number).replica_nodes,  # type: ignore[misc]
                lambda found, replicas=replicas: found == replicas,  # type: ignore[misc]
                f"{topic}-{number} is on brokers {replicas}",
            )


def moves(it: LoadedCluster) -> int:
    answer = it.view.ask_controller(ListPartitionReassignmentsRequest(topics=None, timeout_ms=10_000), 0)
    return 1 if answer is None or answer.error_code != ErrorCode.NONE else len(answer.topics)


FAULTS: tuple[Fault, ...] = (
    leader_is_killed,
    controller_is_killed,
    all_but_one_are_killed,
    all_are_killed,
    leader_is_paused_past_its_session,
    controller_is_paused_past_its_session,
    zookeeper_is_away,
    all_are_cut_off_from_zookeeper,
    two_brokers_are_cut_off_from_each_other,
    a_broker_is_cut_off_from_zookeeper,
    a_broker_is_cut_off_from_all,
    brokers_are_restarted_one_after_the_other,
    a_log_directory_is_taken_away,
    a_broker_comes_back_empty,
    partitions_are_moved,
)
