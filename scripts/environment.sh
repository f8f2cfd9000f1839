#!/bin/sh
# Makes .venv with everything a make target needs: environment.sh demo|dev
# Safe to run again; does nothing when the stamp is newer than pyproject.toml.
set -eu
want=$1
venv=${VENV:-.venv}
stamp="$venv/.ready-$want"

if [ -e "$stamp" ] && [ "$stamp" -nt pyproject.toml ] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi

find_python() {
    for name in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    echo "dsec: error: no Python 3.11 or newer found (hint: install python3, or name one: make PYTHON=/path/to/python3 ...)" >&2
    exit 3
}

make_venv() {
    if "$python" -m venv "$venv" >/dev/null 2>&1; then
        return
    fi
    # Debian and Ubuntu ship venv's pip seed in a package of its own.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        version=$("$python" -c 'import sys; print(f"python{sys.version_info.major}.{sys.version_info.minor}-venv")')
        echo "installing $version (python's venv module is incomplete here)"
        apt-get update -qq && apt-get install -y -qq "$version" >/dev/null
        "$python" -m venv "$venv"
        return
    fi
    rm -rf "$venv"
    echo "dsec: error: $python cannot make a virtual environment (hint: sudo apt-get install python3-venv)" >&2
    exit 3
}

python=$(find_python)
if ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    rm -rf "$venv"
    echo "making $venv with $("$python" --version 2>&1)"
    make_venv
fi
pip="$venv/bin/python -m pip --disable-pip-version-check -q"
echo "installing what \`make $want\` needs (once)"
$pip install --upgrade 'pip>=25.1'
case $want in
demo) $pip install --editable '.[example]' ;;
dev) $pip install --editable '.[example]' --group dev ;;
*) echo "environment.sh: say demo or dev" >&2; exit 2 ;;
esac
# Byte code for the checkout too: without it every start costs three times as much.
"$venv/bin/python" -m compileall -q dsec_cli runtime >/dev/null || true
touch "$stamp"
