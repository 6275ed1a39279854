"""Faults of a `LoadedCluster`, as context managers.

Entering brings the fault about and waits until its effect is visible. A lasting fault ends when the context ends.
Clients work meanwhile. Two faults may overlap and end in any order; `support.load.fault_pairs` lists the possible
pairs.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from support.load.cluster_moves import await_led_by_first, await_moved, begin_move
from support.load.loaded_cluster import OFFSETS, PARTITIONS, SESSION_TIMEOUT_S, LoadedCluster, StoppableZooKeeper
from support.processes.zookeeper_tree import client_of
from support.time.patience import await_that

__all__ = [
    "FAULTS",
    "Fault",
    "a_broker_comes_back_empty",
    "a_broker_is_cut_off_from_all",
    "a_broker_is_cut_off_from_zookeeper",
    "a_leader_is_cut_off_from_its_controller",
    "a_log_directory_is_taken_away",
    "all_are_cut_off_from_zookeeper",
    "all_are_killed",
    "all_but_one_are_killed",
    "brokers_are_restarted_one_after_the_other",
    "controller_is_killed",
    "controller_is_paused_past_its_session",
    "leader_is_killed",
    "leader_is_paused_past_its_session",
    "partitions_are_moved",
    "partitions_are_moving",
    "two_brokers_are_cut_off_from_each_other",
    "zookeeper_is_away",
]

Fault = Callable[[LoadedCluster, StoppableZooKeeper], AbstractContextManager[None]]


def a_leader(it: LoadedCluster) -> int:
    return it.view.leader(it.clients.events, it.random.randrange(PARTITIONS))


def a_leader_that_reaches_all(it: LoadedCluster) -> int:
    """Returns a leader that reaches all others; while two brokers are cut off from each other it may lead nothing."""
    leader = a_leader(it)
    if leader not in it.cut_ends:
        return leader
    return it.random.choice([each for each in it.present if each not in it.cut_ends])


@contextmanager
def leader_is_killed(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    with dead(it, a_leader(it)):
        yield


@contextmanager
def controller_is_killed(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    with dead(it, it.view.controller()):
        yield


@contextmanager
def dead(it: LoadedCluster, broker: int) -> Iterator[None]:
    with it.without(broker):
        it.cluster.kill(broker)
        yield
        it.cluster.start(broker)


@contextmanager
def all_but_one_are_killed(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Kills all brokers but one, an ISR member, which continues alone where one replica in sync is enough."""
    in_sync = sorted(it.view.isr(it.clients.lonely, it.random.randrange(PARTITIONS)) - it.away)
    killed = it.random.sample(in_sync, max(len(in_sync) - 1, 0))
    with it.without(*killed):
        for broker in killed:
            it.cluster.kill(broker)
        if it.enough_in_sync == 1:
            it.await_progress_of_lonely()
        yield
    for broker in it.random.sample(killed, len(killed)):
        it.cluster.start(broker)


