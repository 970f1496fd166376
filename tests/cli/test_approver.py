"""The person at the terminal, asked over a real pseudo-terminal."""

import asyncio
import json
import os
import pty
import sys
import threading
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec.structs import replace

import gerbang as g
from gerbang.cli.approver import TerminalApprover
from gerbang.cli.screen import Screen
from gerbang.cli.texts import speak
from gerbang.ports import ApprovalAnswer, ApprovalRequest
from gerbang.runtime.preview import preview
from gerbang.values import LOCAL, Decision

ARGUMENTS: dict[str, Any] = {"to": "ana@example.org", "text": "hello"}
REQUEST = ApprovalRequest(
    approval_id="a1",
    run_id="r1",
    tool="mail.send.v1",
    risk="external_communication",
    arguments=ARGUMENTS,
    preview="Send a mail to ana@example.org:\n  \x1b[1Ahello",
    reasons=("CLASS_EXTERNAL_COMMUNICATION",),
    principal=LOCAL,
)


class Desk:
    """A terminal with somebody at it: types each line when the question that is waited for is shown."""

    def __init__(self) -> None:
        self.shown = StringIO()
        self._master, self.keyboard = pty.openpty()

    def screen(self) -> Screen:
        return Screen(self.shown, self.shown, colour=False, moving=False, interactive=True)

    def type_after_questions(self, *lines: str) -> None:
        def work() -> None:
            for number, line in enumerate(lines, start=1):
                while self._questions() < number:
                    time.sleep(0.005)
                time.sleep(0.02)  # what is typed before the question is shown is thrown away
                os.write(self._master, line.encode())

        threading.Thread(target=work, daemon=True).start()

    def _questions(self) -> int:
        text = self.shown.getvalue()
        return sum(text.count(word) for word in ("Run it?", "Jalankan?", "New arguments as"))

    def close(self) -> None:
        os.close(self._master)
        os.close(self.keyboard)


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.close()


def ask(
    desk: Desk, *lines: str, environ: dict[str, str] | None = None, request: ApprovalRequest = REQUEST
) -> ApprovalAnswer:
    async def work() -> ApprovalAnswer:
        approver = TerminalApprover(desk.screen(), keyboard=desk.keyboard, environ=environ or {})
        desk.type_after_questions(*lines)
        return await asyncio.wait_for(approver.ask(request), 20)

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        (["y\n"], ApprovalAnswer("approve", LOCAL)),
        (["YES\n"], ApprovalAnswer("approve", LOCAL)),
        (["n\n"], ApprovalAnswer("refuse", LOCAL, "the person said no")),
        (["no, wrong address\n"], ApprovalAnswer("refuse", LOCAL, "wrong address")),
        (["\n", "what?\n", "y\n"], ApprovalAnswer("approve", LOCAL)),
        (["\n", "\n", "\n"], ApprovalAnswer("refuse", LOCAL, "the person gave no clear answer")),
        (["\x04"], ApprovalAnswer("refuse", LOCAL, "the person ended the input without an answer")),
        (["e\n", '{"to": "bo@example.org", "text": "hi"}\n'],
         ApprovalAnswer("approve", LOCAL, "edited", {"to": "bo@example.org", "text": "hi"})),
        (["e\n", '{"to": \n', "n\n"], ApprovalAnswer("refuse", LOCAL, "the person said no")),
        (["e\n", "\n", "n\n"], ApprovalAnswer("refuse", LOCAL, "the person said no")),
        (["e\n", json.dumps(ARGUMENTS) + "\n"], ApprovalAnswer("approve", LOCAL, "edited", None)),
    ],
)  # fmt: skip
def test_answers(desk: Desk, lines: list[str], want: ApprovalAnswer) -> None:
    assert ask(desk, *lines) == want


def test_what_is_shown(desk: Desk) -> None:
    ask(desk, "n\n")
    shown = desk.shown.getvalue()
    for part in ("mail.send.v1", "external_communication", "Send a mail to ana@example.org:",
                 "CLASS_EXTERNAL_COMMUNICATION", "\\x1b[1Ahello"):  # fmt: skip
        assert part in shown
    assert "\x1b" not in shown


