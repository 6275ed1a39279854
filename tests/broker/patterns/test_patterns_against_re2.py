"""Patterns mean what they mean to RE2: the same texts are patterns, and they match the same names."""

from itertools import product

import re2
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.patterns.characters import NAMED_SETS
from pybroker.broker.patterns.error import PatternError
from pybroker.broker.patterns.pattern import Pattern, compile_pattern
from pybroker.broker.patterns.syntax import MOST_STATES
from support.examples import examples

_QUIET = re2.Options()
_QUIET.log_errors = False

# Pieces that stand in a generated pattern one after the other, in any order: many patterns are not valid.
PIECES = (
    *("a", "b", "c", "A", "k", "_", "-", "1", " ", ".", "^", "$", "\n", "é", "ſ", "\u212a", "{", "}", "[", "]", "\\"),
    *(
        "(",
        "(",
        ")",
        ")",
        "(?:",
        "(?i:",
        "(?P<n>",
        "(?<m>",
        "(?i)",
        "(?-i)",
        "(?s)",
        "(?m)",
        "(?U)",
        "(?-s)",
        "(?im-s:",
    ),
    *("|", "|", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0}", "{,2}", "{2,}", "{0,3}?", "{01}", "{3,2}"),
    *(r"\b", r"\B", r"\A", r"\z", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\pL", r"\PN", r"\p{Lu}", r"\p{Greek}"),
    *(r"\P{^Latin}", r"\p{Common}", r"\p{Any}", r"\Q.*\E", r"\Q", r"\E", r"\x41", r"\x{61}", r"\141", r"\07", r"\n"),
    *(
        r"\_",
        r"\-",
        r"\é",
        r"\1",
        r"\Z",
        r"\x4",
        r"\x{110000}",
        r"\pX",
        r"\p",
        r"\p{",
        "(?=",
        "(?!",
        "(?<=",
        "(?-)",
        "(?)",
    ),
    *("[ab]", "[^a]", "[a-c]", "[[:alpha:]]", "[[:^upper:]x]", "[^ſ]", "[k-é]", "[]a]", "[a-]", r"[\d-z]", r"[a-\d]"),
    *("[[:foo:]]", "[[:]", "[c-a]", r"[\pL\W]", r"[^\n]", r"[\]^]", r"[\Qa]", "[a--]", "[a-b-c]"),
)
patterns = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)
NAMES = ["".join(letters) for length in range(4) for letters in product("akK-1\n", repeat=length)]
"""All short names of a few characters: a name that was chosen by chance seldom matches a pattern that was."""


def compiled(text: str) -> Pattern | None:
    reading = compile_pattern(text)
    try:
        while True:
            next(reading)
    except PatternError:
        return None
    except StopIteration as end:
        pattern: Pattern = end.value
        return pattern


def matching(pattern: Pattern, names: list[str]) -> list[str]:
    """The names that match, found in one go."""
    steps = pattern.matching(names)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: list[str] = end.value
            return found


def compiled_by_re2(text: str) -> re2._Regexp | None:
    try:
        return re2.compile(text, _QUIET)
    except re2.error:
        return None


def assert_matches_as_by_re2(text: str, names: list[str]) -> None:
    """Both refuse the pattern, or both accept it and the same names match."""
    ours, theirs = compiled(text), compiled_by_re2(text)
    assert (ours is None) == (theirs is None)
    if ours is not None and theirs is not None:
        assert matching(ours, names) == [name for name in names if theirs.fullmatch(name)]


@settings(max_examples=examples(600))
@given(patterns)
def test_generated_patterns_are_accepted_and_match_as_by_re2(text: str) -> None:
    assert_matches_as_by_re2(text, NAMES)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Larger valid patterns from smaller ones."""
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map("(?:{0[0]}){0[1]}".format),
        inner.map("(?i:{})".format),
    )


valid_patterns = st.recursive(
    st.sampled_from(
        ["a", "k", "1", "-", "a1", ".", "[a1]", "[^k]", r"\b", r"\B", "^", "$", "(?m:^)", "(?m:$)", r"\w", ""]
    ),
    grown,
    max_leaves=12,
)


@settings(max_examples=examples(600))
@given(valid_patterns)
def test_valid_patterns_match_as_by_re2(text: str) -> None:
    if compiled(text) is None:
        assert "}" in text, "only repetitions make a short pattern too large"
    else:
        assert_matches_as_by_re2(text, NAMES)


@settings(max_examples=examples(200))
@given(patterns | valid_patterns)
def test_names_that_match_together_are_those_that_match_one_by_one(text: str) -> None:
    pattern = compiled(text)
    if pattern is None:
        return
    some = NAMES[::5]
    assert matching(pattern, some) == [name for name in some if matching(pattern, [name])]


def test_each_ascii_character_is_in_the_same_classes_as_by_re2() -> None:
    classes = [
        *(rf"\{escape}" for escape in "dDsSwW"),
        *(f"[[:{name}:]]" for name in [*NAMED_SETS, "^word", "^ascii"]),
        *(rf"\p{letter}" for letter in "CLMNPSZ"),
        *(rf"\p{{{name}}}" for name in ("Cc", "Ll", "Lt", "Lu", "Nd", "Pc", "Pd", "Pe", "Po", "Ps", "Sc", "Sk", "Sm")),
        *(rf"\p{{{name}}}" for name in ("Zs", "Any", "Latin", "Common", "Inherited", "Greek", "Yi")),
    ]
    characters = [chr(code) for code in range(128)]
    for each in classes:
        for text in (each, f"(?i){each}", f"[^{each}]", f"(?i)[^{each}]", each.replace(r"\p", r"\P")):
            assert_matches_as_by_re2(text, characters)


def test_letters_that_fold_into_ascii_match_as_by_re2() -> None:
    for letter in ("s", "S", "ſ", "k", "K", "\u212a", "é", "[ſ-ɐ]", "[^ſ]", r"\x{212A}"):
        for text in (letter, f"(?i){letter}", f"(?i)[{letter}]"):
            assert_matches_as_by_re2(text, ["s", "S", "k", "K", "e"])


def test_patterns_as_people_write_them_match_as_by_re2() -> None:
    topics = [
        "orders",
        "orders.v2",
        "Orders",
        "orders-dlq",
        "eu.orders",
        "eu-1.orders.v10",
        "payments",
        "__consumer_offsets",
    ]
    written = [
        "orders",
        "orders.*",
        r"orders(\.v\d+)?",
        r"^(eu|us)(-\d)?\.orders\..+$",
        "(?i)ORDERS",
        "[^_].*",
        r"\Qorders.v2\E",
        "(orders|payments)",
        "(?P<region>[a-z]{2}).*",
        ".*[^q]",
        ".+dlq",
        "",
    ]
    for text in written:
        assert_matches_as_by_re2(text, topics)


def test_count_of_nested_repetitions_is_limited_as_by_re2() -> None:
    for text in ("(?:a{2}){500}", "(?:a{2}){501}", "(?:(?:a{10}){10}){10}", "(?:(?:a{10}){10}){11}", "(?:a{1000}){1}"):
        assert (compiled(text) is None) == (compiled_by_re2(text) is None), text


def test_largest_count_of_states_is_what_a_pattern_may_have() -> None:
    half = MOST_STATES // 2
    assert compiled(f"(?:ab){{{half}}}") is not None
    assert compiled(f"(?:ab){{{half}}}c") is None
