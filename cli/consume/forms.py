"""The forms in which records are printed, and the printer that puts them together."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import BinaryIO

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...client.record_json import record_to_json
from ...protocol.records.record import Record
from .format_string import RecordText, format_function, header_bytes
from .safe_bytes import Shown, as_is, for_terminal

__all__ = ["FORMS", "Form", "Printer", "chosen_form"]

FORMS = ("value", "json", "jsonl", "raw", "hex", "base64")


@frozen
class Form:
    """How a record becomes bytes.

    Attributes:
        record: the bytes of one record.
        values: the bytes of many records from their values alone; None: the form shows more than values.
        head, between, tail: stand in front of, between, and behind the records of the whole run.
    """

    record: RecordText
    values: Callable[[Sequence[bytes]], bytes] | None = None
    head: bytes = b""
    between: bytes = b""
    tail: bytes = b""


def chosen_form(name: str, format_string: str | None, *, with_headers: bool, is_terminal: bool) -> Form:
    """The form of ``--format``, ``-f`` and ``--headers``. Raises CommandError."""
    shown: Shown = for_terminal if is_terminal else as_is
    if format_string is not None:
        return Form(format_function(format_string, shown))
    if name == "jsonl":
        return Form(lambda at, record: record_to_json(at, record).encode() + b"\n")
    if name == "json":
        return Form(lambda at, record: record_to_json(at, record).encode(), None, b"[\n", b",\n", b"\n]\n")
    if name == "raw":
        return Form(lambda _, record: record.value or b"", b"".join)
    encodings: dict[str, Shown] = {"value": shown, "hex": lambda value: value.hex().encode(), "base64": b64encode}
    one = encodings[name]
    if with_headers:
        return Form(lambda _, record: header_bytes(record, shown) + b"\t" + one(record.value or b"") + b"\n")
    return Form(lambda _, record: one(record.value or b"") + b"\n", lambda values: _lines(values, one))


def _lines(values: Sequence[bytes], shown: Shown) -> bytes:
    return b"\n".join(values if shown is as_is else map(shown, values)) + b"\n" if values else b""


class Printer:
    """Writes records in a form."""

    def __init__(self, form: Form, stdout: BinaryIO) -> None:
        self._form = form
        self._stdout = stdout
        self._is_begun = False

    @property
    def takes_values(self) -> bool:
        """Whether `print_values` can be used."""
        return self._form.values is not None

    def print_values(self, values: Sequence[bytes]) -> None:
        """Print records of which only the values are known."""
        assert self._form.values is not None
        self._stdout.write(self._form.values(values))

    def print_records(self, at: TopicPartition, records: Sequence[Record]) -> None:
        """Print records of one partition."""
        form = self._form
        if not records:
            return
        self._stdout.write(form.between if self._is_begun else form.head)
        self._is_begun = True
        self._stdout.write(form.between.join([form.record(at, record) for record in records]))

    def flush(self) -> None:
        """Hand over what was printed to the reader of the output."""
        self._stdout.flush()

    def end(self) -> None:
        """Print what stands behind the records."""
        if self._form.tail:
            self._stdout.write(self._form.tail if self._is_begun else b"[]\n")
        self._stdout.flush()
