"""Makes names in DER, and writes the odd ones, one a line, for `NamesProbe.java`."""

__all__ = ["attribute", "name", "odd_names"]

PRINTABLE, UTF8, TELETEX, IA5, UNIVERSAL, BMP, OCTETS = 0x13, 0x0C, 0x14, 0x16, 0x1C, 0x1E, 0x04
OIDS = {
    "CN": "550403",
    "SN": "550404",
    "serialNumber": "550405",
    "C": "550406",
    "L": "550407",
    "ST": "550408",
    "STREET": "550409",
    "O": "55040a",
    "OU": "55040b",
    "title": "55040c",
    "GN": "55042a",
    "DNQ": "55042e",
    "email": "2a864886f70d010901",
    "UID": "0992268993f22c640101",
    "DC": "0992268993f22c640119",
    "big": "8837ffffff7f",
}


def _value(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def attribute(kind: str, content: bytes, tag: int = UTF8) -> bytes:
    return _value(0x30, _value(0x06, bytes.fromhex(OIDS[kind])) + _value(tag, content))


def name(*levels: bytes | tuple[bytes, ...]) -> bytes:
    """A name of levels, each with one attribute or several."""
    return _value(
        0x30, b"".join(_value(0x31, b"".join(part if isinstance(part, tuple) else (part,))) for part in levels)
    )


_CONTENTS = [
    b"",
    b" ",
    b"  ",
    b" a",
    b"a ",
    b"  a  b  ",
    b"\ra\r",
    b"\na\n",
    b"\ta",
    b"#a",
    b"a#b",
    b"a,b",
    b"a+b",
    b'a"b',
    b"a\\b",
    b"<a>",
    b"a;b",
    b"a=b",
    b"\0",
    b"a\0b",
    b"M\xc3\xbcller",
    b"\xff\xfe",
    b"\xc3",
    b"\xe2\x82",
    b"a\xf0\x9f\x98\x80b",
    b"\xed\xa0\x80",
    b"\\ ",
    b" \\",
    b"'()./:?-*@_&!",
    b"\x7f",
    b"\xc2\xa0x\xc2\xa0",
    b"x" * 300,
    b"\\00",
    b" #",
    b",",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
    b"\xe0\x80\x80",
]
_KINDS_OF_STRINGS = (
    name(attribute("CN", "aé".encode("utf-16-be"), BMP)),
    name(attribute("CN", "aé".encode("utf-32-be"), UNIVERSAL)),
    name(attribute("CN", b"a\xe9", TELETEX)),
    name(attribute("CN", b"a\xe9", PRINTABLE)),
    name(attribute("CN", b"a\xe9", IA5)),
    name(attribute("CN", b"a\xe9", 0x1B)),
    name(attribute("CN", b"\xd8\x3d\xde\x00\xd8\x00", BMP)),
    name(attribute("CN", "é".encode(), IA5)),
    name(attribute("CN", "é".encode(), TELETEX)),
    name(attribute("CN", b"a@b", IA5)),
    name(attribute("DC", b"org", IA5)),
    name(attribute("CN", b"a", PRINTABLE)),
    name(attribute("CN", b"ab", OCTETS)),
    name(attribute("CN", b"\x05", 0x02)),
    name(attribute("email", b"a@b", IA5)),
    name(attribute("CN", b"0b", 0x1B)),
    name(attribute("CN", b"12", 0x12)),
    name(attribute("CN", b"240101000000Z", 0x17)),
    name(attribute("big", b"a", OCTETS)),
)
_SHAPES = (
    name(),
    name(attribute("C", b"DE", PRINTABLE), attribute("O", "Müller, Söhne".encode()), attribute("CN", b"alice")),
    name((attribute("CN", b"alice"), attribute("UID", b"a1"))),
    name((attribute("UID", b"a1"), attribute("CN", b"alice"))),
    name(attribute("O", b"x"), (attribute("OU", b"b"), attribute("email", b"e", IA5), attribute("CN", b"a"))),
    name(attribute("DC", b"org", IA5), attribute("DC", b"example", IA5), attribute("CN", b"a")),
    name(attribute("CN", b"a"), attribute("CN", b"a")),
)


def odd_names() -> list[bytes]:
    contents = [name(attribute("CN", content)) for content in _CONTENTS]
    kinds = [name(attribute(kind, b"Value, 1")) for kind in OIDS]
    return [*contents, *kinds, *_KINDS_OF_STRINGS, *_SHAPES]


if __name__ == "__main__":
    for each in odd_names():
        print(each.hex())
