"""Differences between releases of PySpark: read limits of Python sources began with 4.2.

Before 4.2, Spark asks a source for its latest offset without saying where the batch begins and which trigger the query
has. `TopicStreamReader` remembers where it is, and keeps `maxOffsetsPerTrigger`. It cannot know Trigger.AvailableNow,
for which Spark runs one batch: `start_available_now` ends such a query at the offsets that were the latest at its
start, after as many batches as that takes.
"""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter
from pyspark.util import InheritableThread

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

__all__ = [
    "BOUNDED",
    "HAS_READ_LIMITS",
    "DataSourceStreamArrowWriter",
    "ReadAllAvailable",
    "ReadMaxRows",
    "SupportsTriggerAvailableNow",
    "bounded_source",
    "start_available_now",
    "warn_of_single_batch",
]

logger = logging.getLogger(__name__)

BOUNDED = "endAtLatest"
"""Option of the source before Spark 4.2: the query reads nothing behind the offsets that were the latest at its start.
Jobs set it, and users may."""

HAS_READ_LIMITS = find_spec("pyspark.sql.streaming.datasource") is not None

if HAS_READ_LIMITS:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow
else:
    ReadAllAvailable = ReadMaxRows = SupportsTriggerAvailableNow = object

try:
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
except ImportError:  # before Spark 4.1, which gives Arrow batches to all that are an Arrow writer too

    class DataSourceStreamArrowWriter(DataSourceStreamWriter, DataSourceArrowWriter):  # type: ignore[no-redef]
        """Writes Arrow batches of a stream."""


def bounded_source(available_now: bool) -> dict[str, str]:
    """Returns the options of the source for `start_available_now`."""
    return {BOUNDED: "true"} if available_now and not HAS_READ_LIMITS else {}


def start_available_now(writer: Any) -> StreamingQuery:
    """Starts a query that reads what is there now, in batches of `maxOffsetsPerTrigger`, and then ends."""
    if HAS_READ_LIMITS:
        return writer.trigger(availableNow=True).start()
    query = writer.trigger(processingTime="0 seconds").start()

    def stop_at_the_end() -> None:
        try:
            query.processAllAvailable()
        except Exception:
            return  # the query failed or was stopped: Spark tells the thread that waits for it
        query.stop()

    InheritableThread(target=stop_at_the_end, daemon=True).start()
    return query


def warn_of_single_batch() -> None:
    """Logs what `maxOffsetsPerTrigger` means for Trigger.AvailableNow before Spark 4.2."""
    if not HAS_READ_LIMITS:
        logger.warning(
            "PySpark %s has no read limits: with Trigger.AvailableNow a query reads only one micro-batch of "
            "'maxOffsetsPerTrigger' offsets; to read all that is there, set '%s' to true, use "
            "trigger(processingTime='0 seconds'), and call processAllAvailable() and stop()",
            pyspark.__version__,
            BOUNDED,
        )
