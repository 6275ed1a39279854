"""The rules of the house that a machine can check: imports, sizes, wording, links, and names that nothing uses.

Each list of exceptions is a ratchet: an entry that is no longer needed fails the test, so the lists only shrink.
"""

import ast
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("base", "broker", "config", "controller", "pipeline", "protocol", "replication", "storage")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

FILE_LINES = 500
FUNCTION_LINES = 60
CONSTRUCTOR_ARGUMENTS = 9
FILES_IN_A_FOLDER = 40
README_LINES = 130
ARCHITECTURE_LINES = 200
WORDS_OF_DOCS = 30_000
LARGE_FILE_LINES = 200

# From the bottom to the top: a place may import itself and what stands before it.
FLOORS = {
    "the rooms": ("base", "config", "protocol", "storage", "replication", "controller", "broker"),
    "storage": ("files", "workers", "segment", "producers", "log", "recovery", "compaction", "store", "verify"),
    "replication": ("partition", "leader", "follower"),
    "controller": ("tree",),
    "broker": (
        "network",
        "metadata",
        "coordinator",
        "requests",
        "settings",
        "inter_broker",
        "apis",
        "process",
        "library",
        "commands",
    ),
    "broker/apis": ("records", "groups", "topics", "transactions", "configs", "cluster", "between_brokers", "security"),
}


@cache
def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def name_of(path: Path) -> str:
    """The path as people write it: from the root, with slashes."""
    return path.relative_to(ROOT).as_posix()


def package_of(path: Path) -> list[str]:
    return ["pybroker", *path.parent.relative_to(ROOT).parts]


def module_of(path: Path) -> str:
    parts = package_of(path) if path.stem == "__init__" else [*package_of(path), path.stem]
    return ".".join(parts)


@cache
def modules() -> dict[str, Path]:
    return {module_of(path): path for path in python_files(*ROOMS)}


def imported_files(path: Path) -> Iterator[Path]:
    """The files of the package that a file imports, wherever in it the import stands."""
    known = modules()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = package_of(path)
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            targets = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names]
        else:
            continue
        yield from (known[target] for target in targets if target in known)


