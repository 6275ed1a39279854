"""Secrets are compared by `hmac.compare_digest` alone, so that times tell nothing (CVE-2021-38153)."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from support.source_tree import ROOT, name_of, tree_of

SECRET = re.compile(r"password|secret|proof|nonce|signature|digest|hash|stored_key|server_key|client_key|hmac", re.I)
HARMLESS = re.compile(r"len\(|_bytes\b|digest_bytes")


def comparisons(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(each, ast.Eq | ast.NotEq) for each in node.ops):
            yield ast.unparse(node)


def suspicious(tree: ast.AST) -> list[str]:
    return [text for text in comparisons(tree) if SECRET.search(text) and not HARMLESS.search(text)]


def test_rule_finds_a_plain_comparison() -> None:
    assert suspicious(ast.parse("if proof == expected: pass")) == ["proof == expected"]
    assert suspicious(ast.parse("compare_digest(proof, expected) and len(proof) == digest_bytes")) == []


def test_secrets_are_not_compared_by_operators() -> None:
    files: list[Path] = [*(ROOT / "broker" / "security").rglob("*.py"), ROOT / "protocol" / "client" / "sasl.py"]
    found = {name_of(path): found for path in files if (found := suspicious(tree_of(path)))}
    assert found == {"protocol/client/sasl.py": ["server_nonce == nonce"]}  # both are known to the broker already
