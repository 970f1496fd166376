"""Every list and look-up goes by an index: a store of millions of rows answers as a small one does."""

import contextlib
import re
import sqlite3
from collections.abc import Callable
from itertools import product
from typing import Any

import psycopg
import pytest

from gerbang.adapters.stores import pg_statements, statements
from gerbang.values.record import Batch

from .helpers import a_run, approval, call, event, opened, run

RUNS = [
    dict(zip(("tenant", "state", "before"), use, strict=True)) for use in product((False, True), repeat=3)
]
APPROVALS = [
    dict(zip(("run", "state", "tenant", "before"), use, strict=True))
    for use in product((False, True), repeat=4)
]


def queries(module: Any) -> dict[str, str]:
    """Return all that is read by a key, a run or a page, by name."""
    found = {
        name: text for name, text in vars(module).items() if name.startswith("GET_") and "ANY" not in text
    }
    for name in ("GET_KILLS", "GET_PINS", "GET_TARGETS"):
        found.pop(name, None)  # small tables that are wanted whole
    get_runs: Callable[..., str] = module.get_runs
    get_approvals: Callable[..., str] = module.get_approvals
    found |= {f"runs {use}": get_runs(**use) for use in RUNS}
    found |= {f"approvals {use}": get_approvals(**use) for use in APPROVALS}
    return found


async def fill(url: str) -> None:
    """Write enough of all for a planner to have a choice."""
    async with opened(url) as store:
        for tens in range(60):
            numbers = range(tens * 10, tens * 10 + 10)
            states = ("running", "completed", "denied")
            await store.commit(
                Batch(
                    [
                        a_run(f"r{n}", states[n % 3], started_at=float(n), tenant=f"t{n % 20}")
                        for n in numbers
                    ],
                    claims=[
                        call(f"k{n}-{i}", "DISPATCHED", run_id=f"r{n}") for n in numbers for i in range(5)
                    ],
                    approvals=[
                        approval(f"a{n}", ("pending", "used")[n % 2], run_id=f"r{n}", created_at=float(n))
                        for n in numbers
                    ],
                    events=[event(f"r{n}") for n in numbers for _ in range(10)],
                )
            )


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """How SQLite goes about each query; without statistics, as stores in the field."""
    path = tmp_path_factory.mktemp("plans") / "store.db"

    async def make() -> None:
        async with opened(f"sqlite:{path}"):
            pass

    run(make())
    found = {}
    with contextlib.closing(sqlite3.connect(path)) as database:
        for name, text in queries(statements).items():
            rows = database.execute(f"EXPLAIN QUERY PLAN {text}", ["1"] * text.count("?")).fetchall()
            found[name] = [step for *_, step in rows]
    return found


@pytest.mark.parametrize("name", queries(statements))
def test_sqlite_scans_and_sorts_no_table(plans: dict[str, list[str]], name: str) -> None:
    for step in plans[name]:
        assert not re.fullmatch(r"SCAN \w+", step), plans[name]
        assert "TEMP B-TREE" not in step, plans[name]


@pytest.mark.parametrize("use", [use for use in APPROVALS if use["run"]], ids=str)
def test_sqlite_looks_for_approvals_of_a_run_by_the_run(
    plans: dict[str, list[str]], use: dict[str, bool]
) -> None:
    assert "USING INDEX approvals_by_run (run_id=?" in plans[f"approvals {use}"][0]


def test_postgresql_scans_no_large_table(database: str) -> None:
    run(fill(database))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ANALYZE")
        connection.execute("SET enable_seqscan = off")  # a table of a few pages is cheaper to read whole
        for name, text in queries(pg_statements).items():
            values = [1 if kind else "1" for kind in _numbers(text)]
            rows = connection.execute(f"EXPLAIN {text}".encode(), values).fetchall()
            plan = "\n".join(line for (line,) in rows)
            assert not re.search(r"Seq Scan on (runs|calls|events|approvals|answers|chains)\b", plan), (
                name,
                plan,
            )


def _numbers(text: str) -> list[bool]:
    """Tell which of a statement's parameters are numbers."""
    return [
        bool(re.search(r"(LIMIT|seq >|span =) $", text[: mark.start()])) for mark in re.finditer("%s", text)
    ]
