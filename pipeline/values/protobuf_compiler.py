"""Protobuf schemas: compiled files and sources, and the messages in them."""

from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError as BrokenMessageError

from .schema_text import SchemaError, SchemaText

__all__ = ["SOURCE_NAME", "compiled_files", "compiled_source", "message_at", "message_named", "parsed_descriptors"]

SOURCE_NAME = "schema.proto"
_TIMEOUT_S = 60
_GOOGLE = "google/protobuf/"
"""Files with this prefix come with the compiler."""
_FAILED_S = 60.0
"""How long a source that can't be compiled is not compiled again. The compiler may have lacked memory."""
_MOST_CACHED = 10_000


def compiled_source(schema: SchemaText) -> bytes:
    """Returns the file descriptor set of a source named SOURCE_NAME and of all files that it imports.

    The compiler is that of `grpcio-tools`, or `protoc` on the PATH. Raises SchemaError.
    """
    with tempfile.TemporaryDirectory(prefix="pybroker-protobuf-") as place:
        root = Path(place)
        for name, text in [*schema.references, (SOURCE_NAME, schema.text)]:
            if name.startswith(_GOOGLE):
                continue
            file = (root / name).resolve()
            if not file.is_relative_to(root.resolve()):
                raise SchemaError(f"the imported file {name} is outside the folder of the schema")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return _compiled(root, SOURCE_NAME)


def compiled_files(schema: SchemaText) -> Any:
    """Returns the files of `compiled_source`, parsed. A process compiles a source once, and one that can't be compiled
    once a minute. Raises SchemaError.
    """
    found, ends_s = _known.get(schema, (None, 0.0))
    if found is None or ends_s <= time.monotonic():
        if len(_known) >= _MOST_CACHED:
            _known.clear()
        try:
            found, ends_s = parsed_descriptors(compiled_source(schema)), math.inf
        except SchemaError as error:
            found, ends_s = error, time.monotonic() + _FAILED_S
        _known[schema] = found, ends_s
    if isinstance(found, SchemaError):
        raise found
    return found


def _compiled(root: Path, name: str) -> bytes:
    target = root / "compiled.desc"
    command = [*_compiler(), f"--proto_path={root}", f"--descriptor_set_out={target}", "--include_imports", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S, cwd=root)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SchemaError(f"the Protobuf compiler failed: {error}") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        raise SchemaError(f"the Protobuf schema can't be compiled: {said[0].replace(f'{root}/', '')}")
    return target.read_bytes()


def _compiler() -> list[str]:
    if (tools := importlib.util.find_spec("grpc_tools")) is not None:
        included = [f"--proto_path={place}/_proto" for place in tools.submodule_search_locations or ()]
        return [sys.executable, "-m", "grpc_tools.protoc", *included]
    if (found := shutil.which("protoc")) is not None:
        return [found]
    raise SchemaError("Protobuf sources need the extra 'protobuf' (grpcio-tools), or protoc on the PATH")


def parsed_descriptors(data: bytes) -> Any:
    """Returns a file descriptor set, as `protoc --descriptor_set_out` writes it. Raises SchemaError."""
    found = descriptor_pb2.FileDescriptorSet()
    try:
        found.ParseFromString(data)
    except BrokenMessageError:
        raise SchemaError("the file is no compiled Protobuf schema: write it by protoc --descriptor_set_out") from None
    if not found.file:
        raise SchemaError("the compiled Protobuf schema has no files")
    return found


def message_named(files: Any, name: str | None) -> Any:
    """Returns the descriptor of a message. `name` None: the first message of the last file, which is the one that was
    compiled. Raises SchemaError.
    """
    pool = _pool(files.file)
    if name is None:
        last = files.file[-1]
        if not last.message_type:
            raise SchemaError(f"{last.name} declares no message")
        name = ".".join(filter(None, (last.package, last.message_type[0].name)))
    try:
        return pool.FindMessageTypeByName(name)
    except KeyError:
        raise SchemaError(f"the Protobuf schema has no message {name}") from None


def message_at(files: Any, indexes: Sequence[int]) -> str:
    """Returns the full name of a message of the last file by its indexes. Raises SchemaError."""
    file = files.file[-1]
    messages, names = file.message_type, [file.package] if file.package else []
    for index in indexes:
        if not 0 <= index < len(messages):
            raise SchemaError(f"the schema has no message with the indexes {list(indexes)}")
        names.append(messages[index].name)
        messages = messages[index].nested_type
    return ".".join(names)


def _pool(files: Iterable[Any]) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for each in files:
        try:
            pool.AddSerializedFile(each.SerializeToString())
        except (TypeError, KeyError) as error:
            raise SchemaError(
                f"the compiled Protobuf schema can't be used: {error}; write it with --include_imports"
            ) from None
    return pool


_known: dict[SchemaText, tuple[Any, float]] = {}
"""Compiled files or errors, and until when they count."""
