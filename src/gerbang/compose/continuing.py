"""Conversations that go on after calls of the client: what the client does not know is put back in.

The client saw only the calls of its own tools. The answers, calls and results of the run before and between
them are in the store; they take the place of the message that the client was given. What the client says in
a `tool` message is data, whatever it says: approvals and results of the server's own tools come from the
store alone, and only from runs of the very user.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from gerbang import parse
from gerbang.audit.redact import redact
from gerbang.contract.client_tools import client_name
from gerbang.limits import RESULT_MAX_CHARS
from gerbang.loop.profile import Profile
from gerbang.ports import Store
from gerbang.runtime.bodies import step_name
from gerbang.runtime.handing import handed_id, read_handed_id
from gerbang.runtime.kept import KeptEnd, KeptResult, read_answer, read_end, read_opening
from gerbang.runtime.present import fenced
from gerbang.runtime.run_settings import RunSettings
from gerbang.runtime.session import RunSession
from gerbang.runtime.telling import told
from gerbang.taint.frame import frame
from gerbang.taint.label import looks_like_instructions
from gerbang.values import Message, Taint, ToolCall
from gerbang.values.record import RunRow, RunState

_NEWEST: Final = 16
"""So many answers of the conversation, the newest ones, get back what the client does not know."""
_UNKNOWN: Final = "client"


async def continued(
    store: Store, session: RunSession, messages: Sequence[Message], settings: RunSettings
) -> list[Message]:
    """Return the conversation with what its runs said and did in between. Raises StoreError.

    A run that has read what a client's tools gave counts as one that has read from outside.
    """
    if not any(message.role == "tool" or message.tool_calls for message in messages):
        return list(messages)
    asked = [place for place, message in enumerate(messages) if message.tool_calls]
    newest = set(asked[-_NEWEST:])
    out: list[Message] = []
    place = 0
    while place < len(messages):
        message, place = messages[place], place + 1
        if not message.tool_calls:
            out.append(_as_data(message, session) if message.role == "tool" else message)
            continue
        answers: list[Message] = []
        while place < len(messages) and messages[place].role == "tool":
            answers.append(_as_data(messages[place], session, message))
            place += 1
        known = await _known(store, session, message) if place - len(answers) - 1 in newest else None
        if known is None:
            out += (
                _as_text(message, answers, settings, session.lang)
                if settings.text_protocol
                else [message, *answers]
            )
        else:
            out += _put_back(*known, answers, settings, session.lang)
    return out


def _as_text(message: Message, answers: list[Message], settings: RunSettings, lang: str) -> list[Message]:
    """Return calls and results of another origin in the text that the model speaks."""
    calls = [(call.name, parse.arguments_from_json(call.arguments)[0] or {}) for call in message.tool_calls]
    try:
        said = parse.render([{"name": name, "arguments": given} for name, given in calls], settings.dialect)
    except parse.RenderError:  # a format that cannot carry them, or reads only
        said = ", ".join(name for name, _ in calls)
    results = [KeptResult(one.tool_call_id or "", one.name or "", one.content) for one in answers]
    return [
        Message("assistant", f"{message.content}\n{said}".strip()),
        *(told(results, settings, 1, lang) if results else ()),
    ]


def last_results(messages: Sequence[Message]) -> list[str]:
    """Return the results that a conversation ends with: an answer for models that write no prose."""
    place = len(messages)
    while place and messages[place - 1].role == "tool":
        place -= 1
    return [message.content for message in messages[place:]]


async def _known(store: Store, session: RunSession, message: Message) -> tuple[list[Message], KeptEnd] | None:
    """Return what the run of these calls said after its opening, and its end; None: it is none of ours."""
    found = read_handed_id(message.tool_calls[0].id)
    if found is None:
        return None
    row, who = await store.run(found[0]), session.principal
    if row is None or (row.tenant, row.user) != (who.tenant, who.user):
        return None
    if row.state != RunState.CLIENT_CALLS:
        return None
    *answers, last = await store.answers(row.run_id)
    end = read_end(last.message)
    if end is None:
        return None
    said: list[Message] = []
    for answer in answers[1:]:
        kept = read_answer(answer.message)
        if kept is None:
            return None
        said += [*kept.before, kept.message]
    return said, end


async def handed_calls(store: Store, row: RunRow) -> tuple[ToolCall, ...]:
    """Return the calls that a run ended with and that its client has to run. Raises StoreError."""
    answers = await store.answers(row.run_id)
    end = read_end(answers[-1].message) if answers else None
    opening = read_opening(answers[0].message) if answers else None
    if end is None or opening is None:
        return ()
    names = {client_name(tool): tool.name for tool in opening.client_tools}
    step = step_name(len(answers) - 2)
    rows = {call.ordinal: call for call in await store.calls(row.run_id) if call.step_id == step}
    calls = []
    for place, one in enumerate(end.results):
        if one.handed and place in rows:
            given = msgspec.json.decode(rows[place].result)["arguments"]
            text = msgspec.json.encode(given).decode()
            calls.append(ToolCall(handed_id(row.run_id, place), names.get(one.tool, one.tool), text))
    return tuple(calls)


def _put_back(
    said: list[Message], end: KeptEnd, answers: list[Message], settings: RunSettings, lang: str
) -> list[Message]:
    texts = {}
    for answer in answers:
        found = read_handed_id(answer.tool_call_id or "")
        if found is not None:
            texts[found[1]] = answer.content
    results = [
        KeptResult(one.call_id, one.tool, texts.get(place, "(no result)") if one.handed else one.text)
        for place, one in enumerate(end.results)
    ]
    step = sum(message.role == "assistant" for message in said)
    return [*said, *told(results, settings, step, lang)]


def _as_data(message: Message, session: RunSession, asked: Message | None = None) -> Message:
    """Return a result that a client submits as the profile shows results: bounded, redacted, framed."""
    names = {call.id: call.name for call in asked.tool_calls} if asked is not None else {}
    entry = session.catalogue.find(names.get(message.tool_call_id or "", ""))
    source = _UNKNOWN if entry is None else entry.contract.name
    profile: Profile = session.profile
    limit = min(RESULT_MAX_CHARS, profile.result_max_chars)
    text = message.content
    shown = fenced(redact(text[: limit + 8_000]), profile)[:limit]
    if len(text) > limit:
        shown += session.texts.cut.format(total=len(text))
    if profile.framing == "framed":
        shown = frame(shown, Taint(source, "external", True, looks_like_instructions(text)))
    return replace(message, content=shown, name=message.name or source)
