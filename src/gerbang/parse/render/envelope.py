"""`render_result`: how a tool's result is put to a model as text.

Sources of the envelopes are the chat templates that the models ship with. Where no template could be
confirmed the neutral form stands: a line that names the tool, an empty line, the text.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from gerbang.limits import MAX_TOOL_NAME, RESULT_MAX_CHARS
from gerbang.parse.render.calls import shape_of
from gerbang.parse.render.literals import json_text
from gerbang.parse.render.refusal import RenderError
from gerbang.parse.render.wording import wording
from gerbang.values.control_tokens import harmless

TERMINAL_RESULT_CHARS: Final = 2000
"""Characters of one result that the text protocol of `tool_use` shows."""

_NOT_A_NAME: Final = re.compile(r"[^\w.:/-]")
_ANY_NAME: Final = rf"[\w.:/-]{{1,{MAX_TOOL_NAME}}}"
_LINE: Final = r"((?:\A|(?<=[\n\r\x0b\x0c\x85\u2028\u2029]))[ \t]{0,20})"  # its beginning


@dataclass(frozen=True, slots=True)
class Envelope:
    """What stands round a result: `%n` the tool's name, `%c` the call id, `%r` the result.

    `as_json` writes the result as a JSON string. Marks in `broken` (the envelope's own and the dialect's)
    and control tokens get a space after their first character when the result holds them, so that a
    result can never end its envelope or open a turn of its own. Where nothing ends an envelope, the words
    that begin it end the one before: they get a space as well where a line of the result begins with them.
    """

    text: str
    as_json: bool = False
    without_id: str | None = None
    broken: tuple[str, ...] = ()

    def fill(self, name: str, result: str, call_id: str | None) -> str:
        """Return the result in its envelope."""
        form = self.without_id if call_id is None and self.without_id is not None else self.text
        if self.as_json:  # an escape does it here, so the text stays as it was
            body = harmless(json_text(result, self.broken), as_json=True)
        else:
            body = _headless(broken(result, self.broken), (self.text, self.without_id or self.text))
        values = {"%n": _label(name), "%c": _label(call_id or "0"), "%r": body}
        return re.sub("%[ncr]", lambda slot: values[slot[0]], form)


def _label(text: str) -> str:
    """A name or id as it may stand in an envelope: models choose them too, so they can hold no markup."""
    return _NOT_A_NAME.sub("_", text[:MAX_TOOL_NAME])


def broken(text: str, marks: tuple[str, ...]) -> str:
    """Return `text` with `marks` and control tokens made harmless by a space after their first character."""
    for mark in marks:
        text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return harmless(text)


def _headless(text: str, forms: tuple[str, ...]) -> str:
    """Return `text` with a space in the heads of open envelopes that its lines begin with. Linear."""
    heads = _heads(forms)
    if heads is None:
        return text
    return heads.sub(lambda found: f"{found[1]}{found[2][0]} {found[2][1:]}", text)


@cache
def _heads(forms: tuple[str, ...]) -> "re.Pattern[str] | None":
    """Return what finds the first line of an open envelope's head; None when something ends all forms."""
    found = []
    for form in forms:
        head, _, end = form.partition("%r")
        if not end.strip():
            line = re.escape(head.split("\n")[0].rstrip())
            found.append(line.replace("%n", _ANY_NAME).replace("%c", _ANY_NAME))
    return re.compile(f"{_LINE}({'|'.join(found)})") if found else None


_RESPONSE: Final = Envelope(
    "<tool_response>\n%r\n</tool_response>", broken=("<tool_response>", "</tool_response>", "<tool_call>")
)
_OUTPUTS: Final = ("<｜tool", "</｜tool")
_FUNCTION_RESULTS: Final = (
    "<function_results>",
    "</function_results>",
    "<result>",
    "</result>",
    "</｜DSML",
    "<｜DSML",
)
_MISTRAL: Final = ("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[TOOL_CALLS]", "[INST]", "[/INST]")
_COHERE: Final = ("<|START_", "<|END_")

