"""Archives topics in the Spark session of the tests, and reads the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.clients.produced import Produced
from support.spark.spark_rows import found_in, source_options, with_retry

if TYPE_CHECKING:
    from pybroker.pipeline.archive.manifest import Commit
    from pyspark.sql import SparkSession

__all__ = ["Archiving"]


class Archiving:
    """Runs archive jobs that fill one table one after another."""

    def __init__(self, spark: SparkSession, servers: str, root: Path) -> None:
        self._spark = spark
        self._servers = servers
        self.root = root

    def run(self, *, json_schema: str | None = None, table_format: str = "parquet", **options: Any) -> list[Commit]:
        """Archives the available records; returns the new commits."""
        from pybroker.pipeline.archive.archive_query import Archive
        from pyspark.sql.types import StructType

        schema = None if json_schema is None else StructType.fromDDL(json_schema)
        options = {"startingOffsets": "earliest", "includeHeaders": "true", **options}

        def archive() -> list[Commit]:
            job = Archive(self._spark, source_options(self._servers, **options), str(self.root), schema, table_format)
            job.start(available_now=True).awaitTermination()
            return list(job.done)

        return with_retry(archive)

    def rows(self, table: str = "data") -> list[Produced]:
        from pybroker.pipeline.archive.archive_rows import read_archive

        return found_in(with_retry(lambda: read_archive(self._spark, str(self.root), table)))

    def faults(self) -> list[str]:
        from pybroker.pipeline.archive.archive_check import archive_faults

        return with_retry(lambda: list(archive_faults(self._spark, str(self.root))))

    def files(self, table: str = "data") -> Iterator[Path]:
        yield from sorted((self.root / table).rglob("*.parquet"))
