"""`gerbang runs` on PostgreSQL, as its own process: the record is shown, the password never."""

import subprocess
import sys

import pytest

from gerbang.adapters.stores import shown_address
from gerbang.values.record import Batch

from .helpers import CHILD_S, a_run, event, opened, run


def gerbang(*arguments: str) -> "subprocess.CompletedProcess[str]":
    program = "import sys; from gerbang.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=CHILD_S
    )


def test_runs_are_listed_and_shown(database: str) -> None:
    address = database.replace("postgres@", "postgres:hunter2@")
    empty = gerbang("runs", "list", "--store", address)
    assert empty.returncode == 0, empty.stderr
    assert "No runs are recorded in postgresql://postgres@/" in empty.stdout + empty.stderr

    async def fill() -> None:
        async with opened(database) as store:
            await store.commit(Batch(runs=[a_run("run-77")], events=[event("run-77")]))

    run(fill())
    listed = gerbang("runs", "list", "--store", address)
    assert listed.returncode == 0, listed.stderr
    assert "run-77" in listed.stdout
    shown = gerbang("runs", "show", "run-77", "--store", address, "--json")
    assert shown.returncode == 0, shown.stderr
    missing = gerbang("runs", "show", "nothing", "--store", address)
    assert missing.returncode == 2
    away = gerbang("runs", "list", "--store", "postgresql://ana:hunter2@127.0.0.1:1/db")
    assert away.returncode != 0
    assert "cannot be reached" in away.stderr
    for done in (empty, listed, shown, missing, away):
        assert "hunter2" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("memory:", "memory:"),
        ("sqlite:/a/b.db", "sqlite:/a/b.db"),
        ("postgresql://h/d", "postgresql://h/d"),
        ("postgresql://ana@h:5433/d", "postgresql://ana@h:5433/d"),
        ("postgresql://ana:s3cret@h/d?sslmode=require", "postgresql://ana@h/d"),
        ("postgresql://ana:s3:cr@et@h/d", "postgresql://ana@h/d"),
        ("postgresql://h/d?password=s3cret", "postgresql://h/d"),
    ],
)
def test_an_address_as_it_may_be_shown(url: str, shown: str) -> None:
    assert shown_address(url) == shown
