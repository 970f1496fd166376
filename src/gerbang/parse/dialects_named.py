"""Rows of the dialect table in which the name stands outside of the arguments."""

from typing import Final

from gerbang.parse.dialect import Dialect
from gerbang.parse.layout import Entry, NamedJson

THINK: Final = (("<think>", "</think>"),)
"""The usual marks of thinking."""
BOX: Final = (("[THINK]", "[/THINK]"), *THINK)
"""Those of Mistral."""
MISTRAL_END: Final = ("</s>", "[/TOOL_CALLS]")
"""How its answers end."""
LLAMA_END: Final = ("<|eom_id|>", "<|eot_id|>", "<|end_of_text|>")
"""How those of Llama end."""
_DEEPSEEK_END: Final = ("<｜end▁of▁sentence｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁end｜>")
_KIMI_END: Final = ("<|im_end|>", "<|tool_calls_section_end|>", "<|tool_call_end|>")
_PLAMO_END: Final = (
    "<|plamo:tag|>",
    "<|plamo:end_tool_requests:plamo|>",
    "<|plamo:end_tool_request:plamo|>",
)
_DEEPSEEK: Final = NamedJson("deepseek", ("<｜tool▁calls▁end｜>",))
_DEEPSEEK_STARTS: Final = ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>")


def _named(
    name: str,
    models: tuple[str, ...],
    marks: tuple[str, ...],
    layout: NamedJson,
    *,
    reasoning: tuple[tuple[str, str], ...] = THINK,
    noise: tuple[str, ...] = (),
    match: tuple[str, ...] = (),
) -> Dialect:
    entries = tuple(Entry(mark, layout) for mark in marks)
    return Dialect(name, models, "named_json", "J", marks, entries, None, reasoning, noise, match)


NAMED: Final = (
    _named(
        "mistral_args",
        ("Small 3.2", "Magistral", "Devstral", "Ministral 3", "Medium 3.5", "Small 4"),
        ("[TOOL_CALLS]",),
        NamedJson("mistral"),
        reasoning=BOX,
        noise=MISTRAL_END,
        match=("mistral-small", "magistral", "devstral", "ministral", "mistral-medium", "mistral-large"),
    ),
    _named(
        "deepseek_v3",
        ("V3", "V3-0324", "R1", "R1-0528"),
        _DEEPSEEK_STARTS,
        _DEEPSEEK,
        noise=_DEEPSEEK_END,
        match=("deepseek-v3", "deepseek-r1"),
    ),
    _named(
        "deepseek_v31",
        ("V3.1",),
        _DEEPSEEK_STARTS,
        _DEEPSEEK,
        noise=_DEEPSEEK_END,
        match=("deepseek-v3.1",),
    ),
    _named(
        "kimi_k2",
        ("Kimi K2", "K2.5", "K2.6"),
        ("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
        NamedJson("kimi", ("<|tool_calls_section_end|>",)),
        noise=_KIMI_END,
        match=("kimi-k2", "kimi_k2"),
    ),
    _named(
        "plamo3",
        ("PLaMo 3",),
        ("<|plamo:begin_tool_requests:plamo|>", "<|plamo:begin_tool_request:plamo|>"),
        NamedJson("plamo", ("<|plamo:end_tool_requests:plamo|>",)),
        reasoning=(("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"), *THINK),
        noise=_PLAMO_END,
        match=("plamo-3", "plamo3"),
    ),
    _named(
        "functionary_v31",
        ("Functionary v3.1",),
        ("<function=",),
        NamedJson("function_tag", ("</function>",)),
        noise=LLAMA_END,
        match=("functionary-small-v3.1", "functionary-medium-v3.1", "functionary-v3.1"),
    ),
    Dialect(
        "functionary_v32",
        ("Functionary v3.2",),
        "recipients",
        "J",
        (">>>",),
        noise=LLAMA_END,
        match=("functionary",),
    ),
    Dialect(
        "harmony",
        ("gpt-oss", "llm-jp 4.1"),
        "harmony",
        "J",
        ("<|start|>", "<|channel|>", " to=functions."),
        reasoning=(),
        match=("gpt-oss", "gptoss", "llm-jp-4"),
    ),
)
