"""A call that waits for a person, in a process of its own each time: asked, decided, gone on with."""

from pathlib import Path

import pytest

from tests.cli.terminal import gerbang

MINE = ("--python", "mytools:tools")
MAIL = ("mail.send.v1", '{"to": "ana", "text": "hi"}')


def waiting(place: Path) -> tuple[str, str]:
    """Leave a call waiting; return its approval and its run."""
    asked = gerbang("call", *MAIL, *MINE, "--pending", "--json", cwd=place)
    assert (asked.code, asked.json["status"]) == (3, "pending")
    return asked.json["approval_id"], asked.json["run_id"]


@pytest.mark.parametrize("again", ["resume", "call"])
def test_it_runs_once_when_it_has_been_approved(place: Path, again: str) -> None:
    approval, run = waiting(place)
    words = ("runs", "resume", run, *MINE) if again == "resume" else ("call", *MAIL, "--run", run, *MINE)
    early = gerbang(*words, cwd=place)  # nobody can be asked here: it goes on waiting
    assert (early.code, approval in early.err) == (3, True)
    assert not (place / "outbox.txt").exists()
    assert gerbang("approvals", "approve", approval, "--as", "bo", cwd=place).code == 0
    for _ in range(2):
        ran = gerbang(*words, cwd=place)
        assert (ran.code, ran.out) == (0, "sent\n")
    assert (place / "outbox.txt").read_text() == "ana: hi\n"


def test_coming_back_without_the_tool_changes_nothing(place: Path) -> None:
    approval, run = waiting(place)
    assert gerbang("approvals", "approve", approval, cwd=place).code == 0
    without = gerbang("runs", "resume", run, cwd=place)
    assert (without.code, without.out) == (2, "")
    assert "mail.send.v1" in without.err
    assert "--python" in without.err
    assert gerbang("runs", "resume", run, *MINE, cwd=place).out == "sent\n"


def test_what_runs_is_what_the_approver_made_of_it(place: Path) -> None:
    approval, run = waiting(place)
    changed = '{"to": "al", "text": "hello"}'
    assert gerbang("approvals", "edit", approval, "--arguments", changed, cwd=place).code == 0
    assert gerbang("runs", "resume", run, *MINE, cwd=place).out == "sent\n"
    assert (place / "outbox.txt").read_text() == "al: hello\n"


def test_a_refusal_stays_one(place: Path) -> None:
    approval, run = waiting(place)
    assert gerbang("approvals", "deny", approval, "--reason", "not her", cwd=place).code == 0
    ran = gerbang("runs", "resume", run, *MINE, cwd=place)
    assert (ran.code, ran.out) == (1, "")
    assert "not her" in ran.err
    assert not (place / "outbox.txt").exists()
