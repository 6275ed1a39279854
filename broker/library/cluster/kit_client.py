"""The test kit of a broker in a process of its own, over HTTP."""

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Any

from ...test_kit.act_error import ActError, NotHereError, UnknownTopicError
from ...test_kit.act_steps import STEPS
from ...test_kit.routes import ELSEWHERE
from .ports import HOST

__all__ = ["KitClient"]

_TIMEOUT_S = 75.0
_BAD_REQUEST, _NOT_FOUND, _FIRST_ERROR = 400, 404, 400


class KitClient:
    """``name``: the broker, in words. ``port``: of its HTTP endpoint. Methods block.

    They raise ValueError for words that the broker refuses, and ActError when it cannot do it, or does not answer.
    """

    def __init__(self, name: str, port: int) -> None:
        self._name = name
        self._port = port

    def act(self, act: str, arguments: Mapping[str, Any]) -> Any:
        """The result of an act."""
        kind = "steps" if act in STEPS else "acts"
        return self._ask("POST", f"/v1/test/{kind}/{act}", arguments, not_found=UnknownTopicError)["result"]

    def set_fault(self, words: Mapping[str, Any]) -> int:
        """The id of the fault."""
        return int(self._ask("POST", "/v1/test/faults", words)["id"])

    def fired(self, fault: int, timeout_s: float = _TIMEOUT_S) -> int:
        """How often a fault has fired."""
        return int(self._ask("GET", f"/v1/test/faults/{fault}", timeout_s=timeout_s)["fired"])

    def remove_fault(self, fault: int) -> int:
        """How often the fault has fired."""
        return int(self._ask("DELETE", f"/v1/test/faults/{fault}")["fired"])

    def move_clock(self, move: Mapping[str, Any], wait_s: float) -> int:
        """The time in milliseconds since 1970 when what became due is done. Raises TimeoutError after ``wait_s``."""
        words = {**move, "wait_ms": round(wait_s * 1000)}
        late = wait_s + _TIMEOUT_S
        return int(self._ask("POST", "/v1/test/clock", words, timeout_s=late, failed=TimeoutError)["now_ms"])

    def reset(self) -> None:
        """Remove all faults, and end the trouble of the disk."""
        self._ask("POST", "/v1/test/reset")

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        timeout_s: float = _TIMEOUT_S,
        not_found: type[Exception] = ValueError,
        failed: type[Exception] = ActError,
    ) -> Mapping[str, Any]:
        connection = HTTPConnection(HOST, self._port, timeout=timeout_s)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            answer: Mapping[str, Any] = json.loads(response.read())
        except (OSError, HTTPException, ValueError) as error:
            raise ActError(f"{self._name} does not answer over HTTP: {error!r}") from error
        finally:
            connection.close()
        if response.status < _FIRST_ERROR:
            return answer
        text = str(answer.get("error", response.status))
        if response.status == ELSEWHERE:
            raise NotHereError(text)
        if response.status == _NOT_FOUND:
            raise not_found(text)
        if response.status == _BAD_REQUEST:
            raise ValueError(text)
        raise failed(text)
