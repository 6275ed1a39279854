"""Rules of the house that a machine can check: imports, sizes, and names that nothing uses.

Each list of exceptions is a ratchet: an entry that is no longer needed fails the test, so the lists only shrink.
Rules of wording are in `test_wording.py`, rules of pages in `test_pages.py`.
"""

import ast
import re
import runpy
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import setuptools
from support.floors import FLOORS, LOOSE
from support.source_names import imports_of, unused_names
from support.source_tree import (
    PACKAGES,
    ROOT,
    functions_of,
    matches_exactly,
    name_of,
    nodes_of,
    python_files,
    rejects_all_but,
)

FILE_LINES = 500
FUNCTION_LINES = 60
CONSTRUCTOR_ARGUMENTS = 9
FILES_IN_A_FOLDER = 40


def imported_files(path: Path) -> Iterator[Path]:
    """The files of the package that a file imports, wherever in it the import stands."""
    return (target for _, target, _ in imports_of(path))


def size_of_constructor(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = function.args
    return len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]) - 1


def entry_of(path: Path, place: str) -> str | None:
    """The entry of ``FLOORS[place]`` to which a file belongs; None outside the place, and in a folder without entry."""
    base = ROOT / place
    if not path.is_relative_to(base):
        return None
    first, *below = path.relative_to(base).parts
    if first in FLOORS[place]:
        return first
    return None if below else LOOSE


@pytest.mark.parametrize("place", FLOORS)
def test_imports_go_one_way(place: str) -> None:
    floor_of = {entry: floor for floor, entry in enumerate(FLOORS[place])}
    files = [*python_files(*PACKAGES), *ROOT.glob("__*.py")]
    upwards = [
        f"{name_of(path)} imports {name_of(target)}"
        for path in files
        if (entry := entry_of(path, place)) in floor_of
        for target in imported_files(path)
        if floor_of.get(entry_of(target, place) or "", -1) > floor_of[entry or ""]
    ]
    assert upwards == []


@pytest.mark.parametrize("place", [place for place in FLOORS if place])
def test_every_folder_and_file_of_a_package_has_its_floor(place: str) -> None:
    entries = list((ROOT / place).iterdir())
    folders = {path.name for path in entries if (path / "__init__.py").exists()}
    files = {path.name for path in entries if path.suffix == ".py" and path.name != "__init__.py"}
    named = set(FLOORS[place]) - {LOOSE}
    assert named - folders - files == set(), "these do not exist"
    assert folders - named == set()
    assert LOOSE in FLOORS[place] or files - named == set()


def test_every_package_that_is_installed_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", arguments.update)
    runpy.run_path(str(ROOT / "setup.py"))
    assert {name.split(".")[1] for name in arguments["packages"] if "." in name} == set(PACKAGES)


def rows_of_packages() -> dict[str, str]:
    """The table of packages in architecture.md: each package, from the top, with the cell "must not know"."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    (table,) = re.findall(r"^\| package \|.*\n\|---.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines())
    return {package.strip("`/"): forbidden for package, _, forbidden in cells}


SOCKET_MODULES = {"selectors", "socket", "socketserver", "ssl"}


def modules_imported_by(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


@pytest.mark.parametrize("package", PACKAGES)
def test_package_imports_nothing_that_the_architecture_forbids(package: str) -> None:
    rows = rows_of_packages()
    above = [name for name in list(rows)[: list(rows).index(package)] if name != package]
    folders = re.findall(r"`([\w/]+)/`", rows[package]) + (above if "everything above" in rows[package] else [])
    assert folders, "the row names no folder"
    imported = [(path, name_of(target)) for path in python_files(package) for target in imported_files(path)]
    found = [
        f"{name_of(path)} imports {name}" for path, name in imported for each in folders if name.startswith(f"{each}/")
    ]
    if "sockets" in rows[package]:
        found += [name_of(path) for path in python_files(package) if SOCKET_MODULES & set(modules_imported_by(path))]
    assert found == []


# Files that import others by a name in a string, which the rules of imports cannot see, and why.
IMPORTS_BY_NAME = {
    "pipeline/__init__.py": "public names, imported when they are first used",
    "pipeline/jobs/command.py": "the job that is run",
    "protocol/apis.py": "the messages of an API, imported when it is first used",
}


def test_imports_are_statements() -> None:
    called = {
        name_of(path)
        for path in python_files(*PACKAGES)
        for node in nodes_of(path)
        if isinstance(node, ast.Call) and re.search(r"\bimport_module$|^__import__$", ast.unparse(node.func))
    }
    rejects_all_but(IMPORTS_BY_NAME, called)


def orders_of_rooms() -> Iterator[tuple[str, list[str]]]:
    """The orders that pages name: each folder ("" for the root) with its entries from the bottom to the top."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    for place, order in re.findall(r"Inside\s+`([\w/]+)/`(?:, lowest first)?:([^.]+(?:\.py[^.]+)*)", page):
        yield place, re.findall(r"`([\w.]+)/?`", order)
    yield "", [package for package in reversed(rows_of_packages()) if package != "pipeline"]
    (order,) = re.findall(r"((?:`\w+/`,\s+)+`\w+/`):\s+each may\s+import only", (ROOT / "CONTRIBUTING.md").read_text())
    yield "", re.findall(r"`(\w+)/`", order)[::-1]


