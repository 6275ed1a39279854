"""Every frame written by Apache Kafka's own classes decodes and encodes byte for byte."""

from pathlib import Path

import pytest
from support.golden import check_frame, find_message_type, golden_files, read_lines

GOLDEN = Path(__file__).parent.parent / "reference" / "golden"
CHANGED_SINCE = frozenset({"ConsumerGroupMetadataValue", "ShareGroupMetadataValue"})
"""Messages to which Kafka 4 added a field, so that frames of Kafka 3.9 (of the first: with unknown tags) mean something
else."""
FRAME_FILES = [path for path in golden_files(GOLDEN) if not path.name.startswith(("record-batches", "down-conversion"))]


@pytest.mark.parametrize("path", FRAME_FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_golden_frames_decode_and_encode_as_kafka_does(path: Path) -> None:
    lines = [line for line in read_lines(path) if line["api"] not in CHANGED_SINCE]
    assert lines
    assert [complaint for line in lines for complaint in check_frame(line)] == []


def test_every_version_of_every_message_has_frames() -> None:
    seen: dict[tuple[str, str], set[int]] = {}
    for path in FRAME_FILES:
        for line in read_lines(path):
            seen.setdefault((line["api"], line["kind"]), set()).add(line["version"])
    for (name, kind), versions in seen.items():
        found = find_message_type(name, kind)
        assert found is not None
        # Control records carry a version field, too, and are written in the one version that exists.
        assert versions == set(found[0].MESSAGE.versions), name


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("hex", lambda line: line["hex"][:-2] + "01"),
        ("value", lambda line: {**line["value"], "acks": 77}),
        ("unknownTags", lambda line: [{"path": "", "tag": 99, "data": "AAAA"}]),
        ("version", lambda line: line["version"] - 1),
    ],
)
def test_golden_check_reports_a_wrong_line(name: str, changed: object) -> None:
    line = next(
        line
        for line in read_lines(GOLDEN / "api-00-Produce.jsonl.gz")
        if line["kind"] == "request" and line["version"] == 9 and line["variant"] == "typical"
    )
    assert callable(changed)
    try:
        complaints = check_frame({**line, name: changed(line)})
    except ValueError as error:  # no such message in that version, or no such bytes
        complaints = [str(error)]
    assert complaints
