"""Which shape each dialect is written in: one row a dialect. A new dialect with a known shape is one row."""

from typing import Final

from gerbang.parse.render.shape import PythonCalls, Shape, Template
from gerbang.parse.render.tagged import (
    Elements,
    Notation,
    Tagged,
    cdata,
    escaped_key,
    string_mark,
    type_mark,
)

_OBJECT: Final = '{"name": %N, "arguments": %A}'
_PARAMETERS: Final = '{"name": %N, "parameters": %A}'


def _block(tag: str) -> Template:
    """One JSON object in its own pair of tags for each call."""
    return Template(f"<{tag}>\n{_OBJECT}\n</{tag}>", marks=(f"<{tag}>", f"</{tag}>"))


def _listed(head: str, tail: str, *marks: str, call: str = _OBJECT) -> Template:
    """All calls in one JSON list."""
    return Template(call, head=f"{head}[", tail=f"]{tail}", joint=", ", marks=marks, many="list")


def _functions(tag: str) -> Tagged:
    """`<function=n>` and `<parameter=k>` in their own tag."""
    return Tagged(
        open=f"<{tag}>\n<function=%n>\n",
        argument="<parameter=%k>\n%v\n</parameter>\n",
        close=f"</function>\n</{tag}>",
        marks=("</parameter>", "<parameter=", "</function>", f"</{tag}>", "<function=", f"<{tag}>"),
    )


def _invokes(wrapper: str) -> Tagged:
    """`<invoke name="n">` with `<parameter name="k">`, all calls in one wrapper."""
    return Tagged(
        open='<invoke name="%n">\n',
        argument='<parameter name="%k">%v</parameter>\n',
        close="</invoke>",
        head=f"<{wrapper}>\n",
        tail=f"\n</{wrapper}>",
        marks=("</parameter>", "<parameter ", "</invoke>", "<invoke ", f"</{wrapper}>", f"<{wrapper}>"),
    )


def _pairs(gap: str, *, after_name: str = "\n", head: str = "", tail: str = "", joint: str = "\n") -> Tagged:
    """Keys and values in tags of their own."""
    return Tagged(
        open=f"<tool_call>%n{after_name}",
        argument=f"<arg_key>%k</arg_key>{gap}<arg_value>%v</arg_value>{gap}",
        close="</tool_call>",
        head=head,
        tail=tail,
        joint=joint,
        marks=("</arg_value>", "<arg_value>", "</arg_key>", "<arg_key>", "</tool_call>", "<tool_call>"),
    )


def _dsml(wrapper: str, bar: str = "｜DSML｜") -> Tagged:
    """Parameters with a `string` mark that tells raw text from JSON."""
    return Tagged(
        open=f'<{bar}invoke name="%n">\n',
        argument=f'<{bar}parameter name="%k" string="%t">%v</{bar}parameter>\n',
        close=f"</{bar}invoke>",
        head=f"<{bar}{wrapper}>\n",
        tail=f"\n</{bar}{wrapper}>",
        encode=string_mark,
        marks=(f"</{bar}", f"<{bar}"),
        how="marked",
        many="inside",
    )


