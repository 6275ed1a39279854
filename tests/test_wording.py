"""Rules of wording that a machine can check, in docstrings, comments, pages, log lines, errors and names of tests."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from support.source_tree import (
    PACKAGES,
    PAGES,
    ROOT,
    dotted,
    functions_of,
    matches_exactly,
    name_of,
    nodes_of,
    python_files,
    tree_of,
)

DOCSTRING_LINES = 8


class Prose(NamedTuple):
    """A text for people, with the line where it begins."""

    line: int
    text: str


def text_of_page(path: Path) -> Prose:
    """A page without its blocks of code."""
    return Prose(
        1, re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), path.read_text(), flags=re.M | re.S)
    )


def docstring(node: ast.AST) -> Iterator[Prose]:
    """The docstring of a module, class or function, and strings behind the assignments in it that they explain."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text_of_node = ast.get_docstring(node)
        if text_of_node:
            yield Prose(node.body[0].lineno, text_of_node)
        for before, after in zip(node.body, node.body[1:], strict=False):
            match after:
                case ast.Expr(value=ast.Constant(value=str(text))) if isinstance(before, ast.Assign | ast.AnnAssign):
                    yield Prose(after.lineno, text)


STRING_OR_COMMENT = re.compile(
    r"""(?s:\"\"\"(?:\\.|.)*?\"\"\"|'''(?:\\.|.)*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\#(?P<comment>[^\n]*)"""
)


def comments(path: Path) -> Iterator[Prose]:
    """Found by a pattern, because Python's own tokenizer takes twenty times as long."""
    source = path.read_text()
    for found in STRING_OR_COMMENT.finditer(source):
        if found["comment"] is not None:
            yield Prose(source.count("\n", 0, found.start()) + 1, found["comment"].lstrip("# "))


