"""Answers the probes ``/livez``, ``/readyz``, ``/safe-to-stop`` and ``/buildinfo``."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING

from ...base.yielding import with_yields
from ...replication.run_in_pool import RunInPool
from ..http.request import HttpRequest
from ..http.response import HttpResponse
from ..http.router import Router
from ..metadata.metadata_cache import MetadataCache
from .readiness import Readiness, ReadinessParts
from .safe_to_stop import judge_stop

if TYPE_CHECKING:
    from ...protocol.messages.update_metadata import UpdateMetadataPartitionState

__all__ = ["Probes", "read_build_info"]


class Probes:
    """They answer from the start to the end of the broker. ``follow_cluster`` is called once the broker has an id."""

    def __init__(self, router: Router, parts: ReadinessParts) -> None:
        self.parts = parts
        self.readiness = Readiness(parts)
        self._cache: MetadataCache | None = None
        self._broker_id = -1
        self._min_isr: Callable[[str], int] = lambda _topic: 1
        router.get("/livez", self.livez, is_public=True, is_for_probes=True)
        router.get("/readyz", self.readyz, is_public=True, is_for_probes=True)
        router.get("/safe-to-stop", self.safe_to_stop)
        self._router = router

    def use_workers(self, run_in_pool: RunInPool, *, has_test_kit: bool) -> None:
        """From now on ``/buildinfo`` is answered, too. ``has_test_kit``: whether it says so."""

        async def buildinfo(_request: HttpRequest) -> HttpResponse:
            return HttpResponse.json({**await run_in_pool(read_build_info), "test_kit": has_test_kit})

        self._router.get("/buildinfo", buildinfo)

    def follow_cluster(self, cache: MetadataCache, broker_id: int, min_isr: Callable[[str], int]) -> None:
        """``min_isr``: min.insync.replicas of a topic."""
        self._cache, self._broker_id, self._min_isr = cache, broker_id, min_isr

    def livez(self, _request: HttpRequest) -> HttpResponse:
        """The event loop turns; nothing else is asked."""
        return HttpResponse.json({"status": "ok"})

    def readyz(self, request: HttpRequest) -> HttpResponse:
        """503 with reasons when the broker is not ready; with ``?verbose`` each check."""
        reasons = self.readiness.reasons()
        answer: dict[str, object] = {"status": "not ready", "reasons": reasons} if reasons else {"status": "ok"}
        if "verbose" in request.query:
            answer["checks"] = {name: why or "ok" for name, why in self.readiness.checks().items()}
        return HttpResponse.json(answer, 503 if reasons else 200)

    async def safe_to_stop(self, _request: HttpRequest) -> HttpResponse:
        """503 with reasons when a partition would suffer."""
        reasons = self.readiness.reasons()
        if reasons or self._cache is None:
            return HttpResponse.json({"status": "not safe", "partitions": 0, "reasons": reasons}, 503)
        verdict = await judge_stop(_partitions(self._cache), self._broker_id, self._min_isr, self._cache.is_alive)
        answer = {
            "status": "safe" if verdict.is_safe else "not safe",
            "partitions": verdict.partitions,
            "reasons": verdict.reasons,
            "partitions_without_spare_replica": verdict.without_spare,
        }
        return HttpResponse.json(answer, 200 if verdict.is_safe else 503)


def _partitions(cache: MetadataCache) -> "AsyncIterator[tuple[str, UpdateMetadataPartitionState]]":
    """All partitions of the cluster; other tasks run between them."""
    return with_yields((topic, state) for topic in cache.topics for state in cache.partitions(topic))


def read_build_info() -> Mapping[str, str]:
    """The versions of the program; blocks at the first call."""
    from .build_info import build_info  # imports importlib.metadata, which takes some milliseconds

    return build_info()
