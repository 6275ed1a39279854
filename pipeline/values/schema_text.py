"""The text of an Avro or Protobuf schema, with the texts that it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["SchemaError", "SchemaText"]


class SchemaError(ValueError):
    """A schema can't be used. The message is one sentence that names the field or the file."""


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as a registry or a file has it.

    Attributes:
        references: names and texts that the schema refers to, each behind the ones that it needs itself. A name is that
            of an Avro type or of an imported Protobuf file.
    """

    text: str
    references: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns what `from_json` takes."""
        return {"text": self.text, "references": [list(each) for each in self.references]}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> SchemaText:
        """The inverse of `to_json`."""
        return cls(content["text"], tuple((name, text) for name, text in content["references"]))
