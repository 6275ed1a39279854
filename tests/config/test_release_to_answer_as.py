"""The setting ``pybroker.as.version``: which values it takes."""

import pytest
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from pybroker.config.notices import notices


def test_release_is_unset_unless_it_is_given() -> None:
    config = load_config("")
    assert config.optional_string("pybroker.as.version") is None
    assert not any("as.version" in line for line in notices(config))


def test_start_says_that_clients_see_only_that_release() -> None:
    (line,) = notices(load_config("", {"pybroker.as.version": "2.8"}))
    assert "pybroker.as.version=2.8" in line
    assert line.endswith("clients see only APIs and versions of this release")


@pytest.mark.parametrize("text", ["2.9", "2.8.1", "0.10.1", "latest", ""])
def test_unknown_release_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(ConfigError, match=r"must be one of 0\.10\.2, 0\.11, 1\.0, .*, 4\.2$") as error:
        load_config("", {"pybroker.as.version": text})
    assert "\n" not in str(error.value)
