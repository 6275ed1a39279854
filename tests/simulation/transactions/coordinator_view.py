"""Reads the state of a broker's coordinators and logs that must be empty when no transaction is open."""

from collections.abc import Iterator

from pybroker.broker.coordinator.group.coordinator import GroupCoordinator
from pybroker.broker.coordinator.transaction.coordinator import TransactionCoordinator
from pybroker.broker.coordinator.transaction.end_markers import EndMarker
from pybroker.broker.coordinator.transaction.picture import TransactionPicture
from pybroker.broker.coordinator.transaction.records import decode_value, encode_value
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.replication.partition.hosted_partition import HostedPartition
from simulation.machines.simulated_broker import SimulatedBroker
from simulation.transactions.log_view import batches_in
from simulation.transactions.state_log_checker import StateLog, read_state_log

__all__ = [
    "STATE",
    "early_load",
    "early_marker",
    "group_leftovers",
    "leftovers",
    "log_leftovers",
    "memory_differs",
    "transactions_of",
]

STATE = "__transaction_state"


def transactions_of(broker: SimulatedBroker) -> TransactionCoordinator:
    assert broker.server is not None
    return broker.server._coordinators.transactions


def _groups_of(broker: SimulatedBroker) -> GroupCoordinator:
    assert broker.server is not None
    return broker.server._coordinators.groups


def early_marker(broker: SimulatedBroker, marker: EndMarker) -> str | None:
    """Why the marker may not be written yet: its decision is not committed."""
    hosted = _state_partition(broker, marker.state_partition)
    if hosted is None:
        return None
    high_watermark = hosted.partition.high_watermark
    batches = [batch for batch in batches_in(hosted.log) if batch.base_offset < high_watermark]
    picture = read_state_log(batches).pictures.get(marker.transactional_id)
    wanted = TransactionState.PREPARE_COMMIT if marker.is_commit else TransactionState.PREPARE_ABORT
    if picture is not None and picture.state is wanted:
        return None
    return f"{broker.name} writes {marker}, committed before offset {high_watermark} is {picture}"


def early_load(broker: SimulatedBroker, partition: int) -> str | None:
    """Why the broker may not coordinate the partition yet: its log is not committed."""
    hosted = _state_partition(broker, partition)
    if hosted is None:
        return None
    high_watermark, end_offset = hosted.partition.high_watermark, hosted.log.view.log_end_offset
    if high_watermark >= end_offset:
        return None
    return f"{broker.name} coordinates {STATE}-{partition}, of which {high_watermark} of {end_offset} are committed"


def _state_partition(broker: SimulatedBroker, number: int) -> HostedPartition | None:
    """None when its log directory has failed."""
    return next((each for each in broker.partitions() if each.topic_partition == (STATE, number)), None)


def memory_differs(broker: SimulatedBroker, logs: dict[int, StateLog]) -> Iterator[str]:
    """Where a coordinator's memory is not the content of its logs. ``logs``: by state partition."""
    registry = transactions_of(broker).registry
    for partition in registry.partitions():
        known = {
            each.transactional_id: _stored(each.current)
            for each in registry.transactions_in(partition)
            if not (_is_expiring(each) and each.transactional_id not in logs[partition].pictures)
        }
        logged = {name: _stored(picture) for name, picture in logs[partition].pictures.items()}
        for name in sorted(known.keys() | logged.keys()):
            if known.get(name) != logged.get(name):
                yield (
                    f"{broker.name}, {STATE}-{partition}, {name}: {known.get(name)} in memory, "
                    f"{logged.get(name)} in the log"
                )


def _is_expiring(transaction: Transaction) -> bool:
    """Whether its tombstone is being written: it leaves the memory when the tombstone is committed."""
    return transaction.pending is not None and transaction.pending.state is TransactionState.DEAD


def leftovers(broker: SimulatedBroker) -> Iterator[str]:
    """Work and memory that a transaction coordinator keeps although no transaction is open, and partitions that it has
    not loaded."""
    coordinator = transactions_of(broker)
    registry, changes = coordinator.registry, coordinator._changes
    queue = changes.delivery._queue
    kept = {
        "markers": queue._endings,
        "queues": queue._queues,
        "requests under way": queue._under_way,
        "waiting requests": changes.waiting._waiting,
        "completions": changes._completing,
        "appends": coordinator._appends._running,
        "markers to write here": changes.delivery._here,
    }
    for what, found in kept.items():
        if found:
            yield f"{broker.name}: {what} of transactions are left: {found}"
    led = [each.topic_partition.partition for each in broker.partitions() if _is_state_led(each)]
    if sorted(registry.partitions()) != sorted(led):
        yield f"{broker.name} coordinates {sorted(registry.partitions())} of {STATE}, and leads {sorted(led)}"
    transactions = [each for number in registry.partitions() for each in registry.transactions_in(number)]
    pending = [each.transactional_id for each in transactions if each.is_pending]
    if pending:
        yield f"{broker.name}: changes of {pending} are pending"
    used_bytes = sum(each.size_bytes for each in transactions)
    if registry.memory.used_bytes != used_bytes:
        yield f"{broker.name}: {registry.memory.used_bytes} bytes are counted, {used_bytes} are used by transactions"


def group_leftovers(broker: SimulatedBroker) -> Iterator[str]:
    """Offsets of transactions in groups although no transaction is open."""
    for group in _groups_of(broker).registry.groups():
        producers = list(group.offsets.producers)
        if producers:
            yield f"{broker.name}: group {group.group_id} has pending offsets of producers {producers}"


def log_leftovers(broker: SimulatedBroker) -> Iterator[str]:
    """Last stable offsets of partitions that this broker leads.

    A guard may be left: when its client was fenced, it stays until the producer id expires.
    """
    for hosted in broker.partitions():
        partition, log = hosted.partition, hosted.log
        if not partition.is_leader:
            continue
        stable = log.last_stable_offset(partition.high_watermark)
        if not stable == partition.high_watermark == log.view.log_end_offset:
            yield (
                f"{broker.name}, {log.topic_partition}: last stable offset {stable}, high watermark "
                f"{partition.high_watermark}, end {log.view.log_end_offset}"
            )


def _is_state_led(hosted: HostedPartition) -> bool:
    return hosted.topic_partition.topic == STATE and hosted.partition.is_leader


def _stored(picture: TransactionPicture) -> TransactionPicture:
    """As a record gives it back."""
    return decode_value(encode_value(picture, 0))
