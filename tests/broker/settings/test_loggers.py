"""Levels of Python's loggers are set and described by log4j's logger names."""

import logging

import pytest
from pybroker.broker.settings.loggers import LEVELS, LoggerLevels


@pytest.fixture
def manager() -> logging.Manager:
    """Loggers of this test only."""
    root = logging.RootLogger(logging.INFO)
    manager = logging.Manager(root)
    manager.getLogger("house.kitchen.oven")
    manager.getLogger("house.kitchen").setLevel(logging.WARNING)
    return manager


def test_describe_returns_the_effective_level_of_every_logger(manager: logging.Manager) -> None:
    assert LoggerLevels(manager).levels() == {
        "root": "INFO",
        "house": "INFO",
        "house.kitchen": "WARN",
        "house.kitchen.oven": "WARN",
    }


@pytest.mark.parametrize("name", LEVELS)
def test_a_level_is_set_and_shown_by_the_same_name(manager: logging.Manager, name: str) -> None:
    levels = LoggerLevels(manager)
    levels.set("house", name)
    assert levels.levels()["house"] == name
    assert levels.levels()["house.kitchen"] == "WARN"
    levels.unset("house.kitchen")
    assert levels.levels()["house.kitchen.oven"] == name
    levels.set("root", name)
    levels.unset("house")
    assert set(levels.levels().values()) == {name}


def test_level_between_two_log4j_levels_is_described_as_the_lower_one(manager: logging.Manager) -> None:
    for number, name in ((1, "TRACE"), (7, "TRACE"), (15, "DEBUG"), (99, "FATAL")):
        manager.root.setLevel(number)
        assert LoggerLevels(manager).levels()["root"] == name


def test_logger_exists_when_it_or_a_descendant_is_in_use(manager: logging.Manager) -> None:
    levels = LoggerLevels(manager)
    assert levels.exists("root")
    assert levels.exists("house")
    assert not levels.exists("garden")
    assert not levels.exists("")


def test_the_process_own_loggers_are_the_default() -> None:
    assert "pybroker.broker.settings.loggers" not in LoggerLevels().levels(), "it does not log"
    assert LoggerLevels().exists("pybroker.broker")