def test_pages_name_the_rooms_in_the_order_of_their_floors() -> None:
    orders = list(orders_of_rooms())
    assert Counter(place for place, _ in orders) == Counter(["broker", "storage", "replication", "controller", "", ""])
    for place, order in orders:
        floors = [each for each in FLOORS[place] if each in order or (each != LOOSE and "." not in each)]
        assert order == floors, f"{place or 'the root'}: this page's order is not that of the imports"


def circles() -> list[set[str]]:
    """Groups of files that import each other, directly or through others."""
    imports = {path: set(imported_files(path)) - {path} for path in python_files(*PACKAGES)}
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
    paths = [path for path in python_files(*PACKAGES) if path.parent != ROOT / "protocol" / "messages"]
    return [node for path in paths for node in nodes_of(path) if isinstance(node, ast.ClassDef)]


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


def strings_without_a_name(path: Path) -> Iterator[str]:
    """Strings that stand alone, but are neither a docstring nor behind the value that they explain."""
    for node in nodes_of(path):
        body = getattr(node, "body", None)
        for before, each in pairwise(body if isinstance(body, list) else ()):
            is_string = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
            is_named = isinstance(before, ast.Assign | ast.AnnAssign) and "__all__" not in ast.unparse(before)
            if is_string and isinstance(each.value.value, str) and not is_named:
                yield f"{path.relative_to(ROOT)}:{each.lineno}"


def test_each_docstring_of_a_value_stands_behind_the_value() -> None:
    assert [each for path in python_files(*PACKAGES) for each in strings_without_a_name(path)] == []


# Folders with more files than a reader can take in at a glance.
CROWDED_FOLDERS = {"protocol/messages": "one file for each API of the protocol, all alike"}


def test_folders_can_be_taken_in_at_a_glance() -> None:
    counts = Counter(name_of(path.parent) for path in python_files(*PACKAGES, "scripts", "tests"))
    rejects_all_but(CROWDED_FOLDERS, {folder for folder, count in counts.items() if count > FILES_IN_A_FOLDER})


# The length of each, and why it is one file. None: a table that may grow.
LONG_FILES: dict[str, tuple[int | None, str]] = {
    "protocol/errors.py": (None, "a table: one class for each of Kafka's error codes"),
    "storage/log/log.py": (599, "the log: all that one strand may do to it"),
    "storage/segment/segment.py": (544, "one segment: its file and its three indexes together"),
    "scripts/benchmarks/hostile.py": (501, "a list of attacks, one function each"),
    "tests/broker/commands/log/test_log_verify_damage.py": (589, "a list of damages, one function each"),
    "tests/broker/network/test_connection.py": (546, "requests and responses of one connection, over real sockets"),
    "tests/controller/test_controller.py": (651, "elections, brokers and topics on one control plane"),
    "tests/interop/side_by_side/fetch_scenarios.py": (554, "a list of requests, each sent to Kafka and to pybroker"),
    "tests/interop/side_by_side/group_scenarios.py": (554, "a list of requests, each sent to Kafka and to pybroker"),
    "tests/interop/side_by_side/produce_scenarios.py": (532, "a list of requests, each sent to Kafka and to pybroker"),
    "tests/interop/test_configs.py": (592, "settings changed and described by three kinds of clients"),
    "tests/replication/test_fetcher.py": (541, "followers over real logs, after each kind of failure"),
    "tests/replication/test_purgatory.py": (611, "each way in which a parked request ends"),
    "tests/replication/test_state_changes.py": (527, "LeaderAndIsr and StopReplica on one broker"),
    "tests/simulation/test_checkers.py": (620, "for each checker a history with one error, which it must find"),
    "tests/storage/store/test_log_moves.py": (659, "moves of a log while it is read and written"),
    "tests/storage/store/test_log_store.py": (505, "the store's interface, from start to stop"),
}


def test_files_are_short() -> None:
    lengths = {
        name_of(path): len(path.read_text().splitlines()) for path in python_files(*PACKAGES, "scripts", "tests")
    }
    matches_exactly(LONG_FILES, {name: lines for name, lines in lengths.items() if lines > FILE_LINES})