WHY = Decision("ask", ("CLASS_EXTERNAL_COMMUNICATION",), None, "v1")
LOOKS_LIKE_IT = "hi\nmail.send.v1 (external_communication)\nAsked because: CLASS_EXTERNAL_COMMUNICATION"


@pytest.mark.parametrize("lang", ["en", "id"])
@pytest.mark.parametrize(("text", "more"), [("hello", 0), (LOOKS_LIKE_IT, 1)])
def test_each_thing_is_said_once_and_every_argument_is_said(
    desk: Desk, lang: Literal["en", "id"], text: str, more: int
) -> None:
    @g.tool(name="mail.send.v1", risk="external_communication")
    async def send(to: str, text: str) -> None:
        """Send a mail. Use for tests."""

    arguments = {"to": "ana@example.org", "text": text}
    request = replace(REQUEST, arguments=arguments, preview=preview(send.contract, arguments, WHY))
    speak(lang)
    try:
        ask(desk, "n\n", request=request)
    finally:
        speak("en")
    shown = desk.shown.getvalue()
    for part in ("mail.send.v1", "(external_communication)", "CLASS_EXTERNAL_COMMUNICATION"):
        assert shown.count(part) == 1 + more, shown
    assert "to: ana@example.org" in shown
    assert all(line in shown for line in text.split("\n"))


def test_nobody_there() -> None:
    shown = StringIO()
    screen = Screen(shown, shown, colour=False, moving=False, interactive=False)
    approver = TerminalApprover(screen)
    for _ in range(2):
        answer = asyncio.run(approver.ask(REQUEST))
        assert answer.verdict == "unavailable"
        assert "not a terminal" in answer.reason
    assert shown.getvalue().count("--pending") == 1


def editor(folder: Path, program: str) -> dict[str, str]:
    script = folder / "editor.py"
    script.write_text(program)
    return {"EDITOR": f"{sys.executable} {script}"}


def test_editor(desk: Desk, tmp_path: Path) -> None:
    environ = editor(
        tmp_path,
        "import json, os, stat, sys\n"
        "path = sys.argv[1]\n"
        "assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700\n"
        "value = json.load(open(path)); value['text'] = 'edited'\n"
        "json.dump(value, open(path, 'w'))\n",
    )
    answer = ask(desk, "e\n", environ=environ)
    assert answer.arguments == {"to": "ana@example.org", "text": "edited"}


@pytest.mark.parametrize("program", ["raise SystemExit(3)", "import sys; open(sys.argv[1], 'w').write('x')"])
def test_editor_that_fails_changes_nothing(desk: Desk, tmp_path: Path, program: str) -> None:
    answer = ask(desk, "e\n", "n\n", environ=editor(tmp_path, program))
    assert answer.verdict == "refuse"
    assert "Not changed." in desk.shown.getvalue()


def test_editor_that_is_not_there(desk: Desk) -> None:
    answer = ask(desk, "e\n", "n\n", environ={"VISUAL": "/nowhere/editor"})
    assert answer.verdict == "refuse"


def test_typed_ahead_is_not_an_answer(desk: Desk) -> None:
    os.write(desk._master, b"y\n")
    assert ask(desk, "n\n").verdict == "refuse"


def test_a_cancelled_question_leaves_the_keyboard_free(desk: Desk) -> None:
    async def work() -> ApprovalAnswer:
        approver = TerminalApprover(desk.screen(), keyboard=desk.keyboard, environ={})
        task = asyncio.create_task(approver.ask(REQUEST))
        await _until(lambda: "Run it?" in desk.shown.getvalue())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        desk.shown.truncate(0)
        desk.type_after_questions("y\n")
        return await asyncio.wait_for(approver.ask(REQUEST), 20)

    assert asyncio.run(work()).verdict == "approve"


def test_questions_come_one_by_one(desk: Desk) -> None:
    async def work() -> list[ApprovalAnswer]:
        approver = TerminalApprover(desk.screen(), keyboard=desk.keyboard, environ={})
        desk.type_after_questions("y\n", "n\n")
        return list(await asyncio.wait_for(asyncio.gather(*(approver.ask(REQUEST) for _ in range(2))), 20))

    assert [answer.verdict for answer in asyncio.run(work())] == ["approve", "refuse"]


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.005)
