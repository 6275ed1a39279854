"""Ends a future that its waiter may have cancelled."""

from asyncio import Future

__all__ = ["set_done"]


def set_done(future: "Future[None]", _result: object = None) -> None:
    """Set the result None, unless the future is done. Takes and ignores the result of a step, as its callback."""
    if not future.done():
        future.set_result(None)
