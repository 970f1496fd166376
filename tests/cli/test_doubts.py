"""`gerbang runs resolve`: a process is killed inside a tool, and a person says what became of its call."""

from pathlib import Path

import pytest

from tests.cli.terminal import gerbang

PAYING = """\
import os, pathlib, gerbang as g

@g.tool(name="bank.pay.v1", risk="transactional", natural_key=["order"])
async def pay(order: str) -> str:
    "Pay an order."
    with pathlib.Path("paid.txt").open("a") as file:
        file.write(order)
    if "DIE" in os.environ:
        os.kill(os.getpid(), 9)
    return "paid"

tools = [pay]
"""
CALL = ("call", "bank.pay.v1", '{"order": "acme-7"}', "--python", "paying:tools")


@pytest.fixture
def run(tmp_path: Path) -> str:
    """The run of a call that was sent, and whose end nobody wrote down."""
    (tmp_path / "paying.py").write_text(PAYING)
    waits = gerbang(*CALL, "--pending", "--json", cwd=tmp_path).json
    assert gerbang("approvals", "approve", waits["approval_id"], cwd=tmp_path).code == 0
    words = ("runs", "resume", waits["run_id"], "--python", "paying:tools")
    assert gerbang(*words, cwd=tmp_path, env={"DIE": "1"}).code == -9
    again = gerbang(*words, cwd=tmp_path)
    assert again.code == 1
    assert "gerbang runs uncertain" in again.err
    return str(waits["run_id"])


@pytest.mark.parametrize(
    ("option", "code", "out", "err"),
    [
        (
            "--happened",
            0,
            '{"happened": true, "said_by": "bo", "note": "asked the bank"}\n',
            "Nothing was run",
        ),
        ("--not-happened", 3, "", "It waits for a person"),
    ],
)
def test_a_person_says_what_became_of_it(
    tmp_path: Path, run: str, option: str, code: int, out: str, err: str
) -> None:
    erased = gerbang("audit", "erase", run, cwd=tmp_path)
    assert (erased.code, "gerbang runs resolve" in erased.err) == (2, True)
    same = gerbang("replay", run, "--python", "paying:tools", cwd=tmp_path)
    assert (same.code, same.out) == (0, "1 call, no difference.\n")
    done = gerbang("runs", "resolve", run, option, "--reason", "asked the bank", "--as", "bo", cwd=tmp_path)
    assert done.code == 0
    again = gerbang(*CALL, "--pending", cwd=tmp_path)
    assert (again.code, again.out, err in again.err) == (code, out, True)
    assert (tmp_path / "paid.txt").read_text() == "acme-7"
    assert gerbang("audit", "verify", cwd=tmp_path).code == 0


def test_a_stored_result_says_so_in_indonesian(tmp_path: Path, run: str) -> None:
    words = ("runs", "resolve", run, "--happened", "--reason", "di daftar bank")
    assert gerbang(*words, cwd=tmp_path).code == 0
    assert "hasil tersimpan" in gerbang(*CALL, "--lang", "id", cwd=tmp_path).err
