"""The contracts of examples/contracts: they fit the shipped schema, lint clean, and cover the classes."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from gerbang.contract.schema import compile_schema
from gerbang.values.yamltext import read_yaml_documents

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted((EXAMPLES / "contracts").glob("*.yaml"))
DOCUMENTS: list[dict[str, Any]] = [
    value for path in FILES for _, value in read_yaml_documents(path.read_text("utf-8"), path.name)
]
SCHEMA = json.loads(files("gerbang.adapters.tools").joinpath("contract.schema.json").read_text("utf-8"))


@pytest.mark.parametrize("fields", DOCUMENTS, ids=[fields["name"] for fields in DOCUMENTS])
def test_it_fits_the_shipped_schema(fields: dict[str, Any]) -> None:
    compile_schema(SCHEMA, "contract.schema.json").validate(fields)


def test_they_cover_most_classes() -> None:
    assert len(FILES) >= 10
    assert {fields["risk"] for fields in DOCUMENTS} == {
        "read_internal",
        "read_external",
        "draft",
        "write_internal",
        "write_external",
        "external_communication",
        "transactional",
        "destructive",
    }


def test_the_linter_finds_nothing() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from gerbang.cli import main; main()",
            "tools",
            "lint",
            str(EXAMPLES / "contracts"),
        ],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(EXAMPLES)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{len(DOCUMENTS)} tools looked at: nothing found.\n"
