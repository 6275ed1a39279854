"""The series of the process have the values that the operating system gives."""

import asyncio
import os
import resource
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pybroker.broker.metrics.broker_metrics import BrokerMetrics
from pybroker.broker.metrics.exposition import OPEN_METRICS, TEXT
from pybroker.broker.metrics.series.table import SECTIONS
from pybroker.config.load import load_config


def scraped_values() -> dict[str, float]:
    async def scrape() -> str:
        content_type, pieces = BrokerMetrics(load_config(""), lambda: 0).scrape("text/plain")
        assert content_type == TEXT
        return b"".join([piece async for piece in pieces]).decode()

    families = text_string_to_metric_families(asyncio.run(scrape()))
    return {sample.name: sample.value for family in families for sample in family.samples}


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs Linux")
def test_series_of_the_process_agree_with_the_operating_system() -> None:
    cpu_before = time.process_time()
    values = scraped_values()
    (rows,) = [rows for title, rows in SECTIONS if title == "Process"]
    assert {row.name for row in rows} <= set(values)
    assert cpu_before <= values["process_cpu_seconds_total"] <= time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert peak / 10 < values["process_resident_memory_bytes"] <= peak * 1.1
    assert values["process_virtual_memory_bytes"] > values["process_resident_memory_bytes"]
    assert abs(time.time() - values["process_start_time_seconds"]) < 24 * 3600
    assert abs(values["process_open_fds"] - len(os.listdir("/proc/self/fd"))) < 20
    assert values["process_threads"] >= 1


def test_accept_header_decides_the_format() -> None:
    content_type, pieces = BrokerMetrics(load_config(""), lambda: 0).scrape("application/openmetrics-text")
    assert content_type == OPEN_METRICS

    async def last() -> bytes:
        return [piece async for piece in pieces][-1]

    assert asyncio.run(last()) == b"# EOF\n"
