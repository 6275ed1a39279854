"""Text of a distinguished name as Java's ``X500Principal.getName()`` prints it (RFC 2253).

Kafka names a TLS client by this text, and ACLs and mapping rules refer to it. Java knows nine keywords; any other
attribute is printed by its number, with its value in hexadecimal. Old versions of Java read every kind of string as
UTF-8. This is the way of newer ones, which differs for letters outside ASCII in kinds of strings that are out of use.
"""

import re

from ....base.key_stores.der import OID, SEQUENCE, SET, DerError, children, oid_text, only

__all__ = ["distinguished_name"]

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_UTF8 = 0x0C
_BMP = 0x1E
_STRING_TAGS = frozenset({_UTF8, 0x13, 0x14, 0x16, 0x1B, _BMP})
_ESCAPED = str.maketrans({character: f"\\{character}" for character in ',=+<>#;"\\'} | {"\0": "\\00"})
_BLANKS = " \r"
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


def distinguished_name(encoded: bytes) -> str:
    """The text of a name in DER: the last part first, and the parts of one level joined by ``+``.

    Raises:
        DerError: it is no name.
    """
    levels = [_level(level.content) for level in children(only(encoded, SEQUENCE).content) if _is(level.tag, SET)]
    return ",".join(reversed(levels))


def _is(tag: int, expected: int) -> bool:
    if tag != expected:
        raise DerError("a name is malformed")
    return True


def _level(content: bytes) -> str:
    return "+".join(_attribute(attribute.content) for attribute in children(content) if _is(attribute.tag, SEQUENCE))


def _attribute(content: bytes) -> str:
    parts = list(children(content))
    if len(parts) != 2 or parts[0].tag != OID:
        raise DerError("an attribute of a name is malformed")
    kind, value = oid_text(parts[0].content), parts[1]
    keyword = _KEYWORDS.get(kind)
    if keyword is None or value.tag not in _STRING_TAGS:
        return f"{keyword or kind}=#{value.encoded.hex()}"
    return f"{keyword}={_escape(_decode(value.tag, value.content))}"


def _decode(tag: int, content: bytes) -> str:
    """As Java does: wrong bytes of UTF-8 become replacement characters, a surrogate becomes a single one."""
    if tag == _BMP:
        try:
            return content.decode("utf-16-be")
        except UnicodeDecodeError as error:
            raise DerError("a name has a malformed string") from error
    if tag == _UTF8:
        return _SURROGATE.sub(_REPLACEMENT, content).decode(errors="replace")
    return content.decode("latin-1")


def _escape(text: str) -> str:
    escaped = text.translate(_ESCAPED)
    inner = escaped.strip(_BLANKS)
    if len(inner) == len(escaped):
        return escaped
    lead = len(escaped) - len(escaped.lstrip(_BLANKS))
    before, after = escaped[:lead], escaped[lead + len(inner) :]
    return f"{_escape_each(before)}{inner}{_escape_each(after)}"


def _escape_each(blanks: str) -> str:
    return "".join(f"\\{blank}" for blank in blanks)
