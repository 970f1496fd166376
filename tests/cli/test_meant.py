"""Commands take as much of an id as tells it from the others, and say so when it does not."""

import json
from pathlib import Path

import pytest

from gerbang.adapters.stores.seal_keys import new_seal_key
from gerbang.values.record import Batch
from tests.cli.terminal import gerbang
from tests.stores.helpers import a_run, approval, event, opened, run

STORE = ("--store", "sqlite:records.db")
RUNS = ("order-1", "order-12", "order-2", "plan-1")
APPROVALS = ("apr_aa11", "apr_aa22", "apr_bb33")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """A folder with a store of a few runs and requests."""

    async def work() -> None:
        async with opened(f"sqlite:{tmp_path / 'records.db'}") as store:
            for number, name in enumerate(RUNS):
                row = a_run(name, "completed", started_at=float(number), tenant="local")
                await store.commit(Batch(runs=[row], events=[event(name)]))
            for name in APPROVALS:
                await store.commit(Batch(approvals=[approval(name)]))

    run(work())
    return tmp_path


GOOD: list[tuple[tuple[str, ...], str]] = [
    (("runs", "show", "order-1"), "order-1"),  # an id, though another begins so
    (("runs", "show", "order-12"), "order-12"),
    (("runs", "show", "pl"), "plan-1"),
    (("audit", "verify", "pl"), "1 run, 1 event."),
    (("audit", "export", "pl"), '"run_id":"plan-1"'),
    (("audit", "erase", "order-2"), "order-2"),
    (("audit", "erase", "pla"), "plan-1"),
    (("approvals", "show", "apr_b"), "apr_bb33"),
    (("approvals", "show", "apr_aa22"), "apr_aa22"),
    (("approvals", "list", "--before", "apr_b"), "apr_aa22"),
]


@pytest.mark.parametrize(("command", "said"), GOOD, ids=[" ".join(one[0]) for one in GOOD])
def test_the_beginning_of_an_id_is_enough(records: Path, command: tuple[str, ...], said: str) -> None:
    ran = gerbang(*command, *STORE, cwd=records)
    assert (ran.code, ran.err) == (0, "")
    assert said in ran.out


SEVERAL: list[tuple[str, ...]] = [
    ("runs", "show", "order"),
    ("runs", "resume", "order-"),
    ("replay", "o"),
    ("audit", "verify", "order"),
    ("audit", "export", "order"),
    ("audit", "erase", "order"),
    ("policy", "replay", "strict", "--run", "order"),
    ("approvals", "list", "--run", "order"),
    ("approvals", "list", "--before", "apr_"),
    ("approvals", "show", "apr_aa"),
    ("approvals", "approve", "apr_"),
    ("approvals", "deny", "apr_aa"),
    ("approvals", "edit", "apr_aa", "--arguments", "{}"),
    ("approvals", "cancel", "apr_aa"),
]


@pytest.mark.parametrize("command", SEVERAL, ids=" ".join)
def test_what_several_begin_with_is_not_guessed(records: Path, command: tuple[str, ...]) -> None:
    ran = gerbang(*command, *STORE, cwd=records)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Error: Several begin with ")
    assert ran.err.endswith("Write more of the id.\n")
    assert ("order-1, order-12, order-2" in ran.err) or ("apr_aa11, apr_aa22" in ran.err)


NONE: list[tuple[str, ...]] = [
    ("runs", "show", "nobody"),
    ("runs", "show", ""),
    ("runs", "resume", "nobody"),
    ("replay", "nobody"),
    ("audit", "verify", "nobody"),
    ("audit", "export", "nobody"),
    ("audit", "erase", "nobody"),
    ("policy", "replay", "strict", "--run", "nobody"),
    ("approvals", "show", "apr_cc"),
    ("approvals", "show", ""),
    ("approvals", "approve", "apr_cc"),
    ("approvals", "approve", ""),
    ("approvals", "deny", "apr_%"),
    ("approvals", "edit", "apr_cc", "--arguments", "{}"),
    ("approvals", "cancel", "apr_cc"),
]


@pytest.mark.parametrize("command", NONE, ids=" ".join)
def test_what_nothing_begins_with(records: Path, command: tuple[str, ...]) -> None:
    ran = gerbang(*command, *STORE, cwd=records)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(("Error: There is no ", "Error: No run "))
    assert "gerbang runs list" in ran.err or "gerbang approvals list" in ran.err


def test_several_keys(tmp_path: Path) -> None:
    made = [
        gerbang(
            *("keys", "create", "--user", "ana", "--tenant", "t", "--right", "calls"),
            *("--keys", "k.json", "--json"),
            cwd=tmp_path,
        ).json["id"]
        for _ in range(2)
    ]
    taken = gerbang("keys", "revoke", made[0][:-1], "--keys", "k.json", "--json", cwd=tmp_path)
    assert taken.json["id"] == made[0]
    none = gerbang("keys", "revoke", "zz", "--keys", "k.json", cwd=tmp_path)
    assert (none.code, "gerbang keys list" in none.err) == (2, True)
    empty = gerbang("keys", "revoke", "", "--keys", "k.json", cwd=tmp_path)
    assert (empty.code, "gerbang keys list" in empty.err) == (2, True)


def test_requests_of_a_sealed_store_can_be_decided(place: Path) -> None:
    new_seal_key(f"file:{place / 'seal.keys'}")
    env = {"GERBANG_SEAL": f"file:{place / 'seal.keys'}"}
    call = ("call", "mail.send.v1", json.dumps({"to": "ana", "text": "pelangi"}), "--python", "mytools:tools")
    asked = gerbang(*call, "--pending", "--json", *STORE, cwd=place, env=env).json["approval_id"]
    assert b"pelangi" not in (place / "records.db").read_bytes()
    shown = gerbang("approvals", "show", asked[:12], *STORE, cwd=place, env=env)
    assert "pelangi" in shown.out
    done = gerbang("approvals", "approve", asked[:12], *STORE, "--json", cwd=place, env=env)
    assert (done.code, done.json["state"], done.json["approval_id"]) == (0, "granted", asked)
    bare = gerbang("approvals", "list", *STORE, cwd=place)
    assert (bare.code, bare.out) == (1, "")
    assert "seal" in bare.err
