"""Runs pybroker under a tracer of branches: ``python -m support.fuzzing.traced_broker MAP ...``.

Arguments behind ``MAP`` (a `BranchMap`'s file) are passed to pybroker. A branch is a step from one line of a function
to another. The folders below are traced, on the event loop's thread; the codec is traced in the code it compiles.
"""

import inspect
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pybroker
from pybroker.broker.commands.command_line import main
from pybroker.broker.network.request import LaterReply, Request
from pybroker.broker.requests.dispatch import Dispatcher
from support.fuzzing.branch_map import BranchMap

TRACED = (
    "broker/apis/",
    "broker/coordinator/",
    "broker/network/request_header.py",
    "broker/coordinator/offsets_topic.py",
    "broker/coordinator/group/tree_offsets.py",
    "broker/settings/altered_config.py",
    "controller/topic_",
    "replication/",
    "storage/log/append_validation.py",
    "storage/producers/producer_state.py",
    "protocol/codec/",
    "protocol/records/",
)
COMPILED = ("<decoder of ", "<encoder of ")
FAMILIAR_AFTER = 300
"""Calls of a function without a new branch, after which only every ``SELDOM``-th is traced."""
SELDOM = 32

LineTracer = Callable[[FrameType, str, Any], Any]


class Function:
    """The branches seen in one function."""

    __slots__ = ("branches", "calls_without_new", "code", "folder")

    def __init__(self, code: CodeType, folder: str) -> None:
        self.code = code  # keeps its id from being given to another
        self.folder = folder
        self.branches: set[int] = set()
        self.calls_without_new = 0


class BranchTracer:
    """A trace function for `sys.settrace`."""

    def __init__(self) -> None:
        (root,) = pybroker.__path__
        self._root = f"{Path(root).resolve()}/"
        self._functions: dict[int, Function | None] = {}
        self._met: list[CodeType] = []
        self.branches = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> LineTracer | None:
        code = frame.f_code
        try:
            function = self._functions[id(code)]
        except KeyError:
            function = self._meet(code)
        if function is None:
            return None
        function.calls_without_new = calls = function.calls_without_new + 1
        if calls > FAMILIAR_AFTER and calls % SELDOM:
            return None
        return self._lines_of(function)

    def _lines_of(self, function: Function) -> LineTracer:
        last = 0
        branches = function.branches

        def line(frame: FrameType, event: str, argument: Any) -> LineTracer:
            nonlocal last
            if event != "exception":
                number = frame.f_lineno if event == "line" else 0
                branch = last << 20 | number
                if branch not in branches:
                    branches.add(branch)
                    self.branches += 1
                    function.calls_without_new = 0
                last = number
            return line

        return line

    def _meet(self, code: CodeType) -> Function | None:
        folder = self._folder_of(code.co_filename)
        function = None if folder is None else Function(code, folder)
        self._functions[id(code)] = function
        self._met.append(code)
        return function

    def _folder_of(self, file_name: str) -> str | None:
        if file_name.startswith(COMPILED):
            return "compiled codec"
        try:
            path = str(Path(file_name).resolve())
        except OSError:
            return None
        inside = path.removeprefix(self._root)
        return next((each for each in TRACED if path != inside and inside.startswith(each)), None)

    def by_folder(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for function in self._functions.values():
            if function is not None:
                counts[function.folder] += len(function.branches)
        return dict(sorted(counts.items()))


def steer(tracer: BranchTracer, reached: BranchMap) -> None:
    """Record the requests that were in progress when a branch was reached for the first time."""
    dispatch = Dispatcher.__call__

    def note_growth(before: int, request: Request) -> None:
        if tracer.branches != before:
            reached.note(tracer.branches, request.correlation_id)

    def call(self: Dispatcher, request: Request) -> Any:
        before = tracer.branches
        try:
            reply = dispatch(self, request)
        finally:
            note_growth(before, request)
        if isinstance(reply, LaterReply):
            return LaterReply(reply.future, partial(settled, reply.settle, before, request))
        if inspect.isawaitable(reply):
            return noted(reply, before, request)
        return reply

    def settled(settle: Callable[[], Any], before: int, request: Request) -> Any:
        try:
            return settle()
        finally:
            note_growth(before, request)

    async def noted(reply: Awaitable[Any], before: int, request: Request) -> Any:
        try:
            return await reply
        finally:
            note_growth(before, request)

    Dispatcher.__call__ = call  # type: ignore[method-assign]


def run(arguments: list[str]) -> int:
    reached = BranchMap(Path(arguments[0]))
    tracer = BranchTracer()
    steer(tracer, reached)
    sys.settrace(tracer)
    try:
        return main(arguments[1:])
    finally:
        sys.settrace(None)
        print(f"branches reached: {tracer.branches} {tracer.by_folder()}", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
