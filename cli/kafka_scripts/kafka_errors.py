"""Errors in the words of Kafka's Java classes, which its scripts print."""

from ...protocol.errors import ErrorCode, error_for, known_error_code

__all__ = ["check_code", "in_java_words", "java_message", "java_name"]

_PACKAGE = "org.apache.kafka.common.errors."
_TEXTS = {
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed to it."
    ),
    ErrorCode.OFFSET_OUT_OF_RANGE: (
        "The requested offset is not within the range of offsets maintained by the server."
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
}


def check_code(code: int, message: str | None) -> None:
    """Raises KafkaError in Java's words for a code other than 0."""
    if code:
        raise error_for(code, in_java_words(code, message))


def in_java_words(code: int, message: str | None) -> str:
    """The class and the message of the exception, as Java prints it."""
    return f"{java_name(code)}: {java_message(code, message)}"


def java_message(code: int, message: str | None) -> str:
    """The message of the exception."""
    return message or _TEXTS.get(known_error_code(code)) or str(error_for(code))


def java_name(code: int) -> str:
    return _PACKAGE + type(error_for(code)).__name__.removesuffix("Error") + "Exception"
