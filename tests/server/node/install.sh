#!/bin/sh
# Puts the official Node client into a folder: install.sh FOLDER. Needs node 18 or newer, and npm.
set -eu
version=6.49.0
mkdir -p "$1"
cd "$1"
if [ ! -e "node_modules/openai/package.json" ] ||
    ! grep -q "\"version\": \"$version\"" node_modules/openai/package.json; then
    npm install --no-save --no-package-lock --no-audit --no-fund --ignore-scripts --prefix . "openai@$version"
fi
