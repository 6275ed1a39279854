"""The page of options has every option, and is what its table says."""

from pathlib import Path

import pytest
from pybroker.client.given_options import GivenOptions
from pybroker.pipeline.options.document import OPTIONS_PAGE, options_page
from pybroker.pipeline.options.option_table import READING, SECURITY, WRITING
from pybroker.pipeline.options.read_options import KNOWN

PAGE = Path(__file__).parents[2] / "docs" / "user" / OPTIONS_PAGE


def test_page_of_options_is_written_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == options_page(), (
        "run python -m pybroker.pipeline.options.document docs/user"
    )


def test_page_has_every_option_of_the_source_once() -> None:
    names = [name for row in (*READING, *WRITING, *SECURITY) for name in row.names]
    assert len(names) == len(set(names))
    assert set(KNOWN) == {name for row in READING for name in row.names if not name.startswith("kafka.")}


def test_security_options_of_the_page_are_those_that_clients_take() -> None:
    from pybroker.client.security_settings import take_security

    named = [name.removeprefix("kafka.") for row in SECURITY for name in row.names if name.startswith("kafka.")]
    options = GivenOptions(dict.fromkeys(named, ""))
    for store in ("truststore", "keystore"):
        assert {f"ssl.{store}.location", f"ssl.{store}.password", f"ssl.{store}.type"} <= set(options)
    file = {"ssl.truststore.type": "PEM", "ssl.keystore.type": "PEM", "security.protocol": "PLAINTEXT"}
    given = GivenOptions(
        {name: file.get(name, "") for name in named if "certificate" not in name and "keystore.key" not in name}
    )
    take_security(given)
    assert list(given) == []


def test_warning_before_spark_4_2_names_the_option_that_reads_all_in_several_micro_batches(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("pyspark")
    from pybroker.pipeline.topics import spark_release

    monkeypatch.setattr(spark_release, "HAS_READ_LIMITS", False)
    spark_release.warn_of_single_batch()
    assert "set 'endAtLatest' to true" in caplog.text
