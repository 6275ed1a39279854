"""The files of this repository as text and as syntax trees, for tests of their structure, wording and pages."""

import ast
import gc
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = (
    "base",
    "broker",
    "cli",
    "client",
    "config",
    "console",
    "controller",
    "pipeline",
    "protocol",
    "replication",
    "storage",
    "testkit",
    "views",
)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@cache
def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """Parsed without garbage collection, which would visit the thousands of trees that exist already, and takes longer
    than the parsing itself.
    """
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        if is_enabled:
            gc.enable()


def nodes_below(node: ast.AST) -> list[ast.AST]:
    """The node and all below it, as `ast.walk` yields them in three times the time, without contexts and operators."""
    found = [node]
    for each in found:
        for value in vars(each).values():
            if isinstance(value, list):
                found += [child for child in value if isinstance(child, ast.AST)]
            elif isinstance(value, ast.AST) and vars(value):
                found.append(value)
    return found


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All nodes of the file's tree, kept because several rules look at each."""
    return nodes_below(tree_of(path))


def forget_trees() -> None:
    nodes_of.cache_clear()
    functions_of.cache_clear()
    tree_of.cache_clear()


def dotted(node: ast.expr) -> str:
    """The text of a name with its attributes, such as ``self.logger.error``; ``()`` stands for any other expression.

    `ast.unparse` gives the text of any expression, and takes twenty times as long.
    """
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{dotted(value)}.{name}"
    return "()"


def name_of(path: Path) -> str:
    """The path as people write it: from the root, with slashes."""
    return path.relative_to(ROOT).as_posix()


@cache
def functions_of(path: Path) -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Each function with its qualified name."""
    found: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]] = []

    def look_below(node: ast.AST, prefix: str) -> None:
        for value in vars(node).values():
            for child in value if isinstance(value, list) else ():  # statements are in lists
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    name = f"{prefix}{child.name}"
                    if not isinstance(child, ast.ClassDef):
                        found.append((name, child))
                    look_below(child, f"{name}.")
                elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                    look_below(child, prefix)

    look_below(tree_of(path), f"{name_of(path)}:")
    return found


def matches_exactly(listed: Mapping[str, tuple[int | None, str]], found: dict[str, int]) -> None:
    """Each found number is listed with its present value, so that it cannot grow again after it shrank.

    ``None`` stands for any number: a table of Kafka's, which gets a row for each thing that is added.
    """
    rejects_all_but({name: why for name, (_, why) in listed.items()}, set(found))
    changed = {
        name: f"listed {listed[name][0]}, is {number}"
        for name, number in found.items()
        if listed[name][0] not in (None, number)
    }
    assert changed == {}, f"lower the listed number, or shrink what grew: {changed}"


def rejects_all_but(allowed: dict[str, str], found: set[str]) -> None:
    """``found`` holds nothing that is not allowed, and all that is allowed is still found."""
    new = sorted(found - set(allowed))
    assert new == [], f"not on the list of exceptions: {new}"
    gone = sorted(set(allowed) - found)
    assert gone == [], f"no longer needed, take these off the list: {gone}"