# The number of lines of each, and why it is one function.
LONG_FUNCTIONS: dict[str, tuple[int, str]] = {
    "pipeline/columns/compiled_walk.py:walk": (103, "unrolled for speed: see protocol/records/walk.py"),
    "protocol/records/compaction_walk.py:note_keys": (62, "unrolled for speed: see protocol/records/walk.py"),
    "protocol/records/compaction_walk.py:spans_to_keep": (74, "unrolled for speed: see protocol/records/walk.py"),
    "protocol/records/summary_walk.py:summarize_records": (114, "unrolled for speed: see protocol/records/walk.py"),
    "protocol/records/walk.py:walk_records": (117, "unrolled for speed: the docstring of the file says how"),
}


def test_functions_are_short() -> None:
    lengths = {
        name: (function.end_lineno or 0) - function.lineno + 1
        for path in python_files(*PACKAGES, "scripts", "tests")
        for name, function in functions_of(path)
    }
    matches_exactly(LONG_FUNCTIONS, {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES})


# The number of arguments of each, and what they are.
WIDE_CONSTRUCTORS: dict[str, tuple[int, str]] = {
    "broker/apis/records/fetch.py:Fetch.__init__": (10, "the parts of the broker that a fetch uses"),
    "broker/network/loop_resources.py:LoopResources.__init__": (10, "everything that connections on one loop share"),
}


def test_constructors_take_few_arguments() -> None:
    sizes = {
        name: size_of_constructor(function)
        for path in python_files(*PACKAGES, "scripts", "tests")
        for name, function in functions_of(path)
        if function.name == "__init__"
    }
    matches_exactly(WIDE_CONSTRUCTORS, {name: size for name, size in sizes.items() if size > CONSTRUCTOR_ARGUMENTS})


def is_record(node: ast.ClassDef) -> bool:
    """Whether the class gets its constructor from its fields: a dataclass or a named tuple."""
    parents = [ast.unparse(base) for base in node.bases]
    return "NamedTuple" in parents or any(
        name in ast.unparse(each) for each in node.decorator_list for name in ("dataclass", "frozen")
    )


def constructor_fields(node: ast.ClassDef) -> int:
    """How many fields of a dataclass or a named tuple its constructor takes, without those of its parents."""
    fields = [ast.unparse(each) for each in node.body if isinstance(each, ast.AnnAssign)]
    return sum("ClassVar[" not in field and "init=False" not in field for field in fields)


# The number of fields of each, and what the class is. None: a table that may grow.
WIDE_RECORDS: dict[str, tuple[int | None, str]] = {
    "broker/apis/broker_parts.py:BrokerParts": (None, "the parts of the broker that handlers use"),
    "broker/coordinator/group/consumer/heartbeat.py:Heartbeat": (14, "the fields of a request"),
    "broker/coordinator/group/consumer/records.py:MemberMetadata": (10, "the fields of a record"),
    "broker/coordinator/group/joining.py:JoinRequest": (12, "the fields of a request"),
    "broker/coordinator/group/member.py:Member": (15, "the state of a member of a group"),
    "broker/coordinator/group/settings.py:GroupSettings": (None, "Kafka's settings of groups"),
    "broker/environment.py:Environment": (15, "what a broker takes from the outside world"),
    "broker/inter_broker/request_versions.py:RequestVersions": (None, "one version for each API between brokers"),
    "broker/network/settings.py:NetworkSettings": (None, "Kafka's settings of listeners"),
    "broker/v1/known_state.py:KnownState": (12, "the parts of a broker that the documents show"),
    "config/setting.py:Setting": (11, "one row of the table of settings"),
    "console/settings.py:ConsoleSettings": (10, "the options of the command"),
    "controller/tree/metadata_store.py:Stat": (11, "the attributes that ZooKeeper gives a node"),
    "controller/tree/znode_tree.py:Znode": (11, "the attributes that ZooKeeper stores of a node"),
    "pipeline/columns/row_buffers.py:RowArrays": (15, "the columns of the rows"),
    "pipeline/options/read_options.py:ReadOptions": (16, "the options of a query"),
    "replication/partition/fetch.py:FetchResult": (10, "the fields of a partition in a response"),
    "replication/partition/partition_state.py:PartitionState": (10, "the fields of a partition in LeaderAndIsr"),
    "storage/compaction/compaction_job.py:CompactionJob": (11, "what a child process needs to compact a log"),
    "storage/log_config.py:LogConfig": (None, "Kafka's settings of a topic"),
    "storage/recovery/log_loader.py:_Loader": (10, "the state of loading one log"),
    "storage/store/log_statistics.py:LogStatistics": (11, "the figures of a log"),
    "tests/simulation/checkers/history.py:History": (14, "the history of a simulation"),
    "tests/simulation/checkers/history.py:Sent": (15, "the history of a batch"),
    "tests/simulation/checkers/tree_checker.py:PartitionRecord": (11, "the history of a partition"),
    "tests/simulation/consumer_groups/group_log.py:GroupLog": (14, "the history of a group"),
    "tests/simulation/machines/disk.py:Disk": (10, "the state of a disk"),
    "tests/simulation/runs/campaign.py:Summary": (14, "the figures of a campaign"),
    "tests/simulation/runs/simulation_run.py:Result": (10, "the figures of a run"),
    "tests/simulation/transactions/transaction_run.py:TransactionPlan": (10, "the parameters of a run"),
    "tests/support/security/login_rows.py:Row": (10, "the fields of a login that a test sends to a client"),
}


