"""The text of a broker's `/metrics`."""

import urllib.request
from urllib.error import HTTPError

import pytest

__all__ = ["scraped"]

_NEEDED = ("kafka_server_brokertopicmetrics_messagesin_total", "kafka_server_replicamanager_leadercount")


def scraped(port: int) -> str:
    """Skips the test if the broker counts no traffic or no partitions, so that there is nothing to compare."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
            text: str = response.read().decode()
    except HTTPError as error:
        pytest.skip(f"/metrics answers {error.code}")
    missing = [name for name in _NEEDED if name not in text]
    if missing:
        pytest.skip(f"/metrics lacks {missing[0]}")
    return text
