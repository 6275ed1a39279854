"""The interface by which the network layer reports the times of its requests.

The stages of a request have Kafka's meanings (RequestChannel): *received* when its frame is complete, *started* when
its handler is called, *handled* when the handler returns, *answered* when the response is known and encoded, *sending*
when earlier responses of the connection are gone, *sent* when its last byte was given to the kernel.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from .request import Request

__all__ = ["NOT_PROMPT", "FinishedRequest", "RequestTimer"]

FinishedRequest = tuple[Request, float, float, float, int, int]
"""A request, its times *received*, *started* and *handled*, and the bytes of its frame and of its response.

The handler returned the response, which did not wait for others. With `NOT_PROMPT` as *received* it is any request, and
all is in its attributes.
"""

NOT_PROMPT = float("-inf")


class RequestTimer(Protocol):
    """Gets each request when its response is sent, or when there is none to send.

    ``now_s``: a monotonic clock. Requests whose connection is lost before that are not reported.
    """

    now_s: Callable[[], float]

    def finished(self, requests: Sequence[FinishedRequest], sent_s: float) -> None: ...
