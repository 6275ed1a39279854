"""Writing Python source that is compiled at run time: lines with indentation, fresh names, a namespace."""

import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class SourceWriter:
    """Collects the lines of one function and the objects they refer to by name."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0
        self.namespace: dict[str, Any] = {}

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """``head`` and what is written inside, one level deeper."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """A variable name that was not used before."""
        self._count += 1
        return f"{stem}_{self._count}"

    def constant(self, name: str, value: Any) -> str:
        """Make ``value`` known to the code under ``name``."""
        self.namespace[name] = value
        return name

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def compile(self, function_name: str, file_name: str) -> Any:
        """Run the source and return its function. ``file_name`` is how tracebacks show it, with its lines."""
        text = self.text
        linecache.cache[file_name] = (len(text), None, text.splitlines(keepends=True), file_name)
        exec(compile(text, file_name, "exec"), self.namespace)
        return self.namespace[function_name]