def functions_of(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Each function with its qualified name."""

    def below(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    yield name, child
                yield from below(child, f"{name}.")
            else:
                yield from below(child, prefix)

    return below(tree_of(path), f"{name_of(path)}:")


def size_of_constructor(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = function.args
    return len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]) - 1


def rejects_all_but(allowed: dict[str, str], found: set[str]) -> None:
    """``found`` holds nothing that is not allowed, and all that is allowed is still found."""
    assert sorted(found - set(allowed)) == []
    assert sorted(set(allowed) - found) == [], "no longer needed: take these off the list"


@pytest.mark.parametrize("place", FLOORS)
def test_imports_go_one_way(place: str) -> None:
    floors = FLOORS[place]
    base = ROOT if place == "the rooms" else ROOT / place
    upwards = []
    for floor, folder in enumerate(floors):
        for path in python_files(name_of(base / folder)):
            for target in imported_files(path):
                first = target.relative_to(base).parts[0] if target.is_relative_to(base) else ""
                if first in floors[floor + 1 :]:
                    upwards.append(f"{name_of(path)} imports {name_of(target)}")
    assert upwards == []


def test_every_folder_of_a_room_has_its_floor() -> None:
    for place in ("storage", "replication", "controller", "broker", "broker/apis"):
        folders = {path.name for path in (ROOT / place).iterdir() if (path / "__init__.py").exists()}
        assert folders == set(FLOORS[place])


def circles() -> list[set[str]]:
    """Groups of files that import each other, directly or through others."""
    imports = {path: set(imported_files(path)) - {path} for path in python_files(*ROOMS)}
    reach: dict[Path, set[Path]] = {}
    for start in imports:
        seen: set[Path] = set()
        waiting = [start]
        while waiting:
            for target in imports[waiting.pop()] - seen:
                seen.add(target)
                waiting.append(target)
        reach[start] = seen
    found = {
        frozenset(name_of(other) for other in seen if path in reach[other])
        for path, seen in reach.items()
        if path in seen
    }
    return [set(circle) for circle in found]


# Files that import each other, with the reason why that is harmless.
CIRCLES: dict[str, str] = {}


def test_no_files_import_each_other() -> None:
    rejects_all_but(CIRCLES, {" ".join(sorted(circle)) for circle in circles()})


def classes() -> list[ast.ClassDef]:
    """The classes of the package without the protocol's messages, whose names are Kafka's."""
    paths = [path for path in python_files(*ROOMS) if path.parent != ROOT / "protocol" / "messages"]
    return [node for path in paths for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)]


def test_each_protocol_is_defined_once() -> None:
    names = Counter(node.name for node in classes())
    found = {node.name: node for node in classes() if "Protocol" in map(ast.unparse, node.bases)}
    assert [name for name in found if names[name] > 1] == [], "the name of another class"

    def members(node: ast.ClassDef) -> frozenset[str]:
        """With the inherited ones."""
        annotated = (ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign))
        functions = (each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
        inherited = (members(found[name]) for name in map(ast.unparse, node.bases) if name in found)
        return frozenset((*annotated, *functions)).union(*inherited)

    same: dict[frozenset[str], list[str]] = {}
    for name, node in found.items():
        same.setdefault(members(node), []).append(name)
    del same[frozenset({"__call__"})]  # protocols of callbacks differ in their arguments
    assert [names for names in same.values() if len(names) > 1] == []


# Folders with more files than a reader can take in at a glance.
CROWDED_FOLDERS = {"protocol/messages": "one file for each API of the protocol, all alike"}


def test_folders_can_be_taken_in_at_a_glance() -> None:
    counts = Counter(name_of(path.parent) for path in python_files(*ROOMS, "scripts", "tests"))
    rejects_all_but(CROWDED_FOLDERS, {folder for folder, count in counts.items() if count > FILES_IN_A_FOLDER})


# The length of each, and why it is one file.
LONG_FILES = {
    "broker/network/connection.py": (614, "one connection, top to bottom"),
    "controller/tree/zookeeper_store.py": (511, "every operation of the metadata store, in ZooKeeper"),
    "protocol/errors.py": (1123, "a table: one class for each of Kafka's error codes"),
    "storage/log/log.py": (647, "the log: all that one strand may do to it"),
    "storage/segment/segment.py": (551, "one segment: its file and its three indexes together"),
    "scripts/benchmarks/hostile.py": (506, "a list of attacks, one function each"),
    "tests/broker/apis/test_fetch.py": (930, "tests of one thing"),
    "tests/broker/apis/test_produce.py": (506, "tests of one thing"),
    "tests/broker/commands/log/test_log_verify.py": (768, "tests of one thing"),
    "tests/broker/network/test_connection.py": (571, "tests of one thing"),
    "tests/broker/network/test_listener.py": (553, "tests of one thing"),
    "tests/controller/test_controller.py": (651, "tests of one thing"),
    "tests/interop/side_by_side/fetch_scenarios.py": (554, "tests of one thing"),
    "tests/interop/side_by_side/group_scenarios.py": (554, "tests of one thing"),
    "tests/interop/side_by_side/produce_scenarios.py": (532, "tests of one thing"),
    "tests/interop/test_configs.py": (594, "tests of one thing"),
    "tests/replication/test_fetcher.py": (541, "tests of one thing"),
    "tests/replication/test_purgatory.py": (611, "tests of one thing"),
    "tests/replication/test_state_changes.py": (528, "tests of one thing"),
    "tests/simulation/test_checkers.py": (620, "tests of one thing"),
    "tests/storage/store/test_log_moves.py": (659, "tests of one thing"),
    "tests/storage/store/test_log_store.py": (503, "tests of one thing"),
}


def test_files_are_short() -> None:
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in python_files(*ROOMS, "scripts", "tests")}
    rejects_all_but(
        {name: why for name, (_, why) in LONG_FILES.items()},
        {name for name, lines in lengths.items() if lines > FILE_LINES},
    )
    grown = {name: lengths[name] for name, (lines, _) in LONG_FILES.items() if lengths[name] > lines}
    assert grown == {}, "these may only shrink"


LONG_FUNCTIONS: dict[str, str] = {
    "pipeline/columns/compiled_walk.py:walk": "unrolled for speed: see protocol/records/walk.py",
    "protocol/records/compaction_walk.py:note_keys": "unrolled for speed: see protocol/records/walk.py",
    "protocol/records/compaction_walk.py:spans_to_keep": "unrolled for speed: see protocol/records/walk.py",
    "protocol/records/summary_walk.py:summarize_records": "unrolled for speed: see protocol/records/walk.py",
    "protocol/records/walk.py:walk_records": "unrolled for speed: see protocol/records/walk.py",
}


def test_functions_are_short() -> None:
    found = {
        name
        for path in python_files(*ROOMS, "scripts", "tests")
        for name, function in functions_of(path)
        if (function.end_lineno or 0) - function.lineno + 1 > FUNCTION_LINES
    }
    rejects_all_but(LONG_FUNCTIONS, found)


WIDE_CONSTRUCTORS: dict[str, str] = {
    "broker/apis/records/fetch.py:Fetch.__init__": "the parts of the broker that a fetch touches",
    "broker/network/loop_resources.py:LoopResources.__init__": "everything that connections on one loop share",
}


def test_constructors_take_few_arguments() -> None:
    found = {
        name
        for path in python_files(*ROOMS, "scripts", "tests")
        for name, function in functions_of(path)
        if function.name == "__init__" and size_of_constructor(function) > CONSTRUCTOR_ARGUMENTS
    }
    rejects_all_but(WIDE_CONSTRUCTORS, found)


def names_used_in(path: Path) -> Counter[str]:
    """How often a file reads each name, as a variable, an attribute, an argument, an import, or a whole string."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree_of(path)):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Load())
                | ast.Attribute(attr=name, ctx=ast.Load())
                | ast.keyword(arg=str(name))
            ):
                found[name] += 1
            case ast.alias(name=name):
                found.update(name.split("."))
            case ast.MatchClass(kwd_attrs=names):
                found.update(names)
            case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.]+", text):
                found.update(text.split("."))
    found.subtract(exported(path))
    return found


