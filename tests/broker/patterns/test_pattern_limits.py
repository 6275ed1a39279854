"""No pattern hangs the broker or fills its memory. Work and memory are counted in states and steps, not in seconds."""

import pytest
from pybroker.broker.patterns.automaton import Automaton
from pybroker.broker.patterns.error import PatternError
from pybroker.broker.patterns.pattern import Pattern, check_pattern, compile_pattern
from pybroker.broker.patterns.syntax import MOST_CHARACTERS, MOST_NESTED, MOST_STATES, parse
from pybroker.broker.patterns.walk import MOST_SETS, Walk

HOSTILE = [
    "(a+)+$",
    "(a|aa)+b",
    "[ab]*a[ab]{1000}",
    "(?:a?){750}",
    "a?b?c?d?" * 120,
    "(?:a?b?c?d?){150}",
    r"(?:\b?){750}",
    r"\b" * 500,
    ".*" * 500,
    "(?:.*){749}",
    "(a*)*" * 150,
    "(" * MOST_NESTED + "a" + ")*" * MOST_NESTED,
    "|" * 999,
    "(){1000}" * 100,
    "(?:[ab]*a(?:[ab][ab]?){60}b?){7}",
    "(?:a|b)*a(?:(?:a|bb?)(?:b|aa?)){140}",
    "((a?b?)*c?){200}",
]
NAMES = ["ab" * 124, "a" * 249, "aab" * 83, "abc" * 80]


def compiled(text: str) -> Pattern:
    reading = compile_pattern(text)
    try:
        while True:
            next(reading)
    except StopIteration as end:
        pattern: Pattern = end.value
        return pattern


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_pattern_has_few_states_and_keeps_few_sets(text: str) -> None:
    automaton = Automaton(parse(text))
    assert automaton.size <= MOST_STATES + 1
    walk = Walk(automaton)
    for name in NAMES:
        for _ in walk.steps(name):
            assert walk.size <= MOST_SETS


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_pattern_needs_a_step_at_most_for_each_character_of_a_name(text: str) -> None:
    steps = sum(1 for _ in compiled(text).matching(NAMES))
    assert steps <= sum(map(len, NAMES))


def test_many_names_are_matched_in_many_steps() -> None:
    steps = sum(1 for _ in compiled("topic-.*").matching(f"topic-{number}" for number in range(10_000)))
    assert steps > 20


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a" * (MOST_CHARACTERS + 1), "longer than 1000 characters"),
        ("(?:abc){1000}", "more than 1500 states"),
        ("a{1001}", "more than 1000 repetitions"),
        ("(?:a{100}){100}", "more than 1000 repetitions within each other"),
        ("(" * 101 + ")" * 101, "nested more than 100 deep"),
        ("a(b", r"missing '\)' of a group \(character 2\)"),
        ("a)", r"'\)' without '\('"),
        ("ab[c", r"missing '\]' of a class \(character 3\)"),
        ("a**", "a repetition of a repetition"),
        ("*a", "nothing stands before the mark of repetition"),
        ("(?=a)", "a group of a kind that RE2 does not have"),
        (r"(a)\1", r"RE2 has no such escape \(character 4\)"),
        (r"a\C", "RE2 has no such escape"),
        ("a++", "a repetition of a repetition"),
        ("(?P<a>x)(?P<a>y)", "two groups have the same name"),
        ("(?P<a-b>x)", "a group's name"),
        ("a\\", "a backslash ends the pattern"),
        (r"\xg", "two hexadecimal digits"),
        (r"\x{110000}", "there is no such character"),
        (r"\p{Klingon}", "there is no property of this name"),
        ("[[:letters:]]", "there is no class of this name"),
        ("[z-a]", "the end of a range comes before its start"),
        ("a{3,2}", "the second number of a repetition is smaller"),
    ],
)
def test_refused_pattern_is_answered_with_the_reason_and_the_place(text: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        check_pattern(text)


def test_name_with_other_characters_than_ascii_never_matches() -> None:
    with pytest.raises(StopIteration, match=r"^\['e'\]$"):
        next(compiled(".*").matching(["é", "e"]))