ENVELOPES: Final[dict[str, Envelope]] = {
    "hermes": _RESPONSE,
    "qwen3_coder": _RESPONSE,
    "step3p5": _RESPONSE,
    "granite4": _RESPONSE,
    "minicpm5": _RESPONSE,
    "glm45": _RESPONSE,
    "glm47": Envelope("<tool_response>%r</tool_response>", broken=_RESPONSE.broken),
    "hunyuan_a13b": Envelope("<tool_response>%r</tool_response>", broken=(*_RESPONSE.broken, "<tool_calls>")),
    "minimax_m1": Envelope("tool name: %n\ntool result: %r\n\n"),
    "minimax_m2": Envelope("<response>%r</response>", broken=("<response>", "</response>", "[e~[", "]~b]")),
    "mistral_json": Envelope(
        '[TOOL_RESULTS] {"content": %r, "call_id": "%c"}[/TOOL_RESULTS]',
        as_json=True,
        without_id='[TOOL_RESULTS] {"content": %r}[/TOOL_RESULTS]',
        broken=_MISTRAL,
    ),
    "mistral_args": Envelope(
        "[TOOL_RESULTS]%c[TOOL_CONTENT]%r[/TOOL_RESULTS]",
        without_id="[TOOL_RESULTS]%r[/TOOL_RESULTS]",
        broken=_MISTRAL,
    ),
    "deepseek_v3": Envelope(
        "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>%r<｜tool▁output▁end｜><｜tool▁outputs▁end｜>",
        broken=_OUTPUTS,
    ),
    "deepseek_v31": Envelope("<｜tool▁output▁begin｜>%r<｜tool▁output▁end｜>", broken=_OUTPUTS),
    "deepseek_v32": Envelope(
        "<function_results>\n<result>%r</result>\n</function_results>", broken=_FUNCTION_RESULTS
    ),
    "deepseek_v4": Envelope(
        "<tool_result>%r</tool_result>", broken=("<tool_result>", "</tool_result>", "<｜DSML", "</｜DSML")
    ),
    "longcat": Envelope(
        "<longcat_tool_response>\n%r\n</longcat_tool_response>", broken=("<longcat_", "</longcat_")
    ),
    "hunyuan_v3": Envelope(
        "<tool_responses><tool_response>%r</tool_response></tool_responses>",
        broken=("<tool_response", "</tool_response", "<tool_call"),
    ),
    "step3": Envelope(
        "<｜tool_outputs_begin｜><｜tool_output_begin｜>%r<｜tool_output_end｜><｜tool_outputs_end｜>",
        broken=_OUTPUTS,
    ),
    "claude_xml": Envelope(
        "<function_results>\n<result>\n<tool_name>%n</tool_name>\n<stdout>%r</stdout>\n</result>\n</function_results>",
        broken=(
            "<function_results>",
            "</function_results>",
            "<result>",
            "</result>",
            "<tool_name>",
            "</tool_name>",
            "<stdout>",
            "</stdout>",
        ),
    ),
    "kimi_k2": Envelope("## Return of %c\n%r", without_id="## Return of functions.%n:0\n%r"),
    "lfm2": Envelope("<|tool_response_start|>%r<|tool_response_end|>"),
    "nemotron_v2": Envelope(
        "<TOOL_RESPONSE>[%r]</TOOL_RESPONSE>",
        as_json=True,
        broken=("<TOOL_RESPONSE>", "</TOOL_RESPONSE>", "<SPECIAL_", "<TOOLCALL>"),
    ),
    "apertus": Envelope("[%r]", as_json=True, broken=("<|",)),
    "phi4_mini": Envelope('{"result": %r}', as_json=True, broken=("<|",)),
    "cohere": Envelope(
        '<|START_TOOL_RESULT|>[\n    {\n        "tool_call_id": "%c",\n        "results": {\n'
        '            "0": %r\n        },\n        "is_error": null\n    }\n]<|END_TOOL_RESULT|>',
        as_json=True,
        broken=_COHERE,
    ),
    "olmo3": Envelope("Function %n returned:\n%r"),
    "functiongemma": Envelope(
        "<start_function_response>response:%n{value:<escape>%r<escape>}<end_function_response>",
        broken=("<escape>", "<end_function_response>", "<start_", "<end_of_turn>"),
    ),
    "gemma4": Envelope(
        '<|tool_response>response:%n{value:<|"|>%r<|"|>}<tool_response|>',
        broken=('<|"|>', "<tool_response|>", "<|tool", "<|turn>", "<turn|>", "<|channel>", "<channel|>"),
    ),
    "harmony": Envelope("<|start|>functions.%n to=assistant<|channel|>commentary<|message|>%r<|end|>"),
    "gigachat3": Envelope("function result<|role_sep|>\n%r<|message_sep|>\n\n"),
    "kimi_k3": Envelope(
        '<|open|>message role="tool" tool="%n" index="1"<|sep|>%r<|close|>message<|sep|><|end_of_msg|>'
    ),
    "react": Envelope("Observation: %r"),
}
"""Dialects whose result envelope is known; the others use the neutral form."""


def render_result(
    name: str,
    result_text: str,
    dialect: str,
    *,
    step: int | None = None,
    max_steps: int | None = None,
    lang: str = "en",
    call_id: str | None = None,
    max_chars: int | None = None,
) -> str:
    """Return `result_text`, the result of the tool `name`, as a model of `dialect` expects to see it.

    `tool_use`: the envelope of the text protocol with `step` and `max_steps` (both count from 1; left out,
    the bracket is left out), the text itself unchanged. Others: the envelope of the model's own chat
    template without the turn marks that the template adds, or a neutral one. In these, the envelope's and
    the dialect's own marks inside the text get a space, so that a result cannot end its envelope.
    `call_id` is written where the format has a place for it. A text over `max_chars` characters (2000 in
    `tool_use`, else `RESULT_MAX_CHARS`) is cut, and a last line says how long it was.

    Raises RenderError for an unknown dialect or language, and for a limit or step below 1.
    """
    shape_of(dialect)
    words = wording(lang)
    for number in (step, max_steps, max_chars):
        if number is not None and number < 1:
            raise RenderError("step, max_steps and max_chars count from 1.")
    limit = max_chars or (TERMINAL_RESULT_CHARS if dialect == "tool_use" else RESULT_MAX_CHARS)
    text = bounded(result_text, limit)
    if dialect == "tool_use":
        count = "" if step is None or max_steps is None else f" (step {step}/{max_steps})"
        return f"{words.result_head}{count}{words.result_tail}\n\n{text}"
    envelope = ENVELOPES.get(dialect)
    if envelope is None:
        heads = tuple(wording(one).neutral_result.format(name="%n") + "\n\n%r" for one in ("en", "id"))
        return f"{words.neutral_result.format(name=_label(name))}\n\n{_headless(broken(text, ()), heads)}"
    return envelope.fill(name, text, call_id)


def bounded(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`; when some were cut, a last line tells the whole length."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n\n... (output truncated, total {len(text)} chars)"
