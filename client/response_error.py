"""The errors that brokers send in parts of their responses."""

from typing import Any

from ..protocol.errors import KafkaError, error_for

__all__ = ["response_error"]


def response_error(part: Any, what: object = "") -> KafkaError:
    """The error of a part of a response, which is about ``what``, in the broker's words if it sent any."""
    said = part.error_message or str(error_for(part.error_code))
    return error_for(part.error_code, f"{what}: {said}" if what else said)
