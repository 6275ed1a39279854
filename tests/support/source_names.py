"""Which public names of the package its own code uses: an import, a read attribute, or a name in the same file."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.source_tree import PACKAGES, ROOT, dotted, name_of, nodes_below, nodes_of, python_files, tree_of


class Definition(NamedTuple):
    """A public name of a file. ``is_member``: it belongs to a class; ``node``: the statement that defines it."""

    name: str
    is_member: bool
    node: ast.stmt


def package_of(path: Path) -> list[str]:
    return ["pybroker", *path.parent.relative_to(ROOT).parts]


def module_of(path: Path) -> str:
    parts = package_of(path) if path.stem == "__init__" else [*package_of(path), path.stem]
    return ".".join(parts)


@cache
def modules() -> dict[str, Path]:
    return {module_of(path): path for path in [*python_files(*PACKAGES), *ROOT.glob("__*.py")]}


@cache
def imports_of(path: Path) -> list[tuple[str, Path, str | None]]:
    """Each import from the package: the local name, the imported file, and the name in it (None: the file itself)."""
    return list(_imports_of(path))


def _imports_of(path: Path) -> Iterator[tuple[str, Path, str | None]]:
    known = modules()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in known:
                    yield alias.asname or alias.name, known[alias.name], None
        elif isinstance(node, ast.ImportFrom):
            package = package_of(path)
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                local = alias.asname or alias.name
                if f"{base}.{alias.name}" in known:
                    yield local, known[f"{base}.{alias.name}"], None
                elif base in known:
                    yield local, known[base], alias.name


def definitions_of(path: Path) -> Iterator[Definition]:
    """Functions, classes and constants of a module, and the members of its classes (not of enumerations)."""

    def below(body: list[ast.stmt], is_member: bool) -> Iterator[Definition]:
        for node in body:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    yield Definition(name, is_member, node)
                case ast.ClassDef(name=name, body=members):
                    yield Definition(name, is_member, node)
                    if not is_enumeration(node):
                        yield from below(members, True)
                case ast.Assign(targets=targets):
                    names = [target.id for target in targets if isinstance(target, ast.Name)]
                    yield from (Definition(name, is_member, node) for name in names)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield Definition(name, is_member, node)

    return (each for each in below(tree_of(path).body, False) if not each.name.startswith("_"))


def is_enumeration(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith(("Enum", "Flag")) for base in node.bases)


@cache
def imported_names() -> set[tuple[Path, str]]:
    """Files with the names that other files import from them, or read as attributes of the imported file."""
    found: set[tuple[Path, str]] = set()
    for path in users():
        files: dict[str, Path] = {}
        for local, target, name in imports_of(path):
            if name is None:
                files[local] = target
            elif target != path:
                found.add((target, name))
        for node in nodes_of(path) if files else ():
            if isinstance(node, ast.Attribute) and (owner := files.get(dotted(node.value))) is not None:
                found.add((owner, node.attr))
        # A file that is loaded by name: "pybroker.__main__:main".
        for node in nodes_of(path):
            match node:
                case ast.Constant(value=str(text)) if re.fullmatch(r"pybroker[\w.]*[.:]\w+", text):
                    module, name = re.split(r"[.:](?=\w+\Z)", text)
                    if module in modules():
                        found.add((modules()[module], name))
    return found


@cache
def users() -> list[Path]:
    return [*python_files(*PACKAGES, "scripts"), *ROOT.glob("*.py")]


def members_read_in(node: ast.AST) -> Counter[str]:
    """Names of members that code reads: as an attribute, in a pattern, or as a whole string (``getattr``)."""
    found: Counter[str] = Counter()
    for each in nodes_below(node):
        match each:
            case ast.Attribute(attr=name, ctx=ast.Load()):
                found[name] += 1
            case ast.MatchClass(kwd_attrs=names):
                found.update(names)
            case ast.Constant(value=str(text)) if text.isidentifier():
                found[text] += 1
    return found


@cache
def members_read() -> Counter[str]:
    found: Counter[str] = Counter()
    for path in users():
        if path.parent.name == "rooms":  # rows of the table of events: their strings are names of fields
            continue
        found.update(members_read_in(tree_of(path)))
        found.subtract(exported(path))
    return found


def names_read_in(node: ast.AST) -> Counter[str]:
    """Names that code reads as a variable, or in an annotation that is a string."""
    found: Counter[str] = Counter()
    for each in nodes_below(node):
        match each:
            case ast.Name(id=name, ctx=ast.Load()):
                found[name] += 1
            case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.\[\], |]+", text):
                found.update(re.findall(r"\w+", text))
    return found


def exported(path: Path) -> set[str]:
    """The names that ``__all__`` lists, which is no use of them."""
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return set(ast.literal_eval(node.value))
    return set()


def unused_names() -> set[str]:
    """Public names, each behind its file, that nothing outside tests uses."""
    return {
        f"{name_of(path)}:{each.name}"
        for path in python_files(*PACKAGES)
        if path.parent != ROOT / "protocol" / "messages"  # the whole protocol is declared, served or not
        for each in unused_definitions(path)
    }


def is_called_by_pytest(definition: Definition) -> bool:
    """Whether the definition is a hook or a fixture of the plugin."""
    decorators = getattr(definition.node, "decorator_list", [])
    is_fixture = any(ast.unparse(each).startswith("pytest.fixture") for each in decorators)
    return is_fixture or definition.name.startswith("pytest_")


def unused_definitions(path: Path) -> Iterator[Definition]:
    in_file, read_in_file = names_read_in(tree_of(path)), members_read_in(tree_of(path))
    for found in (in_file, read_in_file):
        found.subtract(exported(path))
    for each in definitions_of(path):
        if is_called_by_pytest(each):
            continue
        if each.is_member:
            if members_read()[each.name] > read_in_file[each.name]:
                continue  # other files read it, which is found out faster
            if (path.parent == ROOT / "views" or path.name == "shapes.py") and isinstance(each.node, ast.AnnAssign):
                continue  # the serializer reads every field
            uses = members_read()[each.name] - members_read_in(each.node)[each.name]
            uses += in_file[each.name] - names_read_in(each.node)[each.name]
        else:
            uses = in_file[each.name] - names_read_in(each.node)[each.name]
            uses += (path, each.name) in imported_names() and each.name != "logger"
        if uses <= 0:
            yield each
