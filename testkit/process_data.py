"""The data of a broker in a process of its own: copies of it, and files of its records."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..broker.faults.words import text_word
from ..broker.library.inspection.data_copies import DataCopies, Snapshot, empty
from ..broker.library.inspection.record_files import line_of, read_file
from .outside_appending import append_outside, create_as_for_a_producer
from .outside_kafka import OutsideKafka
from .outside_topics import open_outside

__all__ = ["ProcessData"]


class ProcessData(OutsideKafka):
    """As the methods of `Inspection` with these names. They block; the files' methods raise KafkaError and OSError too.

    ``data``: the only log directory of the broker. ``has_metadata``: whether the broker's metadata is there too.
    """

    def __init__(
        self, bootstrap_servers: str, data: Path, preferred_client: str | None = None, *, has_metadata: bool = True
    ) -> None:
        super().__init__(bootstrap_servers, preferred_client)
        self._data = data
        self._has_metadata = has_metadata
        self._copies = DataCopies()

    @abstractmethod
    def start(self) -> None:
        """Start it with the same data and port; return when it is ready. Raises StartError."""

    @abstractmethod
    def stop(self) -> None:
        """Stop it by SIGTERM."""

    def snapshot(self) -> Snapshot:
        """Stop the broker, copy its data, and start it again. The copy is kept until the broker is closed."""
        with self._stopped():
            return self._copies.take([str(self._data)])

    def restore(self, snapshot: Snapshot) -> None:
        """Stop the broker, put the data of a snapshot in place of its own, and start it again on the same port."""
        if not isinstance(snapshot, Snapshot):
            raise ValueError(f"restore needs what snapshot() returned, not {snapshot!r:.100}")
        with self._stopped():
            self._copies.put_back(snapshot, [str(self._data)])

    def reset(self) -> None:
        """Stop the broker, remove its data and faults, and start it as new on the same port. Its clock stays."""
        with self._stopped():
            empty(str(self._data))
        self.faults.clear()

    def dump(self, file: str | Path, *topics: str, committed_only: bool = True) -> int:
        """Write the records of topics to a file; return their number."""
        names = topics or sorted(self.topics())
        lines = [line_of(each) for name in names for each in self.records(name, committed_only=committed_only)]
        Path(file).write_text("".join(lines))
        return len(lines)

    def load(self, file: str | Path, topic: str | None = None) -> int:
        """Append the records of a file; return their number."""
        if topic is not None:
            text_word(topic, "topic")
        found = read_file(Path(file), topic, self._now_ms())
        with open_outside(self.bootstrap_servers) as cluster:
            for name, placed in found.items():
                create_as_for_a_producer(cluster, name, max(index for index, _ in placed) + 1)
                append_outside(cluster, name, placed)
        return sum(map(len, found.values()))

    @contextmanager
    def _stopped(self) -> Iterator[None]:
        if not self._has_metadata:
            raise RuntimeError("the broker's metadata is not in its log directory, which is not all of its data then")
        self.stop()
        try:
            yield
        finally:
            self.start()
