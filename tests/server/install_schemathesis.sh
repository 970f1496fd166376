#!/bin/sh
# Puts schemathesis into an environment of its own, for it wants another jsonschema-rs than the program has:
# install_schemathesis.sh PYTHON REQUIREMENTS FOLDER. What is there already, of the same versions, stays.
set -eu
if ! cmp -s "$2" "$3/requirements.txt"; then
    rm -rf "$3"
    "$1" -m venv "$3"
    "$3/bin/python" -m pip install -qq --disable-pip-version-check --no-input --retries 8 \
        --require-hashes --only-binary :all: -r "$2"
    cp "$2" "$3/requirements.txt"
fi
