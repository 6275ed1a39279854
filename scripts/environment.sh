# Sourced by the other scripts: creates a private environment in .venv, and renews it when pyproject.toml has changed.
# Sets $root (the checkout) and $python (the environment's interpreter).
# shellcheck shell=sh

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
venv=${PYBROKER_VENV:-$root/.venv}
python=$venv/bin/python

fail() {
    printf '%s: %s\n' "$(basename -- "$0")" "$1" >&2
    exit 1
}

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11 python; do
        [ -n "$candidate" ] || continue
        command -v "$candidate" >/dev/null 2>&1 || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    return 1
}

# install EXTRAS ("" or "[test]"): does nothing if this pyproject.toml is already installed with these extras.
install() {
    if [ ! -x "$python" ]; then
        base=$(find_python) || fail 'needs Python 3.11 or newer; none was found on PATH (set PYTHON to name one)'
        printf 'Making an environment in %s\n' "$venv" >&2
        "$base" -m venv "$venv" || fail "could not make an environment in $venv (on Debian: apt install python3-venv)"
    fi
    stamp=$venv/.installed$1
    if ! cmp -s "$root/pyproject.toml" "$stamp"; then
        printf 'Installing pybroker%s\n' "$1" >&2
        "$python" -m pip install --quiet --disable-pip-version-check --editable "$root$1" >&2 ||
            fail 'installing failed; what pip said stands above'
        # Compile now, also if PYTHONDONTWRITEBYTECODE is set: compiling would take half of each start.
        "$python" -m compileall -q -x '/(tests|scripts|build|\.[^/]*)/' "$root" >/dev/null || true
        cp "$root/pyproject.toml" "$stamp"
    fi
}
