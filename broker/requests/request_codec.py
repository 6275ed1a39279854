"""A codec that one API brings for its most frequent requests; the dispatcher uses it in place of the general codec."""

from typing import Any, Protocol, runtime_checkable

from ..network.request import Request

__all__ = ["HasRequestCodec", "RequestCodec"]


class RequestCodec(Protocol):
    """Decodes the requests and encodes the responses of one version of an API."""

    def decode(self, request: Request) -> Any | None:
        """The message for the handler; None when the general codec has to decode ``request``."""

    def learn(self, request: Request, message: Any, response: Any) -> None:
        """The general codec decoded ``request`` to ``message``, and the handler answered with ``response``. A codec may
        remember this and decode the next request like it."""


@runtime_checkable
class HasRequestCodec(Protocol):
    """A handler with a codec of its own."""

    def request_codec(self, version: int) -> RequestCodec | None:
        """None: this version has none."""
