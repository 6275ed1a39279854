"""A clock for blocking clients of a cluster, on which their waits take no time."""

from __future__ import annotations

import pytest
from pybroker.client import cluster

__all__ = ["SkippedWaits"]


class SkippedWaits:
    """Stands in for the module `time` in `client/cluster.py`. `now_s`: how long the clients have waited."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        monkeypatch.setattr(cluster, "time", self)

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
