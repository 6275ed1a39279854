"""The error table agrees with Kafka's."""

import json
from pathlib import Path
from typing import Any

import pytest
from pybroker.protocol import errors
from pybroker.protocol.errors import (
    ErrorCode,
    KafkaError,
    NotLeaderOrFollowerError,
    RequestTimedOutError,
    UnknownServerError,
    error_for,
)

_FOLDER = Path(__file__).parent.parent / "reference"
REFERENCE: list[dict[str, Any]] = [
    entry
    for name in ("messages.json", "messages-of-kafka-4.json")
    for entry in json.loads((_FOLDER / name).read_text())["errors"]
]


def test_error_codes_equal_kafkas() -> None:
    assert {code.name: int(code) for code in ErrorCode} == {entry["name"]: entry["code"] for entry in REFERENCE}


@pytest.mark.parametrize("entry", [entry for entry in REFERENCE if entry["code"]], ids=lambda entry: entry["name"])
def test_each_error_code_has_its_exception(entry: dict[str, Any]) -> None:
    error = error_for(entry["code"])
    assert error.code == entry["code"]
    assert error.retriable is entry["retriable"]
    if type(error) is not RequestTimedOutError:
        assert type(error).__name__ == entry["exception"].removesuffix("Exception") + "Error"
    assert getattr(errors, type(error).__name__) is type(error)
    assert error.message is None
    assert str(error) == type(error).__doc__


def test_error_keeps_the_given_message() -> None:
    error = error_for(ErrorCode.NOT_LEADER_OR_FOLLOWER, "broker 2 leads")
    assert isinstance(error, NotLeaderOrFollowerError)
    assert (error.message, str(error)) == ("broker 2 leads", "broker 2 leads")


def test_error_code_of_a_newer_kafka_becomes_unknown_server_error() -> None:
    error = error_for(9999)
    assert type(error) is UnknownServerError
    assert "9999" in str(error)


def test_code_none_gives_no_error() -> None:
    with pytest.raises(ValueError, match="NONE"):
        error_for(ErrorCode.NONE)


def test_every_exception_has_its_own_code() -> None:
    classes = KafkaError.__subclasses__()
    declared = [each for each in classes if each.__module__ == errors.__name__]
    assert len({each.code for each in declared}) == len(declared) == len(REFERENCE) - 1


def test_error_message_with_a_very_long_quote_still_fits_into_a_response() -> None:
    error = UnknownServerError("\N{GRINNING FACE}" * 100_000)
    assert error.message is not None
    assert len(error.message.encode()) < 32_767
    assert str(error) == error.message
    assert str(UnknownServerError("x" * 4000)) == "x" * 4000
