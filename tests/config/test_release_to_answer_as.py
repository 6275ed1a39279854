"""The setting ``pybroker.as.version``: which values it takes."""

import pytest
from pybroker.broker.requests.served_versions import served_versions
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from pybroker.config.notices import notices
from pybroker.config.versions import RELEASES_TO_ANSWER_AS, release_to_answer_as


def test_release_is_unset_unless_it_is_given() -> None:
    config = load_config("")
    assert config.optional_string("pybroker.as.version") is None
    assert not any("as.version" in line for line in notices(config))


def test_start_says_that_clients_see_only_that_release() -> None:
    (line,) = notices(load_config("", {"pybroker.as.version": "2.8"}))
    assert "pybroker.as.version=2.8" in line
    assert line.endswith("clients see only APIs and versions of this release")


@pytest.mark.parametrize("text", ["2.9", "2.8.x", "2.8.", "2.80", "0.10.1", "0.10", "2.8.1.1", "latest", ""])
def test_unknown_release_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(ConfigError, match=r"must be one of 0\.10\.2, 0\.11, 1\.0, .*, 4\.2$") as error:
        load_config("", {"pybroker.as.version": text})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("release", RELEASES_TO_ANSWER_AS)
def test_patch_stands_for_its_release(release: str) -> None:
    patches = (".0.3",) if release == "0.11" else (".0", ".12")
    for text in (release, *(f"{release}{patch}" for patch in patches)):
        assert release_to_answer_as(text) == release
        shown = served_versions(load_config("", {"pybroker.as.version": text})).release
        assert shown is not None
        assert shown.name == release
