"""Tests of the console's front end as files: pinned libraries, no way to parse strings as HTML, no build step."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from support.source_tree import ROOT

STATIC = ROOT / "console" / "static"
VENDOR = STATIC / "vendor"
MANIFEST = json.loads((VENDOR / "vendor.json").read_text())
OURS = sorted(path for path in STATIC.rglob("*") if path.is_file() and VENDOR not in path.parents)
SCRIPTS = [path for path in OURS if path.suffix == ".js"]
LINES = 300

FORBIDDEN = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "dangerouslySetInnerHTML",
    "document.write",
    "srcdoc",
    "eval(",
    "new Function",
    "createPolicy",
    "createContextualFragment",
    "DOMParser",
    "javascript:",
    "localStorage",
)


def test_vendored_files_have_the_recorded_hashes() -> None:
    recorded = {name: file["sha256"] for package in MANIFEST["packages"] for name, file in package["files"].items()}
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir() if path.suffix != ".json"
    }
    assert found == recorded


def test_each_vendored_package_is_pinned_by_npm_and_brings_its_licence() -> None:
    for package in MANIFEST["packages"]:
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", package["integrity"]), package["name"]
        assert re.fullmatch(r"\d+\.\d+\.\d+", package["version"]), package["name"]
        assert any(file["from"] == "LICENSE" for file in package["files"].values()), package["name"]


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(STATIC)))
def test_no_file_parses_strings_as_code_or_keeps_data_in_the_browser(path: Path) -> None:
    text = path.read_text()
    assert [word for word in FORBIDDEN if word in text] == []


def test_modules_import_files_that_exist_by_relative_addresses() -> None:
    imported = [
        (path, address)
        for path in [*SCRIPTS, *VENDOR.glob("*.js")]
        for address in re.findall(r"""\b(?:from|import)\s*\(?["']([^"']+)["']""", path.read_text())
    ]
    assert len(imported) > 100
    wrong = [
        f"{path.name}: {address}"
        for path, address in imported
        if not address.startswith(("./", "../")) or not (path.parent / address).is_file()
    ]
    assert wrong == []


def test_start_page_has_no_inline_script_or_style() -> None:
    page = (STATIC / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style|\bstyle=|\bon\w+=", page) == []
    for address in re.findall(r'(?:src|href)="/static/([^"]+)"', page):
        assert (STATIC / address).is_file(), address


def test_no_script_is_too_long() -> None:
    assert {path.name: lines for path in SCRIPTS if (lines := len(path.read_text().splitlines())) > LINES} == {}