def test_dataclasses_have_few_fields() -> None:
    counts = {
        f"{name_of(path)}:{node.name}": constructor_fields(node)
        for path in python_files(*PACKAGES, "scripts", "tests")
        if path.parent != ROOT / "views" and path.name != "shapes.py"  # a field for each value that a document shows
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef) and is_record(node)
    }
    matches_exactly(WIDE_RECORDS, {name: fields for name, fields in counts.items() if fields > CONSTRUCTOR_ARGUMENTS})


# Names that nothing of ours uses, because somebody else calls them.
USED_FROM_OUTSIDE: dict[str, str] = {
    "broker/events/recent_events.py:emit": "logging calls it",
    "broker/http/response.py:TEXT": "for metrics, to come",
    "broker/network/transport.py:LayerTransport": "the shape of TlsTransport",
    "broker/process/log_lines.py:formatMessage": "logging calls it",
    "broker/security/principal.py:is_token": "for delegation tokens, to come",
    "client/oauth/http_exchange.py:readinto": "io calls it",
    "config/setting.py:importance": "Kafka's table of settings has it; tests compare the two",
    "controller/tree/zookeeper_connection.py:dispatch_callback": "kazoo calls it",
    "pipeline/jobs/archive_command.py:run": "pipeline/jobs/command.py loads it by name",
    "pipeline/jobs/audit_command.py:run": "pipeline/jobs/command.py loads it by name",
    "console/server.py:data_received": "uvicorn calls it",
    "pipeline/jobs/check_archive_command.py:run": "pipeline/jobs/command.py loads it by name",
    "pipeline/jobs/compact_archive_command.py:run": "pipeline/jobs/command.py loads it by name",
    "pipeline/jobs/mirror_command.py:run": "pipeline/jobs/command.py loads it by name",
    "pipeline/jobs/py_files_command.py:run": "pipeline/jobs/command.py loads it by name",
    "pipeline/jobs/replay_command.py:run": "pipeline/jobs/command.py loads it by name",
    "pipeline/jobs/report_command.py:run": "pipeline/jobs/command.py loads it by name",
    "pipeline/mirror/written_rows.py:addInPlace": "Spark calls it",
    "pipeline/mirror/written_rows.py:zero": "Spark calls it",
    "pipeline/topics/data_source.py:streamReader": "Spark calls it",
    "pipeline/topics/data_source.py:streamWriter": "Spark calls it",
    "pipeline/topics/topic_stream_reader.py:getDefaultReadLimit": "Spark calls it",
    "pipeline/topics/topic_stream_reader.py:latestOffset": "Spark calls it",
    "pipeline/topics/topic_stream_reader.py:prepareForTriggerAvailableNow": "Spark calls it",
    "pipeline/topics/topic_stream_reader.py:reportLatestOffset": "Spark calls it",
    "protocol/codec/interpreter.py:decode": "tests compare the compiled codec with it",
    "protocol/codec/interpreter.py:encode": "tests compare the compiled codec with it",
    "protocol/codec/json_form.py:from_json": "builds messages from the JSON of golden files",
    "replication/partition/nearest_replica.py:caught_up_ms": "part of a value that is compared as a whole",
    "storage/compaction/cleaner_process.py:main": "a child process calls it",
    "storage/log/log_append.py:duplicate": "part of an append's result",
    "storage/recovery/recovery_process.py:emit": "logging calls it",
    "storage/recovery/recovery_process.py:main": "a child process calls it",
    "storage/workers/big_batch_process.py:main": "a child process calls it",
    "testkit/clients.py:aio_consumer": "users call it: examples/fastapi shows such tests",
    "testkit/clients.py:aio_producer": "users call it: examples/fastapi shows such tests",
    "testkit/cluster_helpers.py:aio": "users call it in coroutines, as that of a broker",
    "testkit/failure_report.py:emit": "logging calls it",
    "storage/workers/unpacking.py:all_read_in_this_process": "simulations have no child processes",
}


def test_every_public_name_is_used_outside_tests() -> None:
    rejects_all_but(USED_FROM_OUTSIDE, unused_names())
