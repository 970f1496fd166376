"""The programs in benchmarks/ still run and print their tables. What they measure is not looked at here."""

import subprocess
import sys
from pathlib import Path

import pytest

_FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("contracts", "| load from YAML |"),
        ("first_token", "| the model itself |"),
        ("import_time", "| `import gerbang` |"),
        ("policy", "| 20 rules, all looked at |"),
        ("rego", "| 50 past calls |"),
        ("sqlite_runs", "| agents on the memory store (CPU) |"),
        ("store_floor", "| MemoryStore |"),
        ("store_large", "| what a resume reads of a run of 100 calls |"),
        ("store_postgres", "| agents on one store |"),
    ],
)
def test_a_program_prints_its_table(name: str, row: str) -> None:
    command = [sys.executable, str(_FOLDER / f"{name}.py"), "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert row in run.stdout
