"""What goes wrong before a command can do its work: one line that says what, and what to do next."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.terminal import gerbang
from tests.stores.helpers import opened, run

STORE = ("--store", "sqlite:a.db")
GONE = "postgresql://nobody@127.0.0.1:9/x"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with things that are not what a command wants, and a store that another process holds."""
    place = tmp_path_factory.mktemp("wrong")

    async def made() -> None:
        for name in ("a.db", "held.db", "newer.db"):
            async with opened(f"sqlite:{place / name}"):
                pass

    run(made())
    (place / "bad.toml").write_text("a = [")
    (place / "zero.toml").write_text("max_steps = 0\n")
    (place / "bad.yaml").write_text("a: [\n")
    (place / "bad.json").write_text("{")
    (place / "not.db").write_text("this is no database, and long enough to be told from one by its head" * 9)
    (place / "dir").mkdir()
    with closing(sqlite3.connect(place / "newer.db")) as database:
        database.execute("UPDATE meta SET value = 99 WHERE name = 'schema_version'")
        database.commit()
    with closing(sqlite3.connect(place / "held.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        yield place


WRONG: list[tuple[tuple[str, ...], int, str, str]] = [
    # settings
    (("runs", "cost", "--config", "bad.toml"), 2, "not valid TOML", "Correct it"),
    (("secrets", "list", "--config", "none.toml"), 2, "no settings file", "Check --config"),
    (("kills", "--config", "zero.toml"), 2, "max_steps in zero.toml", "Give another value"),
    (("serve", "--config", "dir"), 2, "Is a directory", "Check --config"),
    (("tools", "approve", "--config", "bad.toml"), 2, "not valid TOML", "Correct it"),
    # stores
    (("kill", "all", "--reason", "x", "--store", "sqlite:held.db"), 1, "held the store", "try again"),
    (("approvals", "list", "--store", "sqlite:newer.db"), 1, "has format 99", "Update gerbang"),
    (("audit", "checkpoint", "--store", "sqlite:not.db"), 1, "is not a store", "Move it away"),
    (("runs", "recover", "--store", "sqlite:dir"), 1, "is a folder", "Name a file in it"),
    (("audit", "export", "--store", "sqlite:none.db"), 2, "Nothing is recorded", "--store"),
    (("kills", "--store", GONE), 1, "cannot be reached", "Start the server"),
    (("runs", "list", "--store", "mysql://x"), 2, "is not known", "Write `sqlite:PATH`"),
    (
        ("serve", "--model", "off", "--port", "0", "--store", "sqlite:not.db"),
        1,
        "is not a store",
        "Move it away",
    ),
    # files that are folders, are missing, or hold something else
    (("audit", "checkpoint", "--key", "dir", *STORE), 2, "no ordinary file", "Name another"),
    (("keys", "list", "--keys", "dir"), 2, "no ordinary file", "Name another"),
    (("secrets", "list", "--secrets", "envfile:dir"), 2, "no ordinary file", "Name another"),
    (("audit", "checkpoint", "--out", "none/x", *STORE), 2, "No such file", "Name another file"),
    (("audit", "verify", "--checkpoint", "none", *STORE), 2, "No such file", "Check the path"),
    (
        ("audit", "verify", "--checkpoint", "bad.json", *STORE),
        2,
        "no whole checkpoint",
        "Give it as it was made",
    ),
    (("policy", "test", "bad.yaml"), 2, "no cases", "Write one"),
    (("policy", "replay", "bad.yaml", *STORE), 2, "line 2, column 1", "Correct it there"),
    (("policy", "explain", "strict", "{"), 2, "input: line 2", "Correct it there"),
    (("tools", "lint", "bad.yaml"), 2, "line 2, column 1", "Correct it there"),
    (("tools", "approve", "--contracts", "none", *STORE), 2, "No such file", "Check the path"),
    (("parse", "--dialect", "hermes", "--tools", "bad.json"), 2, "is not JSON", "Write a list of tools"),
    (("chat", "hi", "--policy", "rego:dir", *STORE), 2, "no .rego file", "Name a folder"),
    # names and ids
    (("approvals", "approve", "x", "--as", "", *STORE), 2, "--as takes", "1 to 512"),
    (("approvals", "deny", "x", "--tenant", " ", *STORE), 2, "--tenant takes", "1 to 512"),
    (
        ("approvals", "list", "--state", "done", *STORE),
        2,
        "no state done",
        "Write one of pending",
    ),
    (("approvals", "list", "--before", "zz", *STORE), 2, "'zz'", "Begin again with the first page"),
    (("runs", "cancel", "nothing", *STORE), 2, "no run nothing", "gerbang runs list"),
    (("runs", "cost", "--since", "yesterday", *STORE), 2, "'yesterday'", "--since takes"),
    (("kill", "mail", "--reason", "x", *STORE), 2, "kill switch is called", "tool:NAME"),
    (("approvals", "edit", "x", "--arguments", "[1]", *STORE), 2, "are a list", "Write a JSON object"),
    (("audit", "prune", *STORE), 2, "How old", "--days"),
    (("audit", "seal-key", "keys"), 2, "'keys'", "write file:PATH"),
]


@pytest.mark.parametrize(
    ("words", "code", "what", "then"), WRONG, ids=[" ".join(one[0]).replace("/", "|") for one in WRONG]
)
def test_an_error_says_what_to_do_next(
    folder: Path, words: tuple[str, ...], code: int, what: str, then: str
) -> None:
    ran = gerbang(*words, cwd=folder)
    assert (ran.code, ran.out) == (code, "")
    last = ran.err.splitlines()[-1]
    assert last.startswith("Error: ")
    assert what in last
    assert then in last
    assert "inside Gerbang" not in ran.err
