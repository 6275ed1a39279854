"""Reads tables of Delta Lake and Iceberg by DuckDB, which shares no code with the libraries that write them."""

from __future__ import annotations

from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

__all__ = ["has_duckdb", "rows_read_by_duckdb"]

_EXTENSIONS = {"delta": ("delta",), "iceberg": ("avro", "iceberg")}


def has_duckdb() -> bool:
    """Returns whether the extra `duckdb` is installed."""
    names = ("duckdb", *(f"duckdb_extension_{each}" for extensions in _EXTENSIONS.values() for each in extensions))
    return all(find_spec(name) is not None for name in names)


def rows_read_by_duckdb(name: str, root: Path, table: str = "data") -> list[dict[str, Any]]:
    """Returns the rows of a table by topic, partition and offset. Skips the test without the extra `duckdb`."""
    if not has_duckdb():
        pytest.skip("the extra 'duckdb' is not installed")
    duckdb = pytest.importorskip("duckdb")
    settings = {"allow_unsigned_extensions": "true", "autoinstall_known_extensions": "false"}
    with closing(duckdb.connect(config=settings)) as connection:
        for extension in _EXTENSIONS[name]:
            connection.load_extension(str(_extension_file(extension)))
        if name == "delta":
            source = f"delta_scan('{root / table}')"
        else:
            connection.execute("SET unsafe_enable_version_guessing = true")  # PyIceberg writes no version hint
            source = f"iceberg_scan('{root / 'iceberg' / table}')"
        found = connection.execute(f'SELECT * FROM {source} ORDER BY topic, partition, "offset"')
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _extension_file(extension: str) -> Path:
    spec = find_spec(f"duckdb_extension_{extension}")
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.rglob("*.duckdb_extension"))
