"""The dialect table: one row a text format. A new model is a new row here, not a new file.

Source of the formats: the chat templates of the models and the parsers of vLLM 0.32, SGLang 0.5.23 and
llama.cpp.
"""

from typing import Final

from gerbang.parse.dialect import Dialect, Encoding
from gerbang.parse.dialects_named import BOX, LLAMA_END, MISTRAL_END, NAMED, THINK
from gerbang.parse.dialects_tagged import GIGACHAT35, TAGGED
from gerbang.parse.layout import Bare, Entry, JsonTags, Notation, Python

_CHATML: Final = ("<|im_end|>", "<|endoftext|>", "<|im_start|>")
_CLOVA: Final = "-> tool/function_call\n"


def _json(
    name: str,
    models: tuple[str, ...],
    marks: tuple[str, ...],
    layout: JsonTags,
    *,
    reasoning: tuple[tuple[str, str], ...] = THINK,
    noise: tuple[str, ...] = (),
    match: tuple[str, ...] = (),
    bare: Bare | None = None,
    more: tuple[Entry, ...] = (),
    answers: tuple[str, ...] = (),
) -> Dialect:
    entries = (*(Entry(mark, layout) for mark in marks), *more)
    starts = tuple(entry.mark for entry in entries)
    return Dialect(name, models, "json", "J", starts, entries, bare, reasoning, noise, match, answers)


_TOOL_CALL: Final = JsonTags(("</tool_call>",))
_FORGOTTEN: Final = Bare(known=False, close="</tool_call>")
_LIST: Final = JsonTags(("</tool_calls>",))

