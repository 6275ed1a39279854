"""The compiled codec and the interpreter give the same bytes and messages, on generated messages."""

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pybroker.protocol.codec import DecodeError, EncodeError, Message, decode, decode_prefix, encode, interpreter
from pybroker.protocol.codec.decoder import decoder
from pybroker.protocol.codec.varint import MAX_UVARINT, read_uvarint, uvarint
from support.golden import all_message_types
from support.random_messages import messages

BOUNDED = settings(
    max_examples=5,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
TYPES = all_message_types()


@pytest.mark.parametrize("message_type", TYPES, ids=lambda message_type: message_type.__name__)
def test_messages_round_trip_through_both_codecs(message_type: type[Message]) -> None:
    @BOUNDED
    @given(st.data())
    def check(data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(list(message_type.MESSAGE.versions)))
        message = data.draw(messages(message_type, version))
        encoded = encode(message, version)
        assert encoded == interpreter.encode(message, version)
        assert decode(message_type, bytearray(encoded), version) == message
        assert interpreter.decode(message_type, encoded, version) == message
        counting = decoder(message_type, version, counts=True)
        assert counting(memoryview(encoded), 0, len(encoded), len(encoded)) == (message, len(encoded))
        framed = b"ab" + encoded + b"rest"
        assert decode_prefix(message_type, framed, version, 2) == (message, len(encoded) + 2)

    check()


@pytest.mark.parametrize("message_type", TYPES, ids=lambda message_type: message_type.__name__)
def test_another_version_gives_the_same_bytes_or_is_refused_by_both(message_type: type[Message]) -> None:
    versions = list(message_type.MESSAGE.versions)

    @settings(BOUNDED, max_examples=2)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        message = data.draw(messages(message_type, data.draw(st.sampled_from(versions))))
        version = data.draw(st.sampled_from(versions))
        assert outcome(encode, message, version) == outcome(interpreter.encode, message, version)

    check()


def outcome(codec_function: Any, *arguments: Any) -> Any:
    try:
        return codec_function(*arguments)
    except (EncodeError, DecodeError) as error:
        return "refused" if isinstance(error, DecodeError) else "unfit"


@BOUNDED
@given(st.integers(0, MAX_UVARINT), st.binary(max_size=3))
def test_unsigned_varints_round_trip(value: int, tail: bytes) -> None:
    encoded = uvarint(value)
    assert len(encoded) == max(1, math.ceil(value.bit_length() / 7))
    assert read_uvarint(memoryview(b"x" + encoded + tail), 1) == (value, 1 + len(encoded))


@pytest.mark.parametrize("value", [-1, MAX_UVARINT + 1])
def test_number_out_of_range_is_refused_as_a_varint(value: int) -> None:
    with pytest.raises(EncodeError):
        uvarint(value)
