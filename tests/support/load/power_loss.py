"""Simulates a power loss for the data of a killed broker: unsynced data is lost, torn or garbled.

Data below the recovery points on disk is synced, and so are checkpoints and metadata. Segment ends beyond the recovery
point, their indexes and producer snapshots are not.
"""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.record import read_records

__all__ = ["StoredLog", "lose_power", "recovery_points", "tear_tails"]

RECOVERY_POINTS = "recovery-point-offset-checkpoint"


def recovery_points(data: Path) -> dict[str, int]:
    """Returns recovery points by partition directory; {} without a checkpoint."""
    path = data / RECOVERY_POINTS
    if not path.exists():
        return {}
    entries = [line.split() for line in path.read_text().splitlines()[2:]]
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in entries}


@dataclass
class StoredLog:
    """A partition's directory, read without the broker."""

    directory: Path

    @property
    def segments(self) -> list[Path]:
        return sorted(self.directory.glob("*.log"))

    def records(self, batches: list[RecordBatch]) -> list[tuple[int, bytes | None]]:
        """Returns offsets and values."""
        return [(record.offset, record.value) for batch in batches for record in read_records(batch)]

    def batches(self) -> list[RecordBatch]:
        return [batch for segment in self.segments for batch in iter_batches(segment.read_bytes())]

    def synced_bytes(self, segment: Path, recovery_point: int) -> int:
        """Returns the bytes of this segment's batches below the recovery point."""
        end = 0
        for batch in iter_batches(segment.read_bytes()):
            if batch.next_offset > recovery_point:
                break
            end = batch.end
        return end


def lose_power(log: StoredLog, recovery_point: int, random: Random) -> list[tuple[int, bytes | None]]:
    """Damages unsynced data at random. Returns the records before the first damage, which must survive."""
    intact: list[RecordBatch] = []
    is_whole = True
    for segment in log.segments:
        data = segment.read_bytes()
        synced = log.synced_bytes(segment, recovery_point)
        at = _harm(segment, data, synced, random)
        for batch in iter_batches(data):
            is_whole = is_whole and batch.end <= at
            if is_whole:
                intact.append(batch)
        is_whole = is_whole and at >= len(data)
        if synced < len(data):
            _harm_beside(segment, random)
    return log.records(intact)


def _harm(segment: Path, data: bytes, synced: int, random: Random) -> int:
    """Returns where the damage begins; the end if there is none."""
    if synced == len(data):
        return len(data)
    at = random.randrange(synced, len(data))
    match random.randrange(5):
        case 0:
            return len(data)
        case 1:
            segment.write_bytes(data[:at])
        case 2:
            segment.write_bytes(data[:at] + bytes(len(data) - at))
            # The original bytes may be zeros, too.
            return at
        case 3:
            segment.write_bytes(data[:at] + random.randbytes(len(data) - at))
        case _:
            garbled = bytearray(data)
            garbled[at] ^= 1 << random.randrange(8)
            segment.write_bytes(garbled)
    return at


def _harm_beside(segment: Path, random: Random) -> None:
    """Damages the indexes of a segment that is not fully synced, and the snapshots from there."""
    for suffix in (".index", ".timeindex"):
        path = segment.with_suffix(suffix)
        if path.exists():
            _spoil(path, random)
    for snapshot in segment.parent.glob("*.snapshot"):
        if int(snapshot.stem) > int(segment.stem):
            _spoil(snapshot, random)


def _spoil(path: Path, random: Random) -> None:
    data = path.read_bytes()
    match random.randrange(5):
        case 0:
            path.unlink()
        case 1:
            path.write_bytes(data[: random.randrange(len(data) + 1)])
        case 2:
            path.write_bytes(bytes(len(data)))
        case 3:
            path.write_bytes(random.randbytes(len(data)))
        case _:
            pass


def tear_tails(log: StoredLog, random: Random) -> None:
    """Simulates an interrupted write: appends a part of a batch, noise or zeros."""
    segment = log.segments[-1]
    data = segment.read_bytes()
    batches = list(iter_batches(data))
    last = bytes(batches[-1].view()) if batches else random.randbytes(100)
    pieces = (last[: random.randrange(len(last))], random.randbytes(200), bytes(300), last[:61] + bytes(50))
    torn = random.choice(pieces)
    segment.write_bytes(data + torn)
