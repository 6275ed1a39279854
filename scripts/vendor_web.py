"""Fetches the console's JavaScript libraries from npm into `console/static/vendor`, or checks them (`--check`).

`vendor.json` pins each npm tarball by npm's integrity hash, and each file by the SHA-256 of its final text. After a
change of a version, run `scripts/vendor-web --pin`: it records the hashes of the downloaded tarballs and files.
`--tools` fetches axe-core and TypeScript for the tests into `.cache/web-tools` instead.
"""

import argparse
import base64
import hashlib
import io
import json
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "console" / "static" / "vendor"
REGISTRY = "https://registry.npmjs.org"
MAX_BYTES = 64 << 20
CACHE = ROOT / ".cache" / "web-tools"
TOOLS = (
    {
        "name": "axe-core",
        "version": "4.14.1",
        "integrity": "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
    },
    {
        "name": "typescript",
        "version": "5.9.3",
        "integrity": "sha512-jl1vZzPDinLr9eUt3J/t7V6FgNEw9QjvBPdysz9KfQDD41fQrC2Y4vKQdiaUpFT4bXlb1RHhLpp8wtm6M5TgSw==",
    },
)


def tarball_of(package: dict[str, Any], *, pin: bool = False) -> bytes:
    """Downloads the tarball of a package. Raises ValueError if its hash is not the pinned one."""
    name, version = package["name"], package["version"]
    url = f"{REGISTRY}/{name}/-/{name.rsplit('/', 1)[-1]}-{version}.tgz"
    with urllib.request.urlopen(url, timeout=60) as answer:
        data: bytes = answer.read(MAX_BYTES)
    found = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    if pin:
        package["integrity"] = found
    if found != package["integrity"]:
        raise ValueError(f"{name} {version}: the tarball has the hash {found}, pinned is {package['integrity']}")
    return data


def final_text(tarball: bytes, file: dict[str, Any]) -> bytes:
    """One file of a tarball, with relative addresses for modules, because a strict policy allows no import map."""
    with tarfile.open(fileobj=io.BytesIO(tarball)) as archive:
        member = archive.extractfile(f"package/{file['from']}")
        if member is None:
            raise ValueError(f"the tarball has no file {file['from']}")
        text = member.read().decode()
    for module, address in file.get("imports", {}).items():
        text = text.replace(f'from"{module}"', f'from"{address}"')
    # A map of the source is not served.
    lines = [line for line in text.splitlines() if not line.startswith("//# sourceMappingURL=")]
    appended: str = file.get("append", "")
    return ("\n".join(lines) + "\n" + appended).encode()


def vendor(manifest: dict[str, Any], *, pin: bool) -> dict[str, bytes]:
    """Returns all vendored files by name. Raises ValueError if one differs from its pinned hash."""
    files = {}
    for package in manifest["packages"]:
        tarball = tarball_of(package, pin=pin)
        for name, file in package["files"].items():
            text = final_text(tarball, file)
            found = hashlib.sha256(text).hexdigest()
            if pin:
                file["sha256"] = found
            if found != file["sha256"]:
                raise ValueError(f"{name}: the file has the hash {found}, pinned is {file['sha256']}")
            files[name] = text
    return files


def fetch_tools() -> None:
    """Unpacks each tool into a folder with its name and version. The folder appears when it is complete."""
    for tool in TOOLS:
        folder = CACHE / f"{tool['name']}-{tool['version']}"
        if folder.is_dir():
            continue
        CACHE.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(dir=CACHE) as place,
            tarfile.open(fileobj=io.BytesIO(tarball_of(dict(tool)))) as archive,
        ):
            archive.extractall(place, filter="data")
            (Path(place) / "package").rename(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the files with npm's and change nothing")
    parser.add_argument("--pin", action="store_true", help="record the hashes of what is downloaded now")
    parser.add_argument("--tools", action="store_true", help="fetch axe-core and TypeScript for the tests")
    options = parser.parse_args()
    if options.tools:
        fetch_tools()
        return
    manifest = json.loads((VENDOR / "vendor.json").read_text())
    try:
        files = vendor(manifest, pin=options.pin)
    except ValueError as error:
        sys.exit(f"vendor-web: {error}")
    if options.check:
        different = [name for name, text in files.items() if (VENDOR / name).read_bytes() != text]
        sys.exit(f"vendor-web: these files differ from npm's: {different}" if different else 0)
    for name, text in files.items():
        (VENDOR / name).write_bytes(text)
    (VENDOR / "vendor.json").write_text(json.dumps(manifest, indent=2) + "\n")


if __name__ == "__main__":
    main()
