"""Columns of the rows of both data sources as DDL. It does without PyArrow, which a process that only creates a data
source does not need.
"""

from __future__ import annotations

ROW_DDL = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
HEADERS_DDL = ", headers array<struct<key: string, value: binary>>"
LOG_DDL = ", leaderEpoch int, producerId bigint, codec string, batchPosition bigint, segment string"
