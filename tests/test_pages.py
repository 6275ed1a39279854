"""Rules of pages that a machine can check: their links, the files and names that they mention, and their length."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.source_tree import PACKAGES, PAGES, ROOT, name_of, nodes_of, python_files

README_LINES = 130
ARCHITECTURE_LINES = 200
RECIPE_LINES = 10
WORDS_OF_DOCS = 30_000
"""The limit is for pages that are written by hand; generated pages are for looking things up."""
GENERATED_PAGES = frozenset(("settings.md", "metrics.md", "events.md", "commands.md", "doctor.md", "spark-options.md"))
LARGE_FILE_LINES = 200

LINK = re.compile(r"\]\(\s*<?([^)\s#>]*)(?:#([^)\s>]+))?>?(?:\s+[\"'(][^\n]*?[\"')])?\s*\)")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
# Files as pages name them: `storage/log/log.py`, or by the name alone.
FILE_NAME = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md|toml|yaml))`")


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = HEADING.findall(BLOCK.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_to_a_file_and_a_section() -> None:
    dead = []
    for page in PAGES:
        for link, anchor in LINK.findall(page.read_text()):
            target = (page.parent / link).resolve() if link else page
            if "://" not in link and (not target.exists() or (anchor and anchor not in anchors_of(target))):
                dead.append(f"{name_of(page)}: {link}#{anchor}")
    assert dead == []


def test_links_are_found_with_and_without_a_title() -> None:
    links = """[a](b.md) [a](b.md#c) [a](b.md "t") [a](b.md#c "(t)") [a](<b.md> 't') [a](b.md (t)) [a](
    b.md)"""
    assert [link for link, _ in LINK.findall(links)] == ["b.md"] * 7


@cache
def known_paths() -> list[str]:
    """Files and folders of the repository, folders with a slash at the end."""
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.is_file()]
    files = [*python_files(*PACKAGES, "scripts", "tests"), *ROOT.glob("*.*"), *scripts, *PAGES]
    folders = {folder for path in files for folder in path.parents if folder.is_relative_to(ROOT) and folder != ROOT}
    folders |= {path for path in (ROOT / "tests" / "reference").rglob("*") if path.is_dir()}
    return [*map(name_of, files), *(f"{name_of(folder)}/" for folder in folders)]


def is_known(name: str) -> bool:
    """Whether a file or folder has the path, or one that ends like it."""
    return any(f"/{path}".endswith((f"/{name}", f"/{name}/")) for path in known_paths())


def test_files_that_pages_name_exist() -> None:
    missing = [
        f"{name_of(page)}: {name}"
        for page in PAGES
        for name in FILE_NAME.findall(page.read_text())
        if not is_known(name)
    ]
    assert missing == []


# A path without a suffix: `scripts/test`, `storage/log/`.
PATH = re.compile(r"`((?:[\w-]+/)+[\w-]*)`|`(scripts/[\w-]+)[ `]")


def test_folders_and_scripts_that_pages_name_exist() -> None:
    code = python_files(*PACKAGES, "scripts", "tests")
    folders = {part for path in code for part in path.relative_to(ROOT).parts[:-1]}
    named = [(page, first or second) for page in PAGES for first, second in PATH.findall(page.read_text())]
    ours = [
        (page, name)
        for page, name in named
        if name.split("/")[0] in folders or (name.count("/") == 1 and name[-1] == "/")
    ]
    assert [f"{name_of(page)}: {name}" for page, name in ours if not is_known(name)] == []


def test_paths_in_the_drawings_of_the_architecture_exist() -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "architecture.md").read_text())
    named = {name for block in blocks for name in re.findall(r"(?:[\w-]+/)+(?:[\w-]+\.\w+)?|\b[\w-]+\.py\b", block)}
    assert len(named) > 40
    assert sorted(name for name in named if not is_known(name)) == []


class NamesInCode(NamedTuple):
    """``words``: identifiers, module names, words of strings. ``members``: of each class, inherited ones too."""

    words: set[str]
    members: dict[str, set[str]]


@cache
def names_in_code() -> NamesInCode:
    files = [*python_files(*PACKAGES, "scripts", "tests"), *ROOT.glob("*.py")]
    files.remove(Path(__file__))
    words = {path.stem for path in files}
    members: dict[str, set[str]] = defaultdict(set)
    parents: dict[str, set[str]] = defaultdict(set)
    for path in files:
        prose = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                members[node.name] |= {name for each in node.body for name in names_of_node(each)}
                parents[node.name] |= {name for base in node.bases for name in names_of_node(base)}
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                words.update(re.findall(r"\w+", node.value))
            if isinstance(node, NAMED):
                words.update(names_of_node(node, deep=False))
    for name in members:
        waiting = [name]
        while waiting:
            new = parents[waiting.pop()] & members.keys() - {name}
            waiting += [parent for parent in new if not members[parent] <= members[name]]
            members[name] = members[name].union(*(members[parent] for parent in new))
    return NamesInCode(words, dict(members))


NAMED = (
    *(ast.Name, ast.Attribute, ast.arg, ast.keyword, ast.alias),
    *(ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef),
)
"""The nodes in which `names_of_node` finds names."""


def names_of_node(node: ast.AST, *, deep: bool = True) -> set[str]:
    found: set[str] = set()
    for each in ast.walk(node) if deep else [node]:
        match each:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.alias(name=name):
                found.update(name.split("."))
    return found


# Names of other programs.
FOREIGN_NAMES = {
    "AbstractFetcherThread.truncateToHighWatermark": "Kafka's",
    "KafkaShareConsumer": "Kafka's",
    "KillMode": "systemd's",
    "LogValidator": "Kafka's",
    "Partition.maybeIncrementLeaderHW": "Kafka's",
    "SubscriptionPattern": "Kafka's",
    "TLSv1.2": "OpenSSL's",
    "TLSv1.3": "OpenSSL's",
    "Trigger.AvailableNow": "Spark's",
    "test_group": "kafka-python's",
}
QUOTED_NAME = re.compile(r"`((\w+)(?:\.(\w+))?)(\([^`]*\))?`")


def is_identifier(name: str) -> bool:
    """Whether a quoted word can only be a name: ``snake_case``, ``_private`` or ``CamelCase``."""
    return bool(re.fullmatch(r"_\w+|[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z]\w*[a-z]\w*[A-Z]\w*", name))


def unknown_names() -> Iterator[tuple[str, str]]:
    """Names of functions, classes and members in backticks on pages that the code does not have, with their pages."""
    words, members = names_in_code()
    for page in PAGES:
        for whole, name, member, call in QUOTED_NAME.findall(BLOCK.sub("", page.read_text())):
            if member and name[0].isupper():
                known = member in members.get(name, ())
            elif member:  # of a module or a variable, or the parts of a setting's name
                known = member in words or is_known(whole)
            else:
                known = name in words if is_identifier(name) or call else True
            if not known:
                yield name_of(page), whole


def test_names_that_pages_quote_exist() -> None:
    unknown = list(unknown_names())
    assert [f"{page}: {name}" for page, name in unknown if name not in FOREIGN_NAMES] == []
    assert sorted(set(FOREIGN_NAMES) - {name for _, name in unknown}) == [], "no longer named: take these off the list"


def test_pages_are_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES
    assert len((ROOT / "docs" / "architecture.md").read_text().splitlines()) <= ARCHITECTURE_LINES
    written = (page for page in (ROOT / "docs").rglob("*.md") if page.name not in GENERATED_PAGES)
    assert sum(len(page.read_text().split()) for page in written) <= WORDS_OF_DOCS


def test_recipes_are_short() -> None:
    _, recipes = re.split(r"^## Recipes\n", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    found = re.split(r"^(?=\*\*)", re.split(r"^## ", recipes, flags=re.MULTILINE)[0], flags=re.MULTILINE)[1:]
    lengths = {recipe.splitlines()[0]: len(recipe.split("\n\n## ")[0].strip().splitlines()) for recipe in found}
    assert len(lengths) >= 9
    assert {title: lines for title, lines in lengths.items() if lines > RECIPE_LINES} == {}


def parts_of_architecture() -> list[str]:
    """The page up to the table of larger files, and that table."""
    return (ROOT / "docs" / "architecture.md").read_text().split("## Larger files\n")


def test_table_of_larger_files_names_exactly_the_large_files() -> None:
    rows = re.findall(r"^\| `([\w/]+/)` \|(.*)\|$", parts_of_architecture()[1], re.MULTILINE)
    listed = {folder + name for folder, files in rows for name in FILE_NAME.findall(files)}
    large = {name_of(path) for path in python_files(*PACKAGES) if len(path.read_text().splitlines()) > LARGE_FILE_LINES}
    assert sorted(large - listed) == [], "missing in the table"
    assert sorted(listed - large) == [], "not there, or not large any more"


def test_files_in_a_row_of_the_architecture_are_in_folders_that_the_row_names() -> None:
    elsewhere = []
    for row in re.findall(r"^\|.*\|$", parts_of_architecture()[0], re.MULTILINE):
        folders = re.findall(r"`((?:[\w-]+/)+)(?:[\w-]+\.py)?`", row)
        files = FILE_NAME.findall(row)
        elsewhere += [name for name in files if not any((ROOT / each / name).exists() for each in ("", *folders))]
    assert elsewhere == []
