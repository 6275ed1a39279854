"""Tests of the pages under docs/ that are generated from the table of settings."""

import re
from pathlib import Path

from pybroker.config.config_error import ConfigError
from pybroker.config.document import (
    DEVIATIONS_PAGE,
    SETTINGS_PAGE,
    defaults_table,
    settings_page,
    with_defaults,
    write_pages,
)
from pybroker.config.dynamic_changes import check_dynamic, is_reloadable
from pybroker.config.setting import SupportKind
from pybroker.config.table import BROKER_SETTINGS, TOPIC_SETTINGS

DOCS = Path(__file__).parents[2] / "docs" / "operator"
EFFECTIVE = (SupportKind.ACTED_ON, SupportKind.PARTLY)
RENEW = "run: python -m pybroker.config.document docs/operator"


def test_settings_page_equals_the_page_generated_from_the_table() -> None:
    assert (DOCS / SETTINGS_PAGE).read_text(encoding="utf-8") == settings_page(), RENEW


def test_the_deviations_page_lists_every_default_that_differs() -> None:
    page = (DOCS / DEVIATIONS_PAGE).read_text(encoding="utf-8")
    assert with_defaults(page) == page, RENEW
    for setting in BROKER_SETTINGS.values():
        if setting.own_default is not None:
            assert f"| `{setting.name}` |" in defaults_table()


def test_the_deviations_page_lists_the_topic_settings_without_effect() -> None:
    page = (DOCS / DEVIATIONS_PAGE).read_text(encoding="utf-8")
    _, _, rest = page.partition("| topic settings without effect |")
    listed = set(re.findall("`([a-z.]+)`", rest.partition("\n")[0]))
    idle = (SupportKind.NOT_YET, SupportKind.NO_MEANING)
    expected = {name for name, setting in TOPIC_SETTINGS.items() if setting.support.kind in idle}
    assert listed == expected - {"remote.storage.enable", "remote.log.copy.disable", "remote.log.delete.on.disable"}


def test_settings_page_lists_every_setting() -> None:
    page = settings_page()
    for name in [*BROKER_SETTINGS, *TOPIC_SETTINGS]:
        assert f"`{name}`" in page


def test_settings_page_calls_exactly_the_dynamic_settings_dynamic() -> None:
    of_brokers = settings_page().partition("## Topics")[0]
    rows = re.findall(r"^\| `.* \|$", of_brokers, re.MULTILINE)
    cells = [row.strip("| ").split(" | ") for row in rows]  # a row leaves out its last cell if that is empty
    said = {name.strip("`"): "".join(changes) for name, _, _, _, *changes in cells}
    shown = {name: setting for name, setting in BROKER_SETTINGS.items() if setting.support.kind in EFFECTIVE}
    assert set(said) == set(shown)
    for name, setting in shown.items():
        try:
            check_dynamic({name: "1"}, per_broker=True)
            is_taken = True
        except ConfigError as error:
            is_taken = "cannot be changed while" not in str(error)
        assert said[name] == (setting.scope.value if is_taken and is_reloadable(name) else ""), name


def test_settings_page_lists_each_setting_without_effect_with_its_reason() -> None:
    listed = settings_page().partition("## Settings without effect")[2].partition("## Former names")[0]
    rows = [line for line in listed.splitlines() if line.startswith("| ")]
    for name, setting in BROKER_SETTINGS.items():
        reasons = [row for row in rows if f"`{name}`," in row or f"`{name}` |" in row]
        if setting.support.kind in EFFECTIVE:
            assert not reasons, name
        else:
            assert len(reasons) == 1, name
            assert setting.support.note in reasons[0]


def test_writing_the_pages_keeps_the_text_around_the_table(tmp_path: Path) -> None:
    (tmp_path / DEVIATIONS_PAGE).write_text(
        "before\n<!-- defaults: written by pybroker.config.document -->\nstale row\n<!-- end of defaults -->\nafter\n",
        encoding="utf-8",
    )
    write_pages(tmp_path)
    page = (tmp_path / DEVIATIONS_PAGE).read_text(encoding="utf-8")
    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")
    assert "stale row" not in page
    assert defaults_table() in page