_JSON: Final = (
    _json(
        "hermes",
        ("Hermes 2/3", "Qwen2.5", "QwQ", "Qwen3", "Reka Edge", "Arcee Trinity"),
        ("<tool_call>",),
        _TOOL_CALL,
        noise=_CHATML,
        bare=_FORGOTTEN,
        match=("hermes", "qwen2.5", "qwen-2.5", "qwq", "qwen3", "reka", "trinity"),
    ),
    _json(
        "granite4",
        ("Granite 4",),
        ("<tool_call>",),
        _TOOL_CALL,
        bare=_FORGOTTEN,
        match=("granite-4", "granite4"),
        noise=("<|end_of_text|>",),
    ),
    _json(
        "ernie45",
        ("ERNIE 4.5 thinking",),
        ("<tool_call>",),
        _TOOL_CALL,
        noise=("<response>", "</response>"),
        match=("ernie-4.5", "ernie4.5"),
        answers=("<response>",),
    ),
    _json(
        "longcat",
        ("LongCat Flash",),
        ("<longcat_tool_call>",),
        JsonTags(("</longcat_tool_call>",)),
        reasoning=(("<longcat_think>", "</longcat_think>"), *THINK),
        match=("longcat",),
    ),
    _json(
        "tool_use",
        ("any, by prompt",),
        ("<tool_use>", "<tool_call>"),
        JsonTags(("</tool_use>", "</tool_call>")),
        bare=Bare(known=False, fence=True, untagged=False),
    ),
    _json("minimax_m1", ("MiniMax M1",), ("<tool_calls>",), _LIST, match=("minimax-m1",)),
    _json(
        "internlm",
        ("InternLM 2/2.5", "Intern-S1"),
        ("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>"),
        JsonTags(("<|action_end|>",)),
        noise=("<|im_end|>",),
        match=("internlm", "intern-s1"),
    ),
    _json(
        "granite_20b_fc",
        ("Granite 20B FC",),
        ("<function_call>",),
        JsonTags(("</function_call>",)),
        noise=("<|endoftext|>",),
        match=("granite-20b-functioncalling", "granite-20b-function"),
    ),
    _json(
        "gigachat3",
        ("GigaChat 3", "GigaChat 3.5"),
        ("function call<|role_sep|>\n", "<|function_call|>"),
        JsonTags(),
        noise=("<|message_sep|>", "</s>"),
        match=("gigachat3", "gigachat-3"),
        more=(
            Entry(GIGACHAT35.wrappers[0][0], GIGACHAT35),
            Entry(GIGACHAT35.call, GIGACHAT35),
        ),
    ),
    _json(
        "mistral_json",
        ("Mistral 7B v0.3", "Nemo", "Mixtral", "Small 2409"),
        ("[TOOL_CALLS]",),
        JsonTags(),
        reasoning=BOX,
        noise=MISTRAL_END,
        match=(
            *("mistral-7b", "mistral-nemo", "mistral-latest", "mixtral", "pixtral"),
            *("mistral-small-2409", "mistral-small-instruct-2409", "mistral-small-22b", "mistral-small-24b"),
            *("mistral-small-3.1", "mistral-small3.1", "mistral-large-instruct-24", "mistral-large-24"),
        ),
    ),
    _json(
        "hunyuan_a13b",
        ("Hunyuan A13B",),
        ("<tool_calls>",),
        _LIST,
        noise=("<answer>", "</answer>"),
        match=("hunyuan-a13b",),
        answers=("<answer>",),
    ),
    _json("jamba", ("Jamba 1.5/1.6",), ("<tool_calls>",), _LIST, match=("jamba",)),
    _json(
        "nemotron_v2",
        ("Nemotron Nano v2",),
        ("<TOOLCALL>",),
        JsonTags(("</TOOLCALL>",)),
        match=(
            *("nemotron-nano-9b-v2", "nemotron-nano-12b-v2", "nemotron-nano-v2"),
            *("llama-3-3-nemotron", "llama-3.3-nemotron", "llama-3.1-nemotron-nano"),
        ),
    ),
    _json(
        "granite",
        ("Granite 3.0 to 3.3",),
        ("<|tool_call|>", "<tool_call>"),
        JsonTags(("</tool_call>",)),
        reasoning=(*THINK, ("Here is my thought process:", "Here is my response:")),
        noise=("<|end_of_text|>", "<response>", "</response>"),
        match=("granite-3", "granite-2", "granite3"),
        answers=("<response>",),
    ),
    _json(
        "phi4_mini",
        ("Phi-4 mini", "FireFunction v2"),
        ("<|tool_call|>",),
        JsonTags(("<|/tool_call|>",)),
        more=(Entry("functools[", JsonTags(word=True, keep=1)),),
        match=("phi-4-mini", "phi4-mini", "firefunction"),
    ),
    _json(
        "apertus",
        ("Apertus",),
        ("<|tools_prefix|>",),
        JsonTags(("<|tools_suffix|>",), keyed=True),
        reasoning=(("<|inner_prefix|>", "<|inner_suffix|>"), *THINK),
        noise=("<|assistant_end|>",),
        match=("apertus",),
    ),
    _json(
        "cohere",
        ("Command R7B", "Command A", "Command R+"),
        ("<|START_ACTION|>",),
        JsonTags(("<|END_ACTION|>",)),
        reasoning=(("<|START_THINKING|>", "<|END_THINKING|>"), *THINK),
        noise=(
            "<|START_RESPONSE|>",
            "<|END_RESPONSE|>",
            "<|START_TEXT|>",
            "<|END_TEXT|>",
            "<|END_OF_TURN_TOKEN|>",
            "<|CHATBOT_TOKEN|>",
        ),
        match=("command-r", "command-a", "c4ai"),
        answers=("<|START_RESPONSE|>", "<|START_TEXT|>"),
        more=(Entry("Action:", JsonTags(("```",), word=True, quiet=True)),),
    ),
)

_TOKENS: Final = ("<|", "<｜", "</s>", "[/TOOL_CALLS]")
"""How marks begin that are tokens in any dialect."""

_ROLES: Final = (
    _json(
        "hyperclovax",
        ("HyperCLOVA X SEED",),
        (f" {_CLOVA}", f"<|im_start|>assistant {_CLOVA}"),
        JsonTags(),
        reasoning=(("<|im_start|>assistant/think\n", "<|im_end|>"), *THINK),
        noise=("<|im_end|>", "<|im_start|>assistant\n", "<|endofturn|>", "<|stop|>"),
        match=("hyperclova",),
        bare=Bare(),
    ),
    Dialect(
        "inkling",
        ("Inkling",),
        "blocks",
        "J",
        ("<|content_invoke_tool_json|>",),
        (
            Entry(
                "<|content_invoke_tool_json|>",
                JsonTags(("<|end_message|>", "<|content_model_end_sampling|>")),
            ),
        ),
        reasoning=(("<|content_thinking|>", "<|end_message|>"),),
        noise=("<|message_model|>", "<|content_text|>", "<|end_message|>", "<|content_model_end_sampling|>"),
        match=("inkling",),
    ),
)

