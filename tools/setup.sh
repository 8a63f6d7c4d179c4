#!/bin/sh
# Makes .venv from pyproject.toml and constraints.txt; silent and quick when it is made already. Called by the Makefile.
#
# .venv/complete is written last and holds what the environment was made from. Contents count, dates do not: an
# interrupted install, changed pins, a moved checkout and a Python that was upgraded away are noticed, a touch is not.
set -eu
cd "$(dirname "$0")/.."

supported="3.14 3.13 3.12 3.11" # the pinned torch has wheels for these
asked=${PYTHON:-python3}
stamp=.venv/complete

say() { printf '%s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}
version_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
is_supported() { case " $supported " in *" ${1:-none} "*) true ;; *) false ;; esac; }
made_from() { pwd -P && cksum pyproject.toml constraints.txt; }
venv_runs() { [ -f "$stamp" ] && [ -n "$(version_of .venv/bin/python)" ]; }
# The default name expresses no wish: a system whose python3 moved on keeps its .venv.
venv_is_as_asked() { [ "$asked" = python3 ] || [ "$(version_of "$asked")" = "$(version_of .venv/bin/python)" ]; }

refuse() {
    needs="marslab needs Python 3.11 to 3.14"
    remedy="install one of these, or name one that you have: make PYTHON=/path/to/python3.12"
    command -v "$asked" >/dev/null 2>&1 || fail "$needs, but there is no '$asked' on this machine: $remedy"
    [ -n "$1" ] || fail "$needs, but '$asked' does not run: $remedy"
    fail "$needs, but '$asked' is Python $1: $remedy"
}

# Sets `python` and `version`. A python3 that does not fit is passed over for a versioned one that does.
choose_python() {
    python=$asked
    version=$(version_of "$asked") || true
    is_supported "$version" && return
    [ "$asked" = python3 ] || refuse "$version"
    for number in $supported; do
        if is_supported "$(version_of "python$number")"; then
            python=python$number version=$number
            return
        fi
    done
    refuse "$version"
}

check_venv_module() {
    "$python" -c 'import ensurepip, venv' 2>/dev/null && return
    package=python3-venv
    [ "$python" = python3 ] || package=python$version-venv
    fail "Python $version ('$python') lacks its venv module: on Debian or Ubuntu run 'apt install $package', then make again."
}

make_venv() {
    choose_python
    check_venv_module
    mkdir -p .venv 2>/dev/null && [ -w .venv ] || fail "Cannot write to $(pwd -P): .venv, the environment, is made there."
    say "Making .venv with Python $version: up to 2 GB and a few minutes ..."
    "$python" -m venv --clear .venv || fail "Python's venv module failed (its message is above): .venv was not made."
}

if venv_runs && venv_is_as_asked; then
    [ "$(cat "$stamp")" != "$(made_from)" ] || exit 0
    say "Bringing .venv up to date ..."
    rm -f "$stamp" || fail "Cannot write to $(pwd -P): .venv, the environment, is out of date and stays so."
else
    make_venv
fi
.venv/bin/python -m pip install -q -q -c constraints.txt -e '.[dev]' ||
    fail "The install did not finish (pip's message is above): run the same make command again once the cause is gone."
made_from >"$stamp"
