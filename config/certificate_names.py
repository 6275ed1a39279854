"""Recognises names of certificates that no client can have, because Java spells such names in one way (RFC 2253).

Java prints ``CN=a,O=b``: no blanks around commas, nine keywords in capital letters, the last part of the name first.
"""

import re

__all__ = ["misspelt_certificate_name"]

_KEYWORDS = "CN|C|L|STREET|ST|OU|O|DC|UID"
_PLAIN = r'[^,=+<>#;"\\\0 ]'
_VALUE = rf"(?:(?! )(?:{_PLAIN}| |\\.)*(?:{_PLAIN}|\\.))?"
_PART = rf"(?:(?:{_KEYWORDS})={_VALUE}|(?:{_KEYWORDS}|\d+(?:\.\d+)+)=#(?:[0-9a-f]{{2}})+)"
_PRINTED = re.compile(rf"{_PART}(?:[,+]{_PART})*", re.DOTALL)
_OTHER_KEYWORDS = "S|T|E|EMAILADDRESS|SERIALNUMBER|SN|GN|GIVENNAME|SURNAME|INITIALS|TITLE"
"""Keywords of other tools. Java prints a number in their place."""
_BEGINS = re.compile(rf"/?\s*(?:{_KEYWORDS}|{_OTHER_KEYWORDS})\s*=", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s*(?<!\\)([,+])\s*")


def misspelt_certificate_name(name: str) -> str | None:
    """The likely spelling of a name that looks like that of a certificate, but that Java never prints; empty if it
    cannot be guessed. None for all other names."""
    if _BEGINS.match(name) is None or _PRINTED.fullmatch(name) is not None:
        return None
    likely = _of_openssl(name) if name.startswith("/") else _without_blanks(name)
    return likely if _PRINTED.fullmatch(likely) is not None else ""


def _without_blanks(name: str) -> str:
    pieces = _SEPARATOR.split(name)
    return "".join(piece if number % 2 else _part(piece) for number, piece in enumerate(pieces))


def _of_openssl(name: str) -> str:
    """``/C=DE/CN=a`` begins with the part that Java prints last."""
    return ",".join(map(_part, reversed(re.split(r"/(?=[A-Za-z]+\s*=)", name)[1:])))


def _part(text: str) -> str:
    keyword, equals, value = text.partition("=")
    return f"{keyword.strip().upper()}{equals}{value.strip()}"
