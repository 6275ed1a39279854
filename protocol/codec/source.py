"""A writer of Python source that is compiled at run time: indented lines, new names, a namespace."""

import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class SourceWriter:
    """Collects the lines of one function, and the objects that they refer to by name."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0
        self.namespace: dict[str, Any] = {}

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Write ``head``, and the lines inside the `with` block one level deeper."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        """Return a variable name that was not used before."""
        self._count += 1
        return f"{stem}_{self._count}"

    def constant(self, name: str, value: Any) -> str:
        """Make ``value`` available to the code as ``name``; return the name."""
        self.namespace[name] = value
        return name

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def compile(self, function_name: str, file_name: str) -> Any:
        """Compile the source and return its function. Tracebacks show its lines under ``file_name``."""
        text = self.text
        linecache.cache[file_name] = (len(text), None, text.splitlines(keepends=True), file_name)
        exec(compile(text, file_name, "exec"), self.namespace)
        return self.namespace[function_name]
