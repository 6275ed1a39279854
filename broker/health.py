"""The probes of a broker over HTTP: does it live, is it ready?"""

from .http.request import HttpRequest
from .http.response import HttpResponse
from .http.router import Router
from .lifecycle import Lifecycle

__all__ = ["Health"]


class Health:
    """Answers ``/livez`` and ``/readyz``, from the start to the end of the broker."""

    def __init__(self, router: Router, lifecycle: Lifecycle) -> None:
        self._lifecycle = lifecycle
        router.get("/livez", self.livez, is_public=True, is_for_probes=True)
        router.get("/readyz", self.readyz, is_public=True, is_for_probes=True)

    def livez(self, _request: HttpRequest) -> HttpResponse:
        """The event loop turns; nothing else is asked."""
        return HttpResponse.json({"status": "ok"})

    def readyz(self, _request: HttpRequest) -> HttpResponse:
        if self._lifecycle.is_running:
            return HttpResponse.json({"status": "ok"})
        reason = "the broker is stopping" if self._lifecycle.is_ending else "the broker is starting"
        return HttpResponse.json({"status": "not ready", "reasons": [reason]}, 503)