def literal_text(node: ast.expr) -> str:
    """The text of a string; each value that an f-string fills in is ``{}``."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(literal_text(value) if isinstance(value, ast.Constant) else "{}" for value in values)
        case ast.BinOp(left=left, right=right):
            return literal_text(left) + literal_text(right)
        case ast.IfExp(body=body, orelse=other):
            return f"{literal_text(body)} / {literal_text(other)}"
    return ""


def messages(node: ast.AST) -> Iterator[Prose]:
    """The texts of a log line, of an error (raised or returned), of a command, or the help of its options."""
    match node:
        case ast.Raise(exc=ast.Call(args=values)):
            pass
        case ast.Call(func=called, args=values) if has_message(called):
            pass
        case ast.keyword(arg="help" | "description" | "epilog", value=value):
            values = [value]
        case _:
            return
    yield from (Prose(value.lineno, text) for value in values if (text := literal_text(value)))


def has_message(called: ast.expr) -> bool:
    """Whether a call of this function logs, prints, or makes an error."""
    name = dotted(called)
    *_, owner, last = ("", *name.split("."))
    return name.endswith(("Error", *PRINTERS)) or (last in LOG_METHODS and owner.lstrip("_") in ("logger", "log"))


PRINTERS = ("print", "sys.exit", "SystemExit", "parser.error", "stderr.write", "stdout.write")
LOG_METHODS = ("debug", "info", "warning", "error", "exception", "critical", "log")

# A text that begins like this hides its subject, unless it is a question.
HEADLESS = re.compile(
    r"\A(?:What|Who|Whose|Whom|Those|These of|Of (?!Kafka)|For those|Such|So|One that|That which|Where(?= \w+ is))\b"
    r"(?![^.]*\?)"
)
# A sentence or a point of a list that begins like this does so too.
HEADLESS_SENTENCE = re.compile(
    r"\n\n(?:So|Of)\b"
    r"|(?:\A|\n\n|(?<=[.;:])\s|^(?:[-*]|\d+\.)\s)(?:\*\*)?"
    r"(?:What|Whatever|Who|Whoever|Whose|Whom|Those|These of|For those|One that|That which|Nor)\b(?![^.]*\?)",
    re.MULTILINE,
)
# Turns of phrase that a reader has to read twice, each with what to write.
LEADS = "leads|led|fetches|fetched|follows|followed|asks|asked|waits|waited|reads|comes|came|goes|has gone|wants"
BANNED = {
    r"\bthose (?:of which|who)\b|\bones? who\b": "name the thing",
    r"\bof (?:which|whom) (?:it|there|nothing|nobody)\b": "name the thing",
    rf"\bwho (?:{LEADS})\b": "the leader, the fetcher, the client",
    r"\bnobody'?s (?:business|noise)\b|\bis nobody\b": "say what happens",
    r"\bfor (?:that|it) (?:may|is|was|has)\b": "because",
    r"\b(?:else|or) a thousand\b": "otherwise",
    r"\bas told\b": "as documented",
    r"\b(?:befall\w*|befell|henceforth|lest|thereof|wherefrom|nought)\b": "a plain word",
    r"\bwhat (?:is|was|are|were) (?:to be )?(?:asked|told|said|wanted|had|given|meant)\b": "name the thing",
    r"\bhad (?:there|it|they|he|she|this|these) (?:been|not|had)\b": "if",
    r"\bthe like\b(?! of)": "name it",
    r"\b(?:[Aa]n|[Tt]he|[Ii]ts|[Nn]o|late|leader's|controller's) answer\b": "response",
    r"\bgo(?:es)? by (?:the|a|it|its|what)\b": "uses",
    r"\bin (?:his|her) turn\b": "name the queue",
    r"\bthat (?:under|of|for|in|by|to|from|with) which\b": "name the thing",
    r"\bthat \w+ (?:comes|goes|is) \w+ which\b": "the step that ...",
    r"\b(?:what of|for what is)\b": "name the thing",
    r"\bthe rest (?:they|it|we)\b": "subject, verb, object",
    r"\b(?:he|she|his|him|her)\b": "a connection, a broker, a client is 'it'; a person is 'you' or 'they'",
}
UNREADABLE_TEST_NAME = re.compile(r"test_(?:so|those|these|what|who|whose|whom|that|of|for|it|such|they|nor|nobody)_")


def complaints_about(path: Path, prose: Prose) -> Iterator[str]:
    for pattern, instead in BANNED.items():
        found = re.search(pattern, prose.text)
        if found:
            line = prose.line + prose.text.count("\n", 0, found.start())
            yield f"{name_of(path)}:{line}: {found[0]!r}: {instead}"


def headless(path: Path, prose: Prose, pattern: re.Pattern[str]) -> Iterator[str]:
    for found in pattern.finditer(prose.text):
        line = prose.line + prose.text.count("\n", 0, found.end())
        text = prose.text[found.start() : found.start() + 60]
        yield f"{name_of(path)}:{line}: hides its subject: {text!r}"


SOURCES = python_files(*PACKAGES, "scripts", "tests")
# Scripts of the shell: files without a suffix, and those that they read.
SHELL_SCRIPTS = sorted(path for path in (ROOT / "scripts").iterdir() if path.suffix in ("", ".sh") and path.is_file())


def lines_of_script(path: Path) -> list[Prose]:
    """The comments of a script, and the texts that it prints."""
    lines = enumerate(path.read_text().splitlines(), 1)
    return [
        Prose(number, line.strip().lstrip("# "))
        for number, line in lines
        if re.match(r"\s*(?:#[^!]|echo|printf)", line)
    ]


# Sentences that the rules must reject: each had to be read twice.
REJECTED = (
    "What answers take whose clients do not read them, and requests that came with others which wait",
    "`guard`: that under which the transaction was verified which they would begin (None: it need not be).",
    "What one connection's requests took of the loop, and which of its next ones wait for a turn for that.",
    "So may the first of its API on a connection, until one was not: else a thousand newcomers had the loop.",
    "that step comes first which would be over first, had the sources shared the time evenly.",
    "For those of which it is not known yet whether they were written, that comes when it is.",
    "answers in memory that clients do not read, and those that wait, and what of a read waits for its turn",
    "Find out what is to be asked for; returns those partitions of which that may have changed.",
    "What stands behind `scripts/run` goes to `pybroker`",
    "Both need only Python 3.11 or newer; the rest they set up by themselves",
    "a setting that asks for what is missing says so at start, and one that promises protection refuses the start",
)


@pytest.mark.parametrize("sentence", REJECTED)
def test_sentences_that_were_hard_to_read_are_rejected(sentence: str) -> None:
    path, prose = Path(__file__), Prose(1, sentence)
    headless_lines = [*headless(path, prose, HEADLESS), *headless(path, prose, HEADLESS_SENTENCE)]
    assert [*complaints_about(path, prose), *headless_lines] != []


WITH_TEXT = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Raise, ast.Call, ast.keyword)
"""The nodes in which `docstring` and `messages` find texts: one of ten."""


@cache
def texts_of(path: Path) -> list[Prose]:
    if path.suffix == ".md":
        return [text_of_page(path)]
    if path in SHELL_SCRIPTS:
        return lines_of_script(path)
    with_text = (node for node in nodes_of(path) if isinstance(node, WITH_TEXT))
    in_code = [prose for node in with_text for prose in (*docstring(node), *messages(node))]
    return [*in_code, *comments(path)]


def test_sentences_use_plain_words() -> None:
    found = [
        complaint
        for path in [*SOURCES, *SHELL_SCRIPTS, *PAGES]
        for prose in texts_of(path)
        for complaint in complaints_about(path, prose)
    ]
    assert found == []


def test_texts_in_code_name_their_subject() -> None:
    found = [complaint for path in SOURCES for prose in texts_of(path) for complaint in headless(path, prose, HEADLESS)]
    assert found == []


def test_sentences_name_their_subject() -> None:
    paths = [*SOURCES, *SHELL_SCRIPTS, *PAGES]
    found = [line for path in paths for prose in texts_of(path) for line in headless(path, prose, HEADLESS_SENTENCE)]
    assert found == []


# The number of lines of each, and why it needs them.
LONG_DOCSTRINGS: dict[str, tuple[int, str]] = {
    "protocol/messages/fetch.py": (17, "eighteen versions"),
}


def test_docstrings_of_modules_are_short() -> None:
    lengths = {name_of(path): len((ast.get_docstring(tree_of(path)) or "").splitlines()) for path in SOURCES}
    matches_exactly(LONG_DOCSTRINGS, {name: lines for name, lines in lengths.items() if lines > DOCSTRING_LINES})


def test_names_of_tests_can_be_read_alone() -> None:
    unreadable = [
        name
        for path in python_files("tests")
        for name, function in functions_of(path)
        if UNREADABLE_TEST_NAME.match(function.name)
    ]
    assert unreadable == []
