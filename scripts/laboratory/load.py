"""The load of the laboratory: producers and consumers of librdkafka and Java, and what became of each record."""

import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from support.clients.librdkafka_reader import messages_to_end
from support.load.steady_producers import JAVA_PROGRAM, FoundRecords, number_of
from support.processes.java import java_command

from laboratory.cluster import PARTITIONS, TOPIC

__all__ = ["CLIENTS", "Load", "Outcome", "outcome_of"]

_HERE = Path(__file__).parent
_PAUSE_MS = 50
"""Between two records of a producer to one partition."""
CLIENTS = ("librdkafka", "Java")
_CONSUMERS = 2


@dataclass
class Outcome:
    """Numbers of records: acknowledged, and of these lost; in the log twice; behind a later one of their producer."""

    acknowledged: int = 0
    lost: int = 0
    doubled: int = 0
    reordered: int = 0

    def __add__(self, other: "Outcome") -> "Outcome":
        return Outcome(
            self.acknowledged + other.acknowledged,
            self.lost + other.lost,
            self.doubled + other.doubled,
            self.reordered + other.reordered,
        )


def outcome_of(acknowledged: set[tuple[int, int]], stored: Mapping[int, Sequence[int]]) -> Outcome:
    """Compares acknowledged records (partition, number) with the numbers in each partition's log, in its order."""
    outcome = Outcome(len(acknowledged))
    for partition in {*stored, *(partition for partition, _ in acknowledged)}:
        of_partition = [number for at, number in acknowledged if at == partition]
        found = FoundRecords(stored.get(partition, ()), of_partition)
        outcome.lost += len(found.lost)
        outcome.doubled += found.doubled
        outcome.reordered += found.out_of_order
    return outcome


class Load:
    """A producer and a group of two consumers of each kind of client. Output files are in `directory`."""

    def __init__(self, servers: str, directory: Path, debug: str = "") -> None:
        self._servers, self._directory = servers, directory
        directory.mkdir(parents=True)
        self._producers = {client: self._begin(client, "produce", 0, debug) for client in CLIENTS}
        self._consumers = [
            self._begin(client, "consume", number, "") for client in CLIENTS for number in range(_CONSUMERS)
        ]

    def wait_until_steady(self) -> None:
        """Waits until each producer and group has told of every partition."""
        while not all(
            len(self._times(client, what)) == PARTITIONS for client in CLIENTS for what in ("produce", "consume")
        ):
            time.sleep(0.2)

    def end(self) -> None:
        """Ends the producers after all their records are acknowledged, and the consumers at once."""
        for producer in self._producers.values():
            assert producer.stdin is not None
            producer.stdin.write(b"end\n")
            producer.stdin.close()
        for producer in self._producers.values():
            producer.wait()
        self.kill()

    def kill(self) -> None:
        for process in (*self._producers.values(), *self._consumers):
            process.kill()
            process.wait()

    def longest_gap_s(self, client: str, what: str, begun_ms: float, ended_ms: float) -> float:
        """Returns the longest time between two records of a partition in this period. `what`: produce or consume."""
        longest_ms = 0.0
        for times_ms in self._times(client, what).values():
            within = sorted(time_ms for time_ms in times_ms if begun_ms <= time_ms <= ended_ms)
            edges = [begun_ms, *within, ended_ms]
            longest_ms = max(longest_ms, *(later - earlier for earlier, later in pairwise(edges)))
        return longest_ms / 1000

    def outcome(self, client: str) -> Outcome:
        """Reads the whole topic and compares it with the acknowledgements."""
        acknowledged = {(partition, number) for partition, number, _ in self._lines(client, "produce")}
        return outcome_of(acknowledged, self._stored(client))

    def _stored(self, client: str) -> dict[int, list[int]]:
        """Returns the numbers of the client's records in each partition, in the order of the log."""
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": "check", "enable.partition.eof": True})
        stored: dict[int, list[int]] = {}
        for partition in range(PARTITIONS):
            consumer.assign([TopicPartition(TOPIC, partition, 0)])
            messages = [message for _, message in messages_to_end(consumer)]
            stored[partition] = [number_of(each) for each in messages if each.key() == client.encode()]
        consumer.close()
        return stored

    def _begin(self, client: str, what: str, number: int, debug: str) -> "subprocess.Popen[bytes]":
        place = [self._servers, TOPIC, client]
        if client == "librdkafka":
            arguments = [what, *place, str(PARTITIONS), str(_PAUSE_MS), *([debug] if debug else [])]
            command = [sys.executable, str(_HERE / "librdkafka_member.py"), *arguments]
        elif what == "produce":
            arguments = [*place, str(PARTITIONS), "0", str(_PAUSE_MS)]
            command = java_command(str(JAVA_PROGRAM), *arguments, heap="128m")
        else:
            command = java_command(str(_HERE / "LoadConsumer.java"), *place, heap="128m")
        out = self._file(client, what, number)
        with out.open("wb") as stdout, out.with_suffix(".log").open("wb") as stderr:
            return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr)

    def _file(self, client: str, what: str, number: int) -> Path:
        return self._directory / f"{client}-{what}-{number}.out"

    def _lines(self, client: str, what: str) -> list[tuple[int, int, int]]:
        """Returns partition, number and time in ms of all records that the clients told of."""
        found = []
        for number in range(_CONSUMERS if what == "consume" else 1):
            for line in self._file(client, what, number).read_text().splitlines():
                match line.split():  # the last line may be half written
                    case ["acked" | "read", partition, number_in_partition, time_ms]:
                        found.append((int(partition), int(number_in_partition), int(time_ms)))
        return found

    def _times(self, client: str, what: str) -> dict[int, list[int]]:
        times: dict[int, list[int]] = defaultdict(list)
        for partition, _, time_ms in self._lines(client, what):
            times[partition].append(time_ms)
        return times
