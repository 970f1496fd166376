#!/usr/bin/env bash
# Writes requirements/*.txt from requirements/*.in: exact versions with the hash of every published file.
# Needs `uv` (pip install uv). Run it to take newer versions; commit what it writes.
set -euo pipefail
cd "$(dirname "$0")/../requirements"
compile() {
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" "$@"
}
compile run.in --output-file run.txt
compile test.in --output-file test.txt
compile fuzz.in --output-file fuzz.txt
compile schemathesis.in --output-file schemathesis.txt
compile --no-deps embedded.in --output-file embedded.txt
compile --no-deps test-data.in --output-file test-data.txt