def exported(path: Path) -> set[str]:
    """The names that ``__all__`` lists, which is no use of them."""
    for node in tree_of(path).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return set(ast.literal_eval(node.value))
    return set()


def is_enumeration(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).endswith(("Enum", "Flag")) for base in node.bases)


def public_names(path: Path) -> Iterator[str]:
    """Functions, classes and constants of a module, and the members of its classes (not of enumerations)."""

    def below(body: list[ast.stmt]) -> Iterator[str]:
        for node in body:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    yield name
                case ast.ClassDef(name=name, body=members):
                    yield name
                    if not is_enumeration(node):
                        yield from below(members)
                case ast.Assign(targets=targets):
                    yield from (target.id for target in targets if isinstance(target, ast.Name))
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield name

    return (name for name in below(tree_of(path).body) if not name.startswith("_"))


def unused_names() -> set[str]:
    """Public names, each behind its file, that nothing outside tests uses."""
    used: Counter[str] = Counter()
    for path in [*python_files(*ROOMS, "scripts"), *ROOT.glob("*.py")]:
        used.update(names_used_in(path))
    return {
        f"{name_of(path)}:{name}"
        for path in python_files(*ROOMS)
        if path.parent != ROOT / "protocol" / "messages"  # the whole protocol is declared, served or not
        for name in public_names(path)
        if not used[name]
    }


# Names that nothing of ours uses, because somebody else calls them.
USED_FROM_OUTSIDE: dict[str, str] = {
    "broker/inter_broker/broker_link.py:connection_lost": "asyncio calls it",
    "broker/inter_broker/broker_link.py:connection_made": "asyncio calls it",
    "broker/inter_broker/broker_link.py:eof_received": "asyncio calls it",
    "broker/network/connection.py:connection_lost": "asyncio calls it",
    "broker/network/connection.py:connection_made": "asyncio calls it",
    "broker/network/connection.py:eof_received": "asyncio calls it",
    "broker/network/connection.py:pause_writing": "asyncio calls it",
    "broker/network/connection.py:resume_writing": "asyncio calls it",
    "broker/network/admission/fair_queue.py:waiting_count": "a figure to watch",
    "broker/network/admission/memory.py:waiting_count": "a figure to watch",
    "broker/network/listener.py:connection_count": "a figure to watch",
    "broker/network/listener.py:request_bytes": "a figure to watch",
    "broker/network/protocol_sniffing.py:remembered_count": "a figure to watch",
    "config/setting.py:importance": "Kafka's table of settings has it; tests compare the two",
    "controller/tree/embedded_store.py:holds_back": "a figure to watch",
    "controller/tree/zookeeper_connection.py:dispatch_callback": "kazoo calls it",
    "pipeline/mirror/offset_map.py:read_runs": "users call it: docs/user/pipeline.md",
    "pipeline/mirror/offset_map.py:translated": "users call it: docs/user/pipeline.md",
    "pipeline/topics/data_source.py:streamReader": "Spark calls it",
    "pipeline/topics/data_source.py:streamWriter": "Spark calls it",
    "pipeline/topics/topic_stream_reader.py:getDefaultReadLimit": "Spark calls it",
    "pipeline/topics/topic_stream_reader.py:initialOffset": "Spark calls it",
    "pipeline/topics/topic_stream_reader.py:prepareForTriggerAvailableNow": "Spark calls it",
    "pipeline/topics/topic_stream_reader.py:reportLatestOffset": "Spark calls it",
    "replication/partition/nearest_replica.py:caught_up_ms": "part of a value that is compared as a whole",
    "storage/files/files.py:usable_bytes": "part of a value that is unpacked",
    "storage/log/log_append.py:duplicate": "part of an append's result",
    "storage/recovery/recovery_process.py:emit": "logging calls it",
    "storage/store/log_cleaner.py:uncleanable_partitions_count": "Kafka's metric of this name",
    "storage/workers/unpacking.py:all_read_in_this_process": "simulations have no child processes",
}


