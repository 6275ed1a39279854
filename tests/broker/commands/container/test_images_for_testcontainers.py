"""The names of images in the section about testcontainers of docs/operator/container.md.

The checks of tags are those of the modules at the commits that ``tests/reference/testcontainers`` names.
"""

import re
import tomllib
from collections.abc import Callable

import pytest
from packaging.version import InvalidVersion, Version
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "operator" / "container.md").read_text().split("## With testcontainers\n")[1].split("\n## ")[0]
SNIPPETS = dict(re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
PROJECT_VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
SEMANTIC = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:\.\d+)?(?:-[a-z\d.-]+)?", re.IGNORECASE)


def takes_in_python(image: str, *, kraft: bool = False) -> bool:
    """The version is read by ``with_kraft`` only, by the rules of Python's packages."""
    try:
        return not kraft or Version(image.split(":")[-1]) >= Version("7.0.0")
    except InvalidVersion:
        return False


def takes_in_node(image: str, *, kraft: bool = False) -> bool:
    """The constructor compares the tag, which must be a semantic version."""
    found = SEMANTIC.fullmatch(image.partition(":")[2] or "latest")
    if found is None:
        return False
    return not kraft or tuple(int(part or 0) for part in found.groups()) >= (7, 0, 0)


def takes_in_go(image: str) -> bool:
    """Only the versions of Confluent's own image are compared."""
    return not image.startswith("confluentinc/confluent-local:")


TAKES: dict[str, tuple[Callable[[str], bool], str]] = {
    "python": (takes_in_python, r'^KafkaContainer\("(.+)"\)$'),
    "typescript": (takes_in_node, r'^new KafkaContainer\("(.+)"\)$'),
    "go": (takes_in_go, r'^kafka\.Run\(ctx, "(.+)"\)$'),
    # These compare no versions, but must be told that the image is one of Apache Kafka.
    "java": (
        bool,
        r'^new KafkaContainer\(DockerImageName\.parse\("(.+)"\)\.asCompatibleSubstituteFor\("apache/kafka"\)\)$',
    ),
    "csharp": (bool, r'^new KafkaBuilder\("(.+)"\)\.WithVendor\(KafkaVendor\.ApacheSoftwareFoundation\)\.Build\(\)$'),
}


@pytest.mark.parametrize("language", TAKES)
def test_module_of_each_language_takes_the_image_that_the_page_names(language: str) -> None:
    takes, shape = TAKES[language]
    found = re.search(shape, SNIPPETS[language], re.MULTILINE)
    assert found is not None
    assert takes(found[1])
    assert f"docker build -t {found[1]} .\n" in SNIPPETS["console"]


def test_images_are_built_with_the_version_of_the_project_as_their_tag() -> None:
    tags = re.findall(r"docker build .*-t [\w-]+:(\S+) \.", SNIPPETS["console"] + (ROOT / "Dockerfile").read_text())
    assert tags == [PROJECT_VERSION] * 3


@pytest.mark.parametrize(
    ("image", "python", "node"),
    [("pybroker", False, False), ("pybroker:latest", False, False), ("pybroker:0.1.0", False, False),
     ("pybroker:0.2-test", False, False), ("pybroker:7.5.0", True, True)],
)  # fmt: skip
def test_modules_take_kraft_only_with_a_tag_like_confluents(image: str, python: bool, node: bool) -> None:
    assert "need a tag from 7.5.0 on" in PAGE
    assert (takes_in_python(image, kraft=True), takes_in_node(image, kraft=True)) == (python, node)
