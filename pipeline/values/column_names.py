"""Checks the names of columns and of the fields inside them."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from .schema_text import SchemaError

__all__ = ["check_names", "unused_name"]


def check_names(columns: DataType) -> None:
    """Raises SchemaError if two fields side by side have names that differ only by case: Spark takes them for one,
    unless `spark.sql.caseSensitive` is true.
    """
    match columns:
        case StructType():
            seen: dict[str, str] = {}
            for field in columns.fields:
                if (other := seen.setdefault(field.name.lower(), field.name)) != field.name:
                    raise SchemaError(
                        f"the names of the fields {other} and {field.name} differ only by case: give a schema with one "
                        "of them, or set spark.sql.caseSensitive"
                    )
                check_names(field.dataType)
        case ArrayType():
            check_names(columns.elementType)
        case MapType():
            check_names(columns.valueType)


def unused_name(wanted: str, used: str) -> str:
    """Returns a name that does not occur in a text, whatever its case: `wanted`, behind underscores if needed."""
    used = used.lower()
    while wanted in used:
        wanted = f"_{wanted}"
    return wanted
