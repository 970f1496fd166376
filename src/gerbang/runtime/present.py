"""What the model is shown of a result or an error: bounded, redacted, framed, in the profile's words.

Whatever the frame, what a tool said can neither end its turn of the conversation nor begin another result.
"""

from typing import Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from gerbang.audit.redact import redact
from gerbang.loop.profile import Profile
from gerbang.loop.texts import Texts
from gerbang.parse.render.wording import wording
from gerbang.runtime.output import Output
from gerbang.taint.frame import frame
from gerbang.values import CallError, Contract, Taint
from gerbang.values.control_tokens import harmless
from gerbang.values.failure import OWN_WORDS
from gerbang.values.sentences import advised, further_advice, in_language

_ENCODER = msgspec.json.Encoder()
# Such as the exact texts of the workspace tools; in the voice profile every error begins alike.
_AS_IT_IS = frozenset({"semantic_error", "permission_denied"})
_STATUS_CHARS = 16
_HEADS: Final = tuple(wording(lang).result_head for lang in ("en", "id"))
"""How the results of the text protocol begin. Several stand in one message: none may begin inside another."""


def show_error(error: CallError, tool: str, profile: Profile, texts: Texts) -> str:
    """Return an error as the profile renders it: its exact sentence, or the structured object.

    Both are in the language of `texts`, but for what a tool wrote itself.
    """
    error = in_language(error, texts.lang)
    if profile.renderer == "structured":
        return harmless(_ENCODER.encode(advised(error, texts.lang).as_dict()).decode(), as_json=True)
    return fenced(_exact_error(error, tool, profile, texts), profile)


def _exact_error(error: CallError, tool: str, profile: Profile, texts: Texts) -> str:
    if error.error_type == "unknown_tool":
        near = f". {_with_names(error)}" if profile.name == "terminal" and error.suggested_fix else ""
        return texts.unknown_tool.format(name=tool[:200]) + near
    error = replace(error, message=_bounded(error.message, profile.result_max_chars, texts))
    alone = (error.error_type in _AS_IT_IS and profile.name != "voice") or (
        error.error_type == "timeout" and profile.name == "terminal"  # that of the shell
    )
    if error.said == OWN_WORDS and alone:
        return error.message
    lines = [texts.error.format(error=error.message)]
    lines.extend(f"- {field.path or '(arguments)'}: {field.message}" for field in error.invalid_fields)
    if advice := further_advice(error):
        lines.append(advice)
    return "\n".join(lines)


def _with_names(error: CallError) -> str:
    """Return the advice for an unknown tool, with the names of those that there are unless it has one."""
    fix, known = error.suggested_fix, error.available
    if known is UNSET or not known or any(name in fix for name in known):
        return fix
    return f"{fix.removesuffix('.')}: {', '.join(known)}."


def _bounded(message: str, limit: int, texts: Texts) -> str:
    """Return a tool's words within the cap of a result. Of `HTTP 500 — BODY` the body is what is cut."""
    if len(message) <= limit:
        return message
    head, dash, body = message.partition(" — ")
    if not dash or len(head) > _STATUS_CHARS:
        head, dash, body = "", "", message
    return message if len(body) <= limit else head + dash + body[:limit] + texts.cut.format(total=len(body))


def show_result(
    output: Output, text: str, contract: Contract, taint: Taint, profile: Profile, texts: Texts
) -> str:
    """Return a result as the model sees it, cut to the smaller of the contract's and profile's caps.

    `text` is `output.plain`.
    """
    as_json = not isinstance(output.value, str)
    limit = min(contract.result_max_chars, profile.result_max_chars)
    # a cut may fall inside a credential: what is cut off is masked first, with a margin
    shown = fenced(redact(text[: limit + 8_000]), profile, as_json=as_json)
    if len(text) > limit:
        shown = shown[:limit] + texts.cut.format(total=output.total or len(text))
    return frame(shown, taint) if profile.framing == "framed" else shown


def fenced(text: str, profile: Profile, *, as_json: bool = False) -> str:
    """Return the text with no control token and no head of a result in it."""
    text = harmless(text, as_json=as_json)
    if profile.framing == "envelope":
        for head in _HEADS:
            text = text.replace(head, f"{head[0]} {head[1:]}")
    return text
