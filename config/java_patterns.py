"""Translates patterns of Java's ``java.util.regex`` to Python's ``re``.

Only constructs that mean the same in both, or can be rewritten, are accepted. A pattern decides who a client is, so a
difference that nobody notices would be worse than a refusal.
"""

import re

__all__ = ["PatternError", "translate_pattern"]

_LINE_END = "\\n\\r\\x85\\u2028\\u2029"
_ANY = f"[^{_LINE_END}]"
_END = f"(?=(?:\\r\\n|[{_LINE_END}])?\\Z)"
_CLASSES = "dDwWsS"  # with re.ASCII the same in both languages
_CONTROLS = "tnrfa"
_QUANTIFIER = re.compile(r"\{\d+(?:,\d*)?\}")
_GROUP = re.compile(r"\((?:\?(?::|=|!|<=|<!|>|i\)|i:|<(?P<name>[a-zA-Z][a-zA-Z0-9]*)>))?")
_NAMED_REFERENCE = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>")


class PatternError(ValueError):
    """The pattern is malformed, or uses what is not accepted; the message says what."""


def translate_pattern(java: str) -> re.Pattern[str]:
    """The compiled Python pattern that matches the same texts.

    Raises:
        PatternError: there is none, or it is malformed.
    """
    translated = _Translation(java).result()
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None


class _Translation:
    def __init__(self, java: str) -> None:
        self._java = java
        self._position = 0

    def result(self) -> str:
        parts = []
        while self._position < len(self._java):
            parts.append(self._next())
        return "".join(parts)

    def _next(self) -> str:
        character = self._java[self._position]
        match character:
            case "\\":
                return self._escape(in_class=False)
            case "[":
                return self._character_class()
            case "(":
                return self._group()
            case "{":
                return self._take(_QUANTIFIER, "a brace that is no quantifier").group()
        self._position += 1
        return {".": _ANY, "$": _END}.get(character, character)

    def _take(self, pattern: re.Pattern[str], otherwise: str) -> re.Match[str]:
        found = pattern.match(self._java, self._position)
        if found is None:
            raise PatternError(f"{otherwise} at character {self._position + 1}")
        self._position = found.end()
        return found

    def _group(self) -> str:
        found = self._take(_GROUP, "a group of an unknown kind")
        if found["name"] is not None:
            return f"(?P<{found['name']}>"
        if found.group() == "(?i)" and found.start() > 0:
            raise PatternError("(?i) may only be at the start")
        if self._java.startswith("?", found.end()):
            raise PatternError(f"a group of an unknown kind at character {found.start() + 1}")
        return found.group()

    def _escape(self, *, in_class: bool) -> str:
        if self._java.startswith("\\k", self._position) and not in_class:
            return f"(?P={self._take(_NAMED_REFERENCE, 'a reference without a name')[1]})"
        if self._java.startswith("\\Q", self._position):
            return self._quotation()
        escaped = self._java[self._position + 1 : self._position + 2]
        after = self._java[self._position + 2 : self._position + 3]
        self._position += 2
        is_reference = escaped.isascii() and escaped.isdigit() and escaped != "0" and not after.isdigit()
        is_word = escaped.isalnum() and escaped.isascii()
        if escaped and (not is_word or escaped in _CLASSES + _CONTROLS or (not in_class and is_reference)):
            return f"\\{escaped}" if escaped.isascii() else escaped
        if escaped in ("b", "B") and not in_class:
            return f"\\{escaped}"
        raise PatternError(f"\\{escaped} is not supported" if escaped else "it ends with a backslash")

    def _quotation(self) -> str:
        end = self._java.find("\\E", self._position)
        end = len(self._java) if end < 0 else end
        quoted = self._java[self._position + 2 : end]
        self._position = end + 2
        return re.escape(quoted)

    def _character_class(self) -> str:
        start = self._position
        parts = ["["]
        self._position += 1
        if self._java.startswith("^", self._position):
            parts.append("^")
            self._position += 1
        if self._java.startswith("]", self._position):
            raise PatternError("] as the first character inside [] is not supported")
        while not self._java.startswith("]", self._position):
            if self._position >= len(self._java):
                raise PatternError(f"[ at character {start + 1} has no end")
            if self._java.startswith(("[", "&&"), self._position):
                raise PatternError("classes inside [] are not supported")
            parts.append(self._class_character())
        self._position += 1
        return "".join([*parts, "]"])

    def _class_character(self) -> str:
        character = self._java[self._position]
        if character == "\\":
            return self._escape(in_class=True)
        self._position += 1
        # Python warns of doubled signs, which it may read as operators one day.
        return f"\\{character}" if character in "&|~" else character
