"""Asks the person at the terminal whether a call may run."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Final

from gerbang.cli.editing import edited_text, editor_of
from gerbang.cli.json_text import read_object
from gerbang.cli.keyboard import drop_typed_ahead, read_line
from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.cli.texts import say
from gerbang.errors import UsageError
from gerbang.ports import ApprovalAnswer, ApprovalRequest
from gerbang.values import LOCAL, Principal

_TRIES: Final = 3
_MASK: Final = "[redacted]"


class TerminalApprover:
    """An approver that asks on the terminal, one question at a time, and takes silence for a no.

    The answers are those of `by`. Without a person at the terminal the answer is `unavailable`, and the call
    is refused, and it is said once how to leave it waiting; with `later` the request is left in the store
    instead, for somebody else to decide, and so is one that needs a second person.
    """

    def __init__(
        self,
        screen: Screen,
        *,
        keyboard: int | None = None,
        environ: Mapping[str, str] = os.environ,
        by: Principal = LOCAL,
        later: bool = False,
    ) -> None:
        self._screen = screen
        self._keyboard = keyboard
        self._environ = environ
        self._by = by
        self._later = later
        self._turn = asyncio.Lock()
        self._told = False

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Show what would happen and return what the person says."""
        if self._later:
            self._say_later("decide_later", request)
            return ApprovalAnswer("wait", self._by)
        if not self._screen.interactive:
            if not self._told:
                self._told = True
                self._screen.status("")
                self._screen.note(say("leave_pending"))
            return ApprovalAnswer("unavailable", self._by, say("unavailable"))
        async with self._turn:
            if self._by.user in request.votes:
                self._say_later("second_person", request)
                return ApprovalAnswer("wait", self._by)
            return await self._ask(request)

    async def _ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        keyboard = sys.stdin.fileno() if self._keyboard is None else self._keyboard
        arguments = request.arguments
        self._screen.status("")
        self._show(request)
        for _ in range(_TRIES):
            drop_typed_ahead(keyboard)
            self._screen.prompt(self._screen.styled(say("run_it"), "bold"))
            line = await read_line(keyboard)
            if line is None:
                self._screen.note("")
                return self._answer("refuse", say("input_ended"))
            word, _, reason = line.strip().partition(" ")
            match word.lower().rstrip(",:;."):
                case "y" | "yes" | "ya":
                    changed = None if arguments == request.arguments else arguments
                    return self._answer("approve", reason.strip(), changed)
                case "n" | "no" | "t" | "tidak":
                    return self._answer("refuse", reason.strip() or say("said_no"))
                case "e" | "edit" | "u" | "ubah":
                    edited = await self._edit(arguments, request.masked, keyboard)
                    if edited is not None:
                        same = edited == request.arguments
                        return self._answer("approve", say("edited"), None if same else edited)
                case _:
                    self._screen.note(say("y_n_e"))
        return self._answer("refuse", say("unclear"))

    def _answer(self, verdict: Any, reason: str, arguments: dict[str, Any] | None = None) -> ApprovalAnswer:
        return ApprovalAnswer(verdict, self._by, reason, arguments)

    def _show(self, request: ApprovalRequest) -> None:
        screen = self._screen
        screen.note("")
        screen.note(
            screen.styled(say("asks", tool=one_line(request.tool)), "yellow")
            + f"  ({one_line(request.risk)})"
        )
        asked = ", ".join(request.reasons)
        said = {f"{request.tool} ({request.risk})", f"Asked because: {asked}"}  # around it, in one's language
        preview = [line for line in request.preview.split("\n") if line not in said]
        for line in printable("\n".join(preview)).splitlines() or [say("no_preview")]:
            screen.note(f"  {line}")
        reasons = one_line(asked) or say("policy_says")
        screen.note("  " + say("asked_because", reasons=reasons))
        if request.tainted:
            screen.note("  " + say("run_read_outside"))
        if request.obligations:
            screen.note("  " + say("policy_wants", duties=one_line(", ".join(request.obligations))))
        if request.votes:
            screen.note("  " + say("agreed_already", names=one_line(", ".join(request.votes))))

    def _say_later(self, text: str, request: ApprovalRequest) -> None:
        self._screen.status("")
        self._screen.note(say(text, id=one_line(request.approval_id)))

    async def _edit(
        self, arguments: dict[str, Any], masked: tuple[str, ...], keyboard: int
    ) -> dict[str, Any] | None:
        """Return what the person made of the arguments, or None when it cannot be read."""
        editor = editor_of(self._environ)
        shown = {name: _MASK if name in masked else value for name, value in arguments.items()}
        try:
            if editor:
                changed = await edited_text(editor, shown)
            else:
                self._screen.note(
                    say("arguments_now", arguments=printable(json.dumps(shown, ensure_ascii=False)))
                )
                self._screen.prompt(say("new_arguments"))
                changed = await read_line(keyboard) or ""
            if not changed.strip():
                raise UsageError(say("nothing_written"))
            return read_object(changed)
        except (UsageError, OSError, ValueError) as error:
            self._screen.note(say("not_changed", reason=one_line(str(error), 400)))
            return None
