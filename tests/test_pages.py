"""Rules of pages that a machine can check: their links, the files and names that they mention, and their length."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.source_tree import PACKAGES, PAGES, ROOT, name_of, python_files, tree_of

README_LINES = 130
ARCHITECTURE_LINES = 200
WORDS_OF_DOCS = 30_000
LARGE_FILE_LINES = 200

LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
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


def test_files_that_pages_name_exist() -> None:
    known = [name_of(path) for path in [*python_files(*PACKAGES, "scripts", "tests"), *ROOT.glob("*.*"), *PAGES]]
    missing = [
        f"{name_of(page)}: {name}"
        for page in PAGES
        for name in FILE_NAME.findall(page.read_text())
        if not any(path == name or path.endswith(f"/{name}") for path in known)
    ]
    assert missing == []


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
        prose = {id(node.value) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                members[node.name] |= {name for each in node.body for name in names_of_node(each)}
                parents[node.name] |= {name for base in node.bases for name in names_of_node(base)}
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                words.update(re.findall(r"\w+", node.value))
            words.update(names_of_node(node, deep=False))
    for name in members:
        waiting = [name]
        while waiting:
            new = parents[waiting.pop()] & members.keys() - {name}
            waiting += [parent for parent in new if not members[parent] <= members[name]]
            members[name] = members[name].union(*(members[parent] for parent in new))
    return NamesInCode(words, dict(members))


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
    "KillMode": "systemd's",
    "LogValidator": "Kafka's",
    "Partition.maybeIncrementLeaderHW": "Kafka's",
    "TLSv1.2": "OpenSSL's",
    "Trigger.AvailableNow": "Spark's",
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
            if member:
                known = member in members.get(name, ()) if name[0].isupper() else True
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
    assert sum(len(page.read_text().split()) for page in (ROOT / "docs").rglob("*.md")) <= WORDS_OF_DOCS


def files_of_architecture() -> set[str]:
    """Paths that the page names: written out, or as names in a row of a table whose first cell is their folder."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    paths = set(re.findall(r"[\w./-]+/[\w-]+\.py", text))
    for folder, files in re.findall(r"^\| `([\w/]+/)` \|(.*)\|$", text, re.MULTILINE):
        paths.update(folder + name for name in FILE_NAME.findall(files))
    return paths


def test_architecture_names_every_large_file_by_its_path() -> None:
    large = {name_of(path) for path in python_files(*PACKAGES) if len(path.read_text().splitlines()) > LARGE_FILE_LINES}
    assert sorted(large - files_of_architecture()) == []


def test_table_of_larger_files_names_paths_that_exist() -> None:
    _, table = (ROOT / "docs" / "architecture.md").read_text().split("## Larger files\n")
    missing = [
        folder + name
        for folder, files in re.findall(r"^\| `([\w/]+/)` \|(.*)\|$", table, re.MULTILINE)
        for name in FILE_NAME.findall(files)
        if not (ROOT / folder / name).exists()
    ]
    assert missing == []