@contextmanager
def all_are_killed(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Kills all brokers that are not away."""
    brokers = it.present
    for broker in it.random.sample(brokers, len(brokers)):
        it.cluster.kill(broker)
    for broker in it.random.sample(brokers, len(brokers)):
        it.cluster.start(broker)
    yield


@contextmanager
def leader_is_paused_past_its_session(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    with paused(it, a_leader(it)):
        yield


@contextmanager
def controller_is_paused_past_its_session(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    with paused(it, it.view.controller()):
        yield


@contextmanager
def paused(it: LoadedCluster, broker: int) -> Iterator[None]:
    with it.without(broker):
        it.cluster.pause(broker)
        it.await_missed(broker)
        yield
        it.cluster.resume(broker)


@contextmanager
def zookeeper_is_away(it: LoadedCluster, zookeeper: StoppableZooKeeper) -> Iterator[None]:
    """Stops ZooKeeper for longer than sessions last. Replication and groups continue; topics can't be created. A
    restarted ZooKeeper gives every session its full timeout again.
    """
    with it.without_zookeeper():
        zookeeper.kill()
        it.await_progress()
        end = time.monotonic() + 1.2 * SESSION_TIMEOUT_S
        await_that(lambda: time.monotonic() > end, "it is away for long enough")
        it.await_progress()
        yield
        zookeeper.start()


@contextmanager
def all_are_cut_off_from_zookeeper(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Cuts all brokers off from ZooKeeper until no session is left. There is no controller then; the brokers continue
    as before.
    """
    with it.without_zookeeper():
        for broker in it.cluster.broker_ids:
            it.cluster.cut(broker, "zookeeper")
        with client_of(it.cluster.zookeeper) as client:
            await_that(lambda: client.get_children("/brokers/ids") == [], "the sessions of all brokers are over")
        yield
        for broker in it.random.sample(it.cluster.broker_ids, len(it.cluster.broker_ids)):
            it.cluster.heal(broker, "zookeeper")


@contextmanager
def two_brokers_are_cut_off_from_each_other(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Leaders among the two still reach the controller, so they can remove the other one from the ISR."""
    controller = it.view.controller()
    one, other = it.random.sample([each for each in it.present if each != controller], 2)
    with it.cut(one, other):
        await_that(lambda: it.are_apart(one, other) or it.is_hampered(), "neither has the other in sync")
        yield


@contextmanager
def a_leader_is_cut_off_from_its_controller(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """The leader still reaches its followers and ZooKeeper. It continues as long as no follower has to leave the ISR;
    the controller learns of a removal only when it is reachable again.
    """
    controller = it.view.controller()
    others = it.random.sample([each for each in it.cluster.broker_ids if each != controller], 3)
    leader, follower, _third = others
    rotated = [others[number:] + others[:number] for number in range(PARTITIONS)]
    wishes = dict.fromkeys((it.clients.events, it.clients.lonely, OFFSETS), rotated)
    begin_move(it, wishes)
    await_moved(it, wishes)
    await_led_by_first(it, wishes)
    before, said = it.registrations(), it.cluster.log_file(leader).stat().st_size

    def has_changed() -> bool:
        """Returns whether a session ended, as may happen on a busy machine."""
        return it.registrations() != before

    def asks_for_less() -> bool:
        """Returns whether the leader proposed a smaller ISR, which it may do early with a slow follower on a busy
        machine.
        """
        return ": proposing ISR " in it.log_since(leader, said)

    def may_rest() -> bool:
        return has_changed() or asks_for_less()

    it.cluster.cut(leader, controller)
    it.await_progress_of(*it.clients.producers, unless=may_rest)
    it.await_progress_of_group(unless=may_rest)
    with it.cut(leader, controller):
        yield
        if not it.away and it.has_zookeeper:
            with it.cut(leader, follower):
                await_that(may_rest, "it asks for less")
                assert has_changed() or follower in it.isr_in(it.view.metadata(controller), it.clients.events, 0)
                it.heal(leader, controller)
                await_that(lambda: it.are_apart(leader, follower) or it.is_hampered(), "what it asked for has come")
                it.await_progress()


@contextmanager
def a_broker_is_cut_off_from_zookeeper(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Its groups stay with it, although it can't store anything, until it learns of the other coordinator; Kafka does
    the same.
    """
    broker = a_leader(it)
    with it.without_but_serving(broker):
        it.cluster.cut(broker, "zookeeper")
        it.await_missed(broker)
        yield
        it.cluster.heal(broker, "zookeeper")


@contextmanager
def a_broker_is_cut_off_from_all(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Clients still reach it, so it must not accept records that the others lack. Groups: as for a broker cut off from
    ZooKeeper.
    """
    broker = a_leader_that_reaches_all(it)
    others = [each for each in it.cluster.broker_ids if each != broker]
    with it.without_but_serving(broker):
        it.cluster.cut(broker, "zookeeper")
        for other in others:
            it.cluster.cut(broker, other)
        it.await_missed(broker)
        yield
        for other in it.random.sample(others, len(others)):
            it.cluster.heal(broker, other)
        it.cluster.heal(broker, "zookeeper")


@contextmanager
def brokers_are_restarted_one_after_the_other(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Restarts all brokers that are not away, each when all are healthy again, if possible."""
    brokers = it.present
    for broker in it.random.sample(brokers, len(brokers)):
        with it.without(broker):
            it.cluster.stop(broker)
            it.await_progress()
            it.cluster.start(broker)
        if not it.away and not it.cuts:
            it.view.await_health()
    yield


@contextmanager
def a_log_directory_is_taken_away(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Removes one of two log directories. Its replicas are offline until the broker is restarted with an empty one. The
    broker may have been the last in sync, so acknowledged records survive only with two replicas in sync.
    """
    assert it.enough_in_sync == 2
    broker = a_leader(it)
    directory = it.cluster.data_directory(broker)
    with it.without(broker):
        shutil.rmtree(directory, ignore_errors=True)  # the broker may be writing there
        await_that(lambda: it.view.offline_replicas_of(broker), f"broker {broker} misses {directory}")
        yield
        it.cluster.stop(broker)
        shutil.rmtree(directory, ignore_errors=True)
        it.cluster.start(broker)


@contextmanager
def a_broker_comes_back_empty(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Restarts a broker with empty directories. It is not the last member of any ISR, so others continue without it."""
    broker = a_leader(it)
    with it.without(broker):
        it.cluster.kill(broker)
        while not it.is_out_of_all_isrs(broker):
            it.cluster.start(broker)
            it.view.await_health()
            it.cluster.kill(broker)
        for directory in it.log_directories(broker):
            shutil.rmtree(directory)
        yield
        it.cluster.start(broker)


@contextmanager
def partitions_are_moving(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Reassigns partitions among the available brokers: no partition gets a new broker that is away."""
    brokers, topics = it.present, (it.clients.events, it.clients.lonely)
    copies = min(3, len(brokers))
    wishes = {topic: [it.random.sample(brokers, copies) for _ in range(PARTITIONS)] for topic in topics}
    begin_move(it, wishes)
    yield
    await_moved(it, wishes)


@contextmanager
def partitions_are_moved(it: LoadedCluster, _: StoppableZooKeeper) -> Iterator[None]:
    """Moves the partitions of one topic from two brokers to two others if possible, those of the other topic to other
    leaders and, with more than three brokers, to other brokers. One of the brokers dies meanwhile.
    """
    brokers = it.cluster.broker_ids
    events, lonely = it.clients.events, it.clients.lonely
    pairs = [it.random.sample(brokers, 2) for _ in range(PARTITIONS)]
    begin_move(it, {lonely: pairs})
    await_moved(it, {lonely: pairs})
    wishes = {
        events: [it.random.sample(brokers, 3) for _ in range(PARTITIONS)],
        lonely: [other_pair(it, pair) for pair in pairs],
    }
    begin_move(it, wishes)
    with dead(it, it.random.choice(brokers)):
        it.await_progress()
    await_moved(it, wishes)
    wishes = {lonely: [it.random.sample(brokers, 3) for _ in range(PARTITIONS)]}
    begin_move(it, wishes)
    await_moved(it, wishes)
    yield


def other_pair(it: LoadedCluster, pair: list[int]) -> list[int]:
    """Returns another broker and one of these."""
    others = [broker for broker in it.cluster.broker_ids if broker not in pair]
    return it.random.sample([it.random.choice(others), it.random.choice(pair)], 2)


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
    a_leader_is_cut_off_from_its_controller,
)
