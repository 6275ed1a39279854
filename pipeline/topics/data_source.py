"""The Spark data source "pybroker": reads and writes topics of any Kafka broker with the options of Spark's Kafka
source and sink, without a jar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from ..columns.row_ddl import HEADERS_DDL, ROW_DDL
from ..options.own_path import show_package_to_planners
from ..options.read_options import batch_options, includes_headers, stream_options
from ..options.write_options import write_options
from .spark_release import warn_of_single_batch

if TYPE_CHECKING:
    from .topic_reader import TopicReader
    from .topic_stream_reader import TopicStreamReader
    from .topic_writer import StreamTopicWriter, TopicWriter


class PybrokerDataSource(DataSource):
    """`spark.read.format("pybroker")`, `readStream`, `write`, `writeStream`; options: docs/user/pipeline.md.

    It imports readers and writers late: Spark keeps a Python process that creates the source and needs only its schema,
    and planning a query does not need librdkafka.
    """

    @classmethod
    def name(cls) -> str:
        """Also prepares the session: Spark calls it when the source is registered, before it copies the class."""
        show_package_to_planners()
        return "pybroker"

    def schema(self) -> str:
        return ROW_DDL + (HEADERS_DDL if includes_headers(self.options) else "")

    def reader(self, schema: StructType) -> TopicReader:
        from .topic_reader import TopicReader

        return TopicReader(batch_options(self.options))

    def streamReader(self, schema: StructType) -> TopicStreamReader:  # noqa: N802 (Spark's name)
        options = stream_options(self.options)
        if options.max_offsets is not None and not options.is_bounded:
            warn_of_single_batch()
        from .topic_stream_reader import TopicStreamReader

        return TopicStreamReader(options)

    def writer(self, schema: StructType, overwrite: bool) -> TopicWriter:
        from .topic_writer import TopicWriter

        return TopicWriter(write_options(self.options, schema, overwrite=overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamTopicWriter:  # noqa: N802 (Spark's name)
        from .topic_writer import StreamTopicWriter

        # Spark overwrites in output mode "complete"; a topic gets the whole result again, as by Spark's Kafka sink.
        return StreamTopicWriter(write_options(self.options, schema, overwrite=False))
