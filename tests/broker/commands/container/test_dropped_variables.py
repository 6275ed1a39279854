"""Variables that a shell does not pass on are read from the first process of the container."""

from pathlib import Path

from pybroker.broker.commands.container.dropped_variables import with_dropped_variables

DASHED = "KAFKA_LISTENER_NAME_SECURE_SCRAM-SHA-512_SASL_JAAS_CONFIG"


def test_only_names_for_settings_that_shells_drop_are_taken_from_the_first_process(tmp_path: Path) -> None:
    file = tmp_path / "environ"
    file.write_bytes(f"{DASHED}=a=b\0KAFKA_X=unset\0PA-TH=/bin\0\0KAFKA_-".encode() + b"=\xff\0")
    found = with_dropped_variables({"HOME": "/"}, file)
    assert found == {"HOME": "/", DASHED: "a=b", "KAFKA_-": "\udcff"}


def test_variables_of_the_broker_itself_take_precedence(tmp_path: Path) -> None:
    file = tmp_path / "environ"
    file.write_bytes(f"{DASHED}=old\0".encode())
    assert with_dropped_variables({DASHED: "new"}, file) == {DASHED: "new"}


def test_first_process_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    assert with_dropped_variables({"KAFKA_X": "1"}, tmp_path / "missing") == {"KAFKA_X": "1"}