def _deepseek(call: str, joint: str) -> Template:
    marks = ("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
    return Template(
        f"<｜tool▁call▁begin｜>{call}<｜tool▁call▁end｜>",
        head="<｜tool▁calls▁begin｜>",
        tail="<｜tool▁calls▁end｜>",
        joint=joint,
        marks=(*marks, "<｜tool▁sep｜>", "```"),
        how="json_named",
    )


SHAPES: Final[dict[str, Shape]] = {
    # one JSON object in a pair of tags
    "hermes": _block("tool_call"),
    "granite4": _block("tool_call"),
    "ernie45": _block("tool_call"),
    "longcat": _block("longcat_tool_call"),
    "tool_use": Template(f"<tool_use>{_OBJECT}</tool_use>", marks=("<tool_use>", "</tool_use>")),
    "minimax_m1": Template(
        _OBJECT,
        head="<tool_calls>\n",
        tail="\n</tool_calls>",
        marks=("<tool_calls>", "</tool_calls>"),
        many="inside",
    ),
    "internlm": Template(
        f"<|action_start|><|plugin|>\n{_PARAMETERS}<|action_end|>",
        marks=("<|action_start|>", "<|plugin|>", "<|action_end|>"),
    ),
    "granite_20b_fc": Template(f"<function_call> {_OBJECT}", marks=("<function_call>",)),
    "gigachat3": Template(
        _OBJECT,
        head="<|message_sep|>\n\nfunction call<|role_sep|>\n",
        many="",
        marks=("<|message_sep|>", "<|role_sep|>", "<|function_call|>"),
    ),
    # JSON without tags
    "llama3_json": Template(_PARAMETERS, joint="; ", marks=("<|python_tag|>", "<|eom_id|>")),
    "bare_json": Template(_OBJECT, joint=", ", list_when_many=True, many="list"),
    "router": Template('{"tool": %N, "input": %A}', how="router", many=""),
    "fenced_json": Template(
        _OBJECT, head="```json\n", tail="\n```", joint=", ", list_when_many=True, marks=("```",), many="list"
    ),
    "react": Template("Action: %n\nAction Input: %A", how="react", many=""),
    # a JSON list
    "mistral_json": _listed("[TOOL_CALLS] ", "", "[TOOL_CALLS]"),
    "hunyuan_a13b": _listed("<tool_calls>", "</tool_calls>", "<tool_calls>", "</tool_calls>"),
    "jamba": _listed("<tool_calls>", "</tool_calls>", "<tool_calls>", "</tool_calls>"),
    "nemotron_v2": _listed("<TOOLCALL>", "</TOOLCALL>", "<TOOLCALL>", "</TOOLCALL>"),
    "granite": _listed("<|tool_call|>", "", "<|tool_call|>", "<tool_call>"),
    "phi4_mini": _listed("functools", "", "functools[", "<|tool_call|>"),
    "xlam": _listed("", ""),
    "apertus": _listed(
        "<|tools_prefix|>", "<|tools_suffix|>", "<|tools_prefix|>", "<|tools_suffix|>", call="{%N: %A}"
    ),
    "cohere": Template(
        '{"tool_call_id": "%i", "tool_name": %N, "parameters": %A}',
        head="<|START_ACTION|>[\n    ",
        tail="\n]<|END_ACTION|>",
        joint=",\n    ",
        marks=("<|START_ACTION|>", "<|END_ACTION|>", "<|START_RESPONSE|>"),
        many="list",
    ),
    # the name outside, the arguments as JSON
    "mistral_args": Template(
        "[TOOL_CALLS]%n[ARGS]%A", joint="", marks=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"), how="json_named"
    ),
    "deepseek_v3": _deepseek("function<｜tool▁sep｜>%n\n```json\n%A\n```", "\n"),
    "deepseek_v31": _deepseek("%n<｜tool▁sep｜>%A", ""),
    "kimi_k2": Template(
        "<|tool_call_begin|>functions.%n:%i<|tool_call_argument_begin|>%A<|tool_call_end|>",
        head="<|tool_calls_section_begin|>",
        tail="<|tool_calls_section_end|>",
        joint="",
        marks=(
            "<|tool_calls_section_begin|>",
            "<|tool_calls_section_end|>",
            "<|tool_call_begin|>",
            "<|tool_call_argument_begin|>",
            "<|tool_call_end|>",
        ),
        how="json_named",
    ),
    "harmony": Template(
        "<|channel|>commentary to=functions.%n <|constrain|>json<|message|>%A<|call|>",
        joint="<|start|>assistant",
        marks=(
            "<|start|>",
            "<|channel|>",
            "<|constrain|>",
            "<|message|>",
            "<|call|>",
            "<|end|>",
            "<|return|>",
        ),
        how="json_named",
    ),
    "functionary_v31": Template(
        "<function=%n>%A</function>", joint="", marks=("<function=", "</function>"), how="json_named"
    ),
    "functionary_v32": Template(">>>%n\n%A", marks=(">>>",), how="json_named"),
    # raw values in tags, types from the schema
    "qwen3_coder": _functions("tool_call"),
    "step3p5": _functions("tool_call"),
    "seed_oss": _functions("seed:tool_call"),
    "claude_xml": _invokes("function_calls"),
    "minimax_m2": _invokes("minimax:tool_call"),
    "glm45": _pairs("\n"),
    "glm47": _pairs("", after_name="", joint=""),
    "hunyuan_v3": _pairs("", after_name="<tool_sep>", head="<tool_calls>", tail="</tool_calls>", joint=""),
    "minimax_m3": Elements(),
    "minicpm5": Tagged(
        open='<function name="%n">',
        argument='<param name="%k">%v</param>',
        close="</function>",
        encode=cdata,
        marks=("</param>", "<param ", "</function>", "<function ", "<![CDATA[", "]]>"),
        how="raw",
    ),
    "step3": Tagged(
        open='<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="%n">\n',
        argument='<steptml:parameter name="%k">%v</steptml:parameter>\n',
        close="</steptml:invoke><｜tool_call_end｜>",
        head="<｜tool_calls_begin｜>\n",
        tail="\n<｜tool_calls_end｜>",
        marks=(
            "</steptml:parameter>",
            "<steptml:parameter ",
            "</steptml:invoke>",
            "<steptml:invoke ",
            "<｜tool_call_end｜>",
            "<｜tool_call_begin｜>",
            "<｜tool_calls_end｜>",
        ),
    ),
    # raw values with a type mark in the tag
    "deepseek_v32": _dsml("function_calls"),
    "deepseek_v4": _dsml("tool_calls"),
    "deepseek_v41": _dsml("calls", "｜DSML｜ "),
    "kimi_k3": Tagged(
        open='<|open|>call tool="%n" index="%I"<|sep|>',
        argument='<|open|>argument key="%k" type="%t"<|sep|>%v<|close|>argument<|sep|>',
        close="<|close|>call<|sep|>",
        head="<|open|>tools<|sep|>",
        tail="<|close|>tools<|sep|>",
        joint="",
        encode=type_mark,
        key=escaped_key,
        marks=("<|close|>", "<|open|>", "<|sep|>"),
        how="marked",
        many="inside",
    ),
    # Python calls
    "pythonic": PythonCalls("[", "]", marks=("<|python_start|>", "<|python_end|>")),
    "olmo3": PythonCalls(
        "<function_calls>\n",
        "\n</function_calls>",
        joint="\n",
        json_words=True,
        marks=("<function_calls>", "</function_calls>"),
        many="inside",
    ),
    "lfm2": PythonCalls(
        "<|tool_call_start|>[", "]<|tool_call_end|>", marks=("<|tool_call_start|>", "<|tool_call_end|>")
    ),
    # own notations
    "functiongemma": Notation("<start_function_call>", "<end_function_call>", "<escape>"),
    "gemma4": Notation("<|tool_call>", "<tool_call|>", '<|"|>'),
}
"""Dialect id to shape. `auto` has none: it is a way of reading."""

RESERVED: Final[dict[str, frozenset[str]]] = {
    "router": frozenset({"none"}),
    "functionary_v32": frozenset({"all"}),
}
"""Names that mean something else in a dialect, so that no tool can be called by them there."""
