"""The streaming query that fills a table: each micro-batch becomes one commit, exactly once."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..options.read_options import ReadOptions
from ..topics.offset_ranges import OffsetRange
from ..topics.source_offsets import SourceOffsets
from ..topics.spark_release import bounded_source, start_available_now
from ..values.value_schema import ValueSchema
from .archive_rows import DATA, DEAD_LETTERS, PARTITIONED_BY, TABLE, archive_rows
from .batch_ranges import archive_options, batch_limits, batch_ranges, check_ranges
from .day_files import CODECS, WrittenFile, write_range
from .dead_letter_topic import DeadLetterTopic
from .done_commits import DoneCommits
from .file_rows import rows_by_file
from .footers import rows_by_footers
from .manifest import Commit, DataFile, PartitionRows, Ranges, batch_name
from .manifest_shortening import ManifestShortening
from .table_commits import STAGING, Attempt, TableCommits
from .table_files import HadoopFiles
from .table_formats import PARQUET, check_columns, logs_of
from .table_values import WantedValues, fixed_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.types import StructType

CHECKPOINT = "checkpoint"
_STAGED_COLUMNS = f"partition int, offset bigint, {TABLE} string, topic string, date string"


class Archive:
    """A table and the job that fills it. `done`: the commits that this job made.

    Tasks fetch their ranges of offsets and write the files themselves if they can reach the table by a path and support
    the codec. Otherwise, and when there is a JSON schema, Spark writes the rows of the micro-batch.
    """

    def __init__(
        self,
        spark: SparkSession,
        source: Mapping[str, str],
        root: str,
        json_schema: StructType | None = None,
        table_format: str = PARQUET,
        values: WantedValues | None = None,
    ) -> None:
        """`source`: options of the format "pybroker". `table_format`: "parquet", "delta" or "iceberg"; the
        logs of formats that the table already has are kept up to date too. `values`: how values are decoded, instead
        of `json_schema`. Raises OptionError and SchemaError.
        """
        self._spark = spark
        self._given = dict(source)
        self._source: ReadOptions = archive_options(self._given)
        self._json_schema = json_schema
        self._files = HadoopFiles(spark, root)
        self._table = TableCommits(self._files)
        self._shortening = ManifestShortening(self._files)
        self._logs = logs_of(self._files, table_format)
        self._values = values
        self._schema: ValueSchema | None = None
        letters = None if values is None else values.dead_letters
        self._dead_letters = None if letters is None else DeadLetterTopic(spark, source, *letters)
        self.done = DoneCommits()

    def start(self, *, available_now: bool, every: str = "0 seconds") -> StreamingQuery:
        """Starts the query where the last one stopped. Commits that an earlier run left unfinished
        are finished first. Raises SchemaError if the values can't be decoded into the table's columns."""
        self._table.recover()
        self._schema = fixed_schema(self._files, self._values)
        self._catch_up()
        given = self._given | bounded_source(available_now)
        frame = self._spark.readStream.format("pybroker").options(**given).load()
        writer = frame.writeStream.foreachBatch(self.commit_batch)
        writer = writer.option("checkpointLocation", f"{self._files.root}/{CHECKPOINT}")
        return start_available_now(writer) if available_now else writer.trigger(processingTime=every).start()

    def commit_batch(self, frame: DataFrame, batch_id: int) -> None:
        """Commits a micro-batch unless it is committed already: Spark repeats the last one after a crash.

        Raises ManifestError if the table has another batch with that number, or could not take the files' columns.
        """
        name = batch_name(batch_id)
        ranges = batch_ranges(self._files, CHECKPOINT, batch_id)
        if self._table.has(name, ranges):
            return
        prepared, letters = self._table.prepared(name, ranges), self._dead_letters
        attempt = prepared or self._attempt(frame, batch_id, ranges)
        check_columns(self._logs, self._files, f"{STAGING}/{attempt.directory}", attempt.moves)
        if letters is not None and any(path.startswith(f"{TABLE}={DEAD_LETTERS}/") for path in attempt.moves):
            if prepared is None:
                self._table.prepare(attempt)
            letters.send(f"{self._files.root}/{STAGING}/{attempt.directory}")
        self._table.publish(*attempt)
        if letters is not None:
            self._table.forget(name)
        for logs in self._logs:
            logs.add(attempt.commit)
        self.done.add(attempt.commit)
        self._shortening.maybe_shorten(batch_id, self._catch_up)

    def _attempt(self, frame: DataFrame, batch_id: int, ranges: Ranges) -> Attempt:
        """Writes the files of a micro-batch. Raises ManifestError if they have other offsets than its ranges."""
        name = batch_name(batch_id)
        directory = f"{name}-{uuid.uuid4()}"
        codec = CODECS.get(str(self._spark.conf.get("spark.sql.parquet.compression.codec")))
        place = self._files.local_path
        if place is None or codec is None or self._json_schema is not None or self._schema is not None:
            files = self._written_by_spark(frame, name, directory)
        else:
            files = self._written_by_tasks(name, batch_id, f"{place}/{STAGING}/{directory}", codec)
        check_ranges(name, files.values(), ranges)
        moves = {source: file.path for source, file in files.items()}
        return Attempt(Commit(name, ranges, tuple(files.values())), directory, moves)

    def rows_of(self, batch_id: int) -> int:
        """Returns the rows of a micro-batch that this job committed recently; 0 for others."""
        return self.done.rows_of(batch_name(batch_id))

    def _catch_up(self) -> None:
        for logs in self._logs:
            logs.catch_up(self._table.find, self._table.summary())

    def _written_by_tasks(self, name: str, batch_id: int, directory: str, codec: str) -> dict[str, DataFile]:
        """Returns the written files as they will be named in the table, by their path in `directory`."""
        start, end = batch_limits(self._files, CHECKPOINT, batch_id)
        with SourceOffsets(self._source) as offsets:
            ranges = offsets.ranges_between(start, end)
        if not ranges:
            return {}
        tasks = self._spark.sparkContext.parallelize(ranges, len(ranges))
        written = tasks.mapPartitions(_writer(self._source, f"{directory}/{TABLE}={DATA}", codec)).collect()
        sources = {f"{TABLE}={DATA}/{each.path}": each for each in sorted(written)}
        return {
            path: DataFile(_target(path, name), _topic(path), each.size_bytes, (each.rows,))
            for path, each in sources.items()
        }

    def _written_by_spark(self, frame: DataFrame, name: str, directory: str) -> dict[str, DataFile]:
        staged = f"{self._files.root}/{STAGING}/{directory}"
        rows = archive_rows(frame, self._json_schema, self._decode())
        rows.write.partitionBy(TABLE, *PARTITIONED_BY).parquet(staged)
        return self._staged_files(name, directory)

    def _decode(self) -> Callable[[str], Column] | None:
        if (schema := self._schema) is None or (values := self._values) is None:
            return None
        return lambda column: schema.decode(column, values.registry)

    def _staged_files(self, name: str, directory: str) -> dict[str, DataFile]:
        """Returns the written files as they will be named in the table, by their path in the staging directory."""
        staged = f"{STAGING}/{directory}/"
        sizes = {
            path.removeprefix(staged): size
            for path, size, _ in self._files.list(f"{STAGING}/{directory}")
            if path.endswith(".parquet")
        }
        from_footers = rows_by_footers(self._files, [f"{staged}{path}" for path in sizes])
        if from_footers is None:
            rows = self._rows_by_reading(directory)
        else:
            rows = {path.removeprefix(staged): (each,) for path, each in from_footers.items()}
        # A file without rows has no entry in `rows`.
        return {
            path: DataFile(_target(path, name), _topic(path), sizes[path], rows.get(path, ())) for path in sorted(sizes)
        }

    def _rows_by_reading(self, directory: str) -> dict[str, tuple[PartitionRows, ...]]:
        found: dict[str, list[PartitionRows]] = defaultdict(list)
        frame = self._spark.read.schema(_STAGED_COLUMNS).parquet(f"{self._files.root}/{STAGING}/{directory}")
        for row in rows_by_file(frame, TABLE, *PARTITIONED_BY).collect():
            path = f"{TABLE}={row[TABLE]}/topic={row['topic']}/date={row['date']}/{row['file']}"
            found[path].append(PartitionRows(row["partition"], row["rows"], row["first"], row["last"]))
        return {path: tuple(sorted(rows, key=lambda each: each.partition)) for path, rows in found.items()}


def _writer(source: ReadOptions, directory: str, codec: str) -> Callable[[Iterator[Any]], Iterator[WrittenFile]]:
    def write(ranges: Iterator[OffsetRange]) -> Iterator[WrittenFile]:
        for each in ranges:
            yield from write_range(each, source, directory, codec)

    return write


def _target(staged: str, name: str) -> str:
    """table=T/topic=…/date=…/part-….parquet → T/topic=…/date=…/<commit>-part-….parquet"""
    table, _, rest = staged.partition("/")
    directory, _, file = rest.rpartition("/")
    return f"{table.removeprefix(f'{TABLE}=')}/{directory}/{name}-{file}"


def _topic(staged: str) -> str:
    """Returns the topic in table=T/topic=…/date=…/part-….parquet"""
    return staged.split("/")[1].removeprefix("topic=")
