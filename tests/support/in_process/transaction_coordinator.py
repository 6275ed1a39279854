"""A transaction coordinator that responds when a test tells it to."""

from collections.abc import Callable

from pybroker.protocol.errors import ErrorCode
from pybroker.replication.transaction_checks import TransactionPart

__all__ = ["TransactionCoordinator"]


class TransactionCoordinator:
    """`ask` is an `AskCoordinator`."""

    def __init__(self) -> None:
        self.asked: list[TransactionPart] = []
        self._waiting: list[Callable[[ErrorCode], None]] = []
        self._answer: ErrorCode | None = None

    def ask(self, part: TransactionPart, answered: Callable[[ErrorCode], None]) -> None:
        self.asked.append(part)
        if self._answer is None:
            self._waiting.append(answered)
        else:
            answered(self._answer)

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """Answer the oldest question."""
        self._waiting.pop(0)(code)

    def answer_last(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """Answer the latest question."""
        self._waiting.pop()(code)

    def answer_at_once(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """Answer all questions from now on at once."""
        self._answer = code
