"""The states of share partitions where this broker does not serve share groups: each call fails.

Share groups that were stored earlier are loaded nevertheless, so that their members end with their sessions.
"""

from collections.abc import Callable

from ....protocol.errors import ErrorCode
from .ports import SharePartitionKey, StateRead, StateSummary, StateWrite

__all__ = ["NoShareStates"]

_CODE = ErrorCode.UNSUPPORTED_VERSION


class NoShareStates:
    """Implements `ShareState`, whose docstrings are not repeated."""

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Callable[[ErrorCode], None]
    ) -> None:
        done(_CODE)

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateRead | ErrorCode], None]) -> None:
        done(_CODE)

    def write(self, key: SharePartitionKey, write: StateWrite, done: Callable[[ErrorCode], None]) -> None:
        done(_CODE)

    def delete(self, key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        done(_CODE)

    def read_summary(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateSummary | ErrorCode], None]
    ) -> None:
        done(_CODE)
