"""The Spark data source "pybroker-log": rows of log directories of Kafka or pybroker, whether their
broker runs or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from ..columns.row_ddl import HEADERS_DDL, LOG_DDL, ROW_DDL
from ..options.log_options import log_options
from ..options.own_path import show_package_to_planners
from ..options.read_options import includes_headers

if TYPE_CHECKING:
    from .log_reader import LogReader


class PybrokerLogDataSource(DataSource):
    """Implements `spark.read.format("pybroker-log").load(path)`. Options: docs/user/pipeline.md."""

    @classmethod
    def name(cls) -> str:
        """Also prepares the session: Spark calls it when the source is registered, before it copies the class."""
        show_package_to_planners()
        return "pybroker-log"

    def schema(self) -> str:
        return ROW_DDL + (HEADERS_DDL if includes_headers(self.options) else "") + LOG_DDL

    def reader(self, schema: StructType) -> LogReader:
        from .log_reader import LogReader  # late: it imports PyArrow, which creating the source does not need

        return LogReader(log_options(self.options))
