"""Asks the person at the terminal whether a call may run."""

import asyncio
import contextlib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

from gerbang.cli.json_text import read_object
from gerbang.cli.keyboard import drop_typed_ahead, read_line
from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.errors import UsageError
from gerbang.ports import ApprovalAnswer, ApprovalRequest
from gerbang.values import LOCAL

_TRIES: Final = 3
_QUESTION: Final = "Run it? [y]es  [n]o, with a reason if you like  [e]dit the arguments: "


class TerminalApprover:
    """An approver that asks on the terminal, one question at a time, and takes silence for a no.

    Without a person at the terminal the answer is `unavailable`, and the call is refused.
    """

    def __init__(
        self, screen: Screen, *, keyboard: int | None = None, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._screen = screen
        self._keyboard = keyboard
        self._environ = environ
        self._turn = asyncio.Lock()

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Show what would happen and return what the person says."""
        if not self._screen.interactive:
            return ApprovalAnswer(
                "unavailable", LOCAL, "nobody can be asked: standard input is not a terminal"
            )
        async with self._turn:
            return await self._ask(request)

    async def _ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        keyboard = sys.stdin.fileno() if self._keyboard is None else self._keyboard
        arguments = request.arguments
        self._screen.status("")
        self._show(request)
        for _ in range(_TRIES):
            drop_typed_ahead(keyboard)
            self._screen.prompt(self._screen.styled(_QUESTION, "bold"))
            line = await read_line(keyboard)
            if line is None:
                self._screen.note("")
                return ApprovalAnswer("refuse", LOCAL, "the person ended the input without an answer")
            word, _, reason = line.strip().partition(" ")
            match word.lower().rstrip(",:;."):
                case "y" | "yes" | "ya":
                    changed = None if arguments == request.arguments else arguments
                    return ApprovalAnswer("approve", LOCAL, reason.strip(), changed)
                case "n" | "no" | "tidak":
                    return ApprovalAnswer("refuse", LOCAL, reason.strip() or "the person said no")
                case "e" | "edit":
                    edited = await self._edit(arguments, keyboard)
                    if edited is not None:
                        return ApprovalAnswer(
                            "approve", LOCAL, "edited", None if edited == request.arguments else edited
                        )
                case _:
                    self._screen.note("Answer y, n or e.")
        return ApprovalAnswer("refuse", LOCAL, "the person gave no clear answer")

    def _show(self, request: ApprovalRequest) -> None:
        screen = self._screen
        screen.note("")
        screen.note(
            screen.styled(f"The model asks to run {one_line(request.tool)}", "yellow")
            + f"  ({one_line(request.risk)})"
        )
        for line in printable(request.preview).splitlines() or ["(no preview)"]:
            screen.note(f"  {line}")
        screen.note(f"  asked because: {one_line(', '.join(request.reasons)) or 'the policy says so'}")

    async def _edit(self, arguments: dict[str, Any], keyboard: int) -> dict[str, Any] | None:
        """Return what the person made of the arguments, or None when it cannot be read."""
        editor = self._environ.get("VISUAL") or self._environ.get("EDITOR")
        text = json.dumps(arguments, indent=2, ensure_ascii=False)
        try:
            if editor:
                async with _draft(text) as path:
                    await _run_editor(editor, path)
                    changed = path.read_text("utf-8")
            else:
                self._screen.note("Arguments now: " + printable(json.dumps(arguments, ensure_ascii=False)))
                self._screen.prompt("New arguments as a JSON object on one line: ")
                changed = await read_line(keyboard) or ""
            if not changed.strip():
                raise UsageError("Nothing was written.")
            return read_object(changed)
        except (UsageError, OSError, ValueError) as error:
            self._screen.note(f"Not changed. {one_line(str(error), 400)}")
            return None


@contextlib.asynccontextmanager
async def _draft(text: str) -> AsyncIterator[Path]:
    """Keep the text in a file that only this user can read, for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="gerbang-") as folder:  # made with mode 0700
        path = Path(folder) / "arguments.json"
        path.write_text(text, "utf-8")
        yield path


async def _run_editor(editor: str, path: Path) -> None:
    process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(path))
    try:
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    if code:
        raise UsageError(f"The editor {editor!r} ended with code {code}.")
