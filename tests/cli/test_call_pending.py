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
    said = gerbang("approvals", "deny", approval, "--reason", "not her", cwd=place)
    assert (said.code, f"gerbang runs resume {run}" in said.out) == (0, True)  # until then the run waits
    ran = gerbang("runs", "resume", run, *MINE, cwd=place)
    assert (ran.code, ran.out) == (1, "")
    assert "not her" in ran.err
    assert not (place / "outbox.txt").exists()


@pytest.mark.parametrize("again", ["resume", "call"])
def test_a_cancelled_run_stays_closed(place: Path, again: str) -> None:
    _, run = waiting(place)
    assert gerbang("runs", "cancel", run, cwd=place).code == 0
    words = ("runs", "resume", run, *MINE) if again == "resume" else ("call", *MAIL, "--run", run, *MINE)
    for _ in range(2):
        ran = gerbang(*words, "--json", cwd=place)
        assert (ran.code, ran.json["error"]["error_code"]) == (1, "RUN_CANCELLED")
    assert gerbang("approvals", "list", "--json", cwd=place).json == []
    assert state_of(place, run) == "cancelled"
    assert not (place / "outbox.txt").exists()


def state_of(place: Path, run: str) -> str:
    shown = gerbang("runs", "show", run, "--json", cwd=place)
    return str(shown.json["run"]["state"])


ENDS: list[tuple[str, tuple[str, ...], tuple[str, ...], str, int, str]] = [
    ("ran", ("calculate", '{"expression": "1 + 1"}'), (), "", 0, "completed"),
    ("denied by the policy", MAIL, ("--policy", "none.yaml"), "", 1, "denied"),
    ("not a tool", ("no.such.v1", "{}"), (), "", 1, "failed"),
    ("wrong arguments", ("mail.send.v1", "{}"), (), "", 1, "failed"),
    ("waits", MAIL, (), "", 3, "pending_approval"),
    ("waits on", MAIL, (), "again", 3, "pending_approval"),
    ("approved", MAIL, (), "approve", 0, "completed"),
    ("refused", MAIL, (), "deny", 1, "denied"),
    ("withdrawn: asked for anew", MAIL, (), "cancel", 3, "pending_approval"),
]
"""What becomes of a call that is left to a person, what is decided, and how its run then stands."""


@pytest.mark.parametrize(("call", "options", "decided", "code", "state"), [one[1:] for one in ENDS])
@pytest.mark.parametrize("named", [True, False], ids=["named", "nameless"])
def test_a_run_of_one_call_ends_with_it(
    place: Path,
    call: tuple[str, ...],
    options: tuple[str, ...],
    decided: str,
    code: int,
    state: str,
    named: bool,
) -> None:
    (place / "none.yaml").write_text(
        "version: 1\nrules: [{id: never, match: {tool: mail.send.v1}, decision: deny, reason: NO_MAIL}]\n"
    )
    more = (*MINE, *options, "--pending", *(("--run", "mine") if named else ()))
    ran = gerbang("call", *call, *more, "--json", cwd=place)
    run = ran.json["run_id"]
    assert (run == "mine") == named
    if decided in ("approve", "deny", "cancel"):
        assert state_of(place, run) == "pending_approval"
        assert gerbang("approvals", decided, ran.json["approval_id"], cwd=place).code == 0
    if decided:
        ran = gerbang("call", *call, *MINE, *options, "--run", run, "--json", cwd=place)
    assert (ran.code, state_of(place, run)) == (code, state)
    for command in (("runs", "list"), ("runs", "show", run)):
        assert state in gerbang(*command, cwd=place).out
    assert gerbang("runs", "recover", cwd=place).out == ""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("approvals", "approve", "{approval}", "--as", "bo"), ["approval.granted", "approver=bo"]),
        (("approvals", "deny", "{approval}", "--as", "bo"), ["approval.refused", "approver=bo"]),
        (("runs", "cancel", "{run}", "--reason", "a wrong one"), ["run.cancel_asked", "by=", "a wrong"]),
    ],
)  # fmt: skip
def test_the_timeline_says_who_decided(place: Path, words: tuple[str, ...], told: list[str]) -> None:
    approval, run = waiting(place)
    assert gerbang(*(word.format(approval=approval, run=run) for word in words), cwd=place).code == 0
    lines = gerbang("runs", "show", run, cwd=place).out.splitlines()
    (line,) = [line for line in lines if told[0] in line]
    assert all(part in line for part in told), line


def test_the_timeline_says_whose_yes_a_call_ran_with(place: Path) -> None:
    approval, run = waiting(place)
    assert gerbang("approvals", "approve", approval, "--as", "bo", cwd=place).code == 0
    assert gerbang("runs", "resume", run, *MINE, cwd=place).code == 0
    (line,) = [
        line
        for line in gerbang("runs", "show", run, cwd=place).out.splitlines()
        if "approved_by_person" in line
    ]
    assert line.endswith("approver=bo")


DECIDED = [
    ("approve", "granted", "Go on with its run: gerbang runs resume {run}"),
    ("deny", "refused", "Its run hears of it when it goes on: gerbang runs resume {run}"),
    ("cancel", "cancelled", "Its run goes on with: gerbang runs resume {run}"),
]


@pytest.mark.parametrize(("command", "state", "said"), DECIDED)
def test_the_lists_say_what_is_to_be_done_next(place: Path, command: str, state: str, said: str) -> None:
    approval, run = waiting(place)
    for listed in (gerbang("runs", "list", cwd=place), gerbang("runs", "show", run, cwd=place)):
        assert f"decide on it: gerbang approvals show {approval}" in listed.out + listed.err
    (row,) = gerbang("runs", "list", "--json", cwd=place).json
    assert row["state"] == "pending_approval"
    assert row["waits_for"] == {"what": "person", "approvals": [approval]}
    done = gerbang("approvals", command, approval, cwd=place)
    assert (done.code, state in done.out, said.format(run=run) in done.out) == (0, True, True)
    for words in [("runs", "list"), ("runs", "show", run), ("approvals", "show", approval)]:
        listed = gerbang(*words, cwd=place)
        assert f"decided; go on: gerbang runs resume {run}" in listed.out + listed.err, words
    (row,) = gerbang("runs", "list", "--json", cwd=place).json
    assert (row["state"], row["waits_for"]) == ("pending_approval", {"what": "resume", "approvals": []})
    shown = gerbang("approvals", "show", approval, "--json", cwd=place).json
    assert (shown["state"], shown["run_waits_for"]["what"]) == (state, "resume")
    gerbang("runs", "resume", run, *MINE, cwd=place)
    (row,) = gerbang("runs", "list", "--json", cwd=place).json
    if command == "cancel":  # asked for anew
        assert row["waits_for"]["what"] == "person"
    else:
        assert (row["state"], row["waits_for"]) == ("completed" if command == "approve" else "denied", None)
        assert "gerbang runs resume" not in gerbang("runs", "list", cwd=place).err
