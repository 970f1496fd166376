"""Room in the model's context: what is refused when there is none left, and what then ends a run."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gerbang.contract.catalogue import Catalogue
from gerbang.loop.context import Transcript
from gerbang.runtime import refusals
from gerbang.runtime.events import Notice
from gerbang.runtime.session import RunSession
from gerbang.values import Proposal, Result

TOO_LONG: Final = "The conversation is larger than the model's context window."
_WORST: Final = ("unknown", "happened", "none")


def within(transcript: Transcript, proposals: list[Proposal], in_text: bool) -> list[Proposal]:
    """Return the proposals of the newest answer, those marked as refused for which there is no room.

    `in_text`: its calls stand in its text, which is then shortened too.
    """
    last = transcript.messages[-1]
    sizes = [0] * len(proposals) if in_text else [len(call.arguments) for call in last.tool_calls]
    refused = transcript.no_room_for(sizes, apart=not in_text)
    if not refused:
        return proposals
    if in_text:
        transcript.give_up_last()
    return [
        replace(one, fault=refusals.no_room()) if place in refused and one.fault is None else one
        for place, one in enumerate(proposals)
    ]


def fitted(transcript: Transcript, newest: int, session: RunSession) -> bool:
    """Make the conversation fit, and say so when that took something. Its `newest` messages go last."""
    before = transcript.shortened
    fits = transcript.fit(keep_last=max(1, newest))
    if transcript.shortened != before:
        said = "Older results and arguments of calls were shortened to fit the context."
        session.emit(Notice("CONTEXT_SHORTENED", said))
    return fits


def worst_effect(results: Sequence[Result], catalogue: Catalogue) -> str:
    """Return what became of the effects of these calls: the worst that can be said of one of them."""
    found = {effect_of(result, catalogue) for result in results}
    return next((effect for effect in _WORST if effect in found), "none")


def effect_of(result: Result, catalogue: Catalogue) -> str:
    """Return what became of the effect of a call: `none`, `happened` or `unknown`."""
    if result.error is not None:
        return result.error.effect
    entry = catalogue.recorded(result.tool)
    if result.status == "pending" or (entry is not None and entry.contract.risk.is_read):
        return "none"
    return "happened"