def test_every_public_name_is_used_outside_tests() -> None:
    rejects_all_but(USED_FROM_OUTSIDE, unused_names())


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings and comments, each with its line; of a page, its paragraphs outside blocks of code."""
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), path.read_text(), flags=re.M | re.S)
        line = 1
        for paragraph in text.split("\n\n"):
            yield line, paragraph
            line += paragraph.count("\n") + 2
        return
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield node.body[0].lineno, docstring
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string.lstrip("# ")


# A text that begins like this hides its subject, unless it is a question.
HEADLESS = re.compile(
    r"(?:What|Who|Whose|Whom|Those|These of|Of (?!Kafka)|For those|Such|So|One that|That which|Where(?= \w+ is))\b"
    r"(?![^.]*\?)"
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
    r"\bgo(?:es)? by (?:the|a|it|its|what)\b": "uses",
    r"\bin (?:his|her) turn\b": "name the queue",
    r"\b(?:he|she|his|him|her)\b": "a connection, a broker, a client is 'it'; a person is 'you' or 'they'",
}
UNREADABLE_TEST_NAME = re.compile(r"test_(?:so|those|these|what|who|whose|whom|that|of|for|it|such|they|nor|nobody)_")


def complaints() -> Iterator[str]:
    for path in [*python_files(*ROOMS, "scripts", "tests"), *PAGES]:
        for line, text in prose_of(path):
            if path.suffix == ".py" and HEADLESS.match(text):
                yield f"{name_of(path)}:{line}: hides its subject: {text[:60]!r}"
            for pattern, instead in BANNED.items():
                found = re.search(pattern, text)
                if found:
                    yield f"{name_of(path)}:{line + text[: found.start()].count(chr(10))}: {found[0]!r}: {instead}"


def test_sentences_name_their_subject() -> None:
    assert list(complaints()) == []


def test_names_of_tests_can_be_read_alone() -> None:
    unreadable = [
        name
        for path in python_files("tests")
        for name, function in functions_of(path)
        if UNREADABLE_TEST_NAME.match(function.name)
    ]
    assert unreadable == []


LINK = re.compile(r"\]\(([^)\s#]+)(#[\w-]+)?\)")
# Files as pages name them: `storage/log/log.py`, or by the name alone.
FILE_NAME = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md|toml|yaml))`")


def test_links_between_pages_lead_somewhere() -> None:
    dead = [
        f"{name_of(page)}: {link}"
        for page in PAGES
        for link, _ in LINK.findall(page.read_text())
        if "://" not in link and not (page.parent / link).exists()
    ]
    assert dead == []


def test_files_that_pages_name_exist() -> None:
    known = [name_of(path) for path in [*python_files(*ROOMS, "scripts", "tests"), *ROOT.glob("*.*"), *PAGES]]
    missing = [
        f"{name_of(page)}: {name}"
        for page in PAGES
        for name in FILE_NAME.findall(page.read_text())
        if not any(path == name or path.endswith(f"/{name}") for path in known)
    ]
    assert missing == []


def test_pages_are_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES
    assert len((ROOT / "docs" / "architecture.md").read_text().splitlines()) <= ARCHITECTURE_LINES
    assert sum(len(page.read_text().split()) for page in (ROOT / "docs").rglob("*.md")) <= WORDS_OF_DOCS


def test_architecture_names_every_large_file() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    large = [path for path in python_files(*ROOMS) if len(path.read_text().splitlines()) > LARGE_FILE_LINES]
    assert [name_of(path) for path in large if not re.search(rf"\b{path.name}\b", page)] == []
