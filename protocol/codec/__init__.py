"""The codec: encodes messages to bytes and decodes them. Messages are declared with `wire.py`.

`interpreter.py` is a slow and simple codec that tests compare with the compiled one.
"""

from .decoder import decode, decode_prefix
from .encoder import Part, encode, encode_parts
from .errors import DecodeError, EncodeError, FieldNotInVersionError
from .wire import NULL_UUID, Message, Records, RecordsSource, Struct

__all__ = [
    "NULL_UUID",
    "DecodeError",
    "EncodeError",
    "FieldNotInVersionError",
    "Message",
    "Part",
    "Records",
    "RecordsSource",
    "Struct",
    "decode",
    "decode_prefix",
    "encode",
    "encode_parts",
]
