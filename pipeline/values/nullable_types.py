"""Spark types all of whose parts may be null."""

from typing import Any

from pyspark.sql.types import ArrayType, MapType, StructField, StructType

__all__ = ["nullable"]


def nullable(of: Any) -> Any:
    """Returns a Spark type all of whose parts may be null, so that a later schema can leave a field out."""
    match of:
        case StructType():
            return StructType([StructField(f.name, nullable(f.dataType), True, f.metadata) for f in of.fields])
        case ArrayType():
            return ArrayType(nullable(of.elementType), True)
        case MapType():
            return MapType(of.keyType, nullable(of.valueType), True)
    return of