_PYTHON: Final = (
    Dialect(
        "pythonic",
        ("Llama 4", "Llama 3.2 small", "ToolACE", "Gemma 3 by prompt"),
        "python",
        "P",
        ("[name(", "<|python_start|>"),
        (Entry("<|python_start|>", Python(("<|python_end|>",))),),
        Bare(known=False, python=True, untagged=False),
        noise=(*LLAMA_END, "<|eot|>"),
        match=("llama-4", "llama4", "toolace", "gemma-3", "gemma3", "llama-3.2-1b", "llama-3.2-3b"),
    ),
    Dialect(
        "olmo3",
        ("Olmo 3",),
        "python",
        "P",
        ("<function_calls>",),
        (Entry("<function_calls>", Python(("</function_calls>",), lines=True)),),
        noise=_CHATML,
        match=("olmo-3", "olmo3"),
    ),
    Dialect(
        "lfm2",
        ("LFM2", "LFM2.5"),
        "python",
        "P",
        ("<|tool_call_start|>",),
        (Entry("<|tool_call_start|>", Python(("<|tool_call_end|>",))),),
        noise=("<|im_end|>",),
        match=("lfm2",),
    ),
)

_NOTATION: Final = (
    Dialect(
        "functiongemma",
        ("FunctionGemma 270M",),
        "notation",
        "O",
        ("<start_function_call>",),
        (Entry("<start_function_call>", Notation("<end_function_call>", "<escape>")),),
        noise=("<end_of_turn>", "<start_function_response>"),
        match=("functiongemma",),
    ),
    Dialect(
        "gemma4",
        ("Gemma 4",),
        "notation",
        "O",
        ("<|tool_call>",),
        (Entry("<|tool_call>", Notation("<tool_call|>", '<|"|>')),),
        reasoning=(
            ("<|channel>thought\n", "<channel|>"),
            ("<|channel><|channel>thought\n", "<channel|>"),  # small models write the mark twice
        ),
        noise=("<|channel>thought<channel|>", "<turn|>", "<|tool_response>", "<eos>"),
        match=("gemma-4", "gemma4"),
    ),
)

_BARE: Final = (
    Dialect(
        "llama3_json",
        ("Llama 3.1/3.2/3.3", "Llama 4 in JSON mode"),
        "bare",
        "J",
        ("<|python_tag|>", "{"),
        (Entry("<|python_tag|>", JsonTags(("<|eom_id|>", "<|eot_id|>"))),),
        Bare(known=False),
        noise=LLAMA_END,
        match=("llama-3", "llama3", "meta-llama-3"),
    ),
    Dialect(
        "xlam",
        ("xLAM",),
        "bare",
        "J",
        ("[", "```json", "[TOOL_CALLS]", "<tool_call>"),
        (Entry("[TOOL_CALLS]", JsonTags()), Entry("<tool_call>", _TOOL_CALL)),
        Bare(known=False, fence=True),
        noise=_CHATML,
        match=("xlam",),
    ),
    Dialect(
        "fenced_json", ("any, by prompt",), "bare", "J", ("```json",), (), Bare(fence=True, untagged=False)
    ),
    Dialect("bare_json", ("any, by prompt",), "bare", "J", ("{", "["), (), Bare()),
    Dialect("router", ("any, by prompt",), "bare", "J", ("{",), (), Bare(router=True, fence=True)),
    Dialect("react", ("any, by prompt",), "react", "J", ("Action:",)),
)


def _union() -> Dialect:
    """`auto`: the entries of all tagged dialects; where two share a mark, what follows it decides."""
    rows = (*_JSON, *TAGGED, *NAMED, *_PYTHON, *_NOTATION, *_BARE)
    entries: dict[tuple[str, object], Entry] = {}
    for row in rows:
        for entry in row.entries:
            entries.setdefault((entry.mark, entry.layout), entry)
    encoding: Encoding = "J"
    return Dialect(
        "auto",
        ("decided by the text",),
        "auto",
        encoding,
        tuple(dict.fromkeys(mark for row in rows for mark in row.starts)),
        tuple(entries.values()),
        Bare(python=True),
        tuple(dict.fromkeys(pair for row in rows for pair in row.reasoning if pair[0][0] in "<[")),
        tuple(dict.fromkeys(mark for row in rows for mark in row.noise if mark.startswith(_TOKENS))),
    )


TABLE: Final[dict[str, Dialect]] = {
    row.id: row for row in (*_JSON, *TAGGED, *NAMED, *_ROLES, *_PYTHON, *_NOTATION, *_BARE, _union())
}
"""Dialect id to row."""


def dialects() -> tuple[Dialect, ...]:
    """Return every dialect that can be read, `auto` last."""
    return tuple(TABLE.values())
