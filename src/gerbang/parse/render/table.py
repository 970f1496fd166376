"""The shapes of dialects that their row in the dialect table does not tell: one row each.

Tags, lists and line breaks as the models themselves write them, where the readers accept more than one way.
"""

from typing import Final

from gerbang.parse.render.shape import PythonCalls, Shape, Template
from gerbang.parse.render.tagged import (
    Tagged,
    cdata,
    escaped_key,
    string_mark,
    type_mark,
)

PAIR_MARKS: Final = ("</arg_value>", "<arg_value>", "</arg_key>", "<arg_key>", "</tool_call>", "<tool_call>")
_OBJECT: Final = '{"name": %N, "arguments": %A}'
_PARAMETERS: Final = '{"name": %N, "parameters": %A}'


def _listed(head: str, tail: str, *marks: str) -> Template:
    """All calls in one JSON list."""
    return Template(_OBJECT, head=f"{head}[", tail=f"]{tail}", joint=", ", marks=marks, many="list")


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
        many="inside",
    )


SHAPES: Final[dict[str, Shape]] = {
    # one JSON object for each call
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
    "bare_json": Template(_OBJECT, joint=", ", list_when_many=True, many="wrap"),
    "router": Template('{"tool": %N, "input": %A}', how="router", many=""),
    "fenced_json": Template(
        _OBJECT, head="```json\n", tail="\n```", joint=", ", list_when_many=True, marks=("```",), many="wrap"
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
    "cohere": Template(
        '{"tool_call_id": "%i", "tool_name": %N, "parameters": %A}',
        head="<|START_ACTION|>[\n    ",
        tail="\n]<|END_ACTION|>",
        joint=",\n    ",
        marks=("<|START_ACTION|>", "<|END_ACTION|>", "<|START_RESPONSE|>"),
        many="list",
    ),
    "hyperclovax": _listed(" -> tool/function_call\n", "", " -> tool/function_call\n"),
    "inkling": Template(
        '<|message_model|><|content_invoke_tool_json|>{"name": %N, "args": %A}<|end_message|>',
        joint="",
        marks=("<|message_model|>", "<|content_invoke_tool_json|>", "<|end_message|>"),
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
        many="inside",
    ),
    "plamo3": Template(
        "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>%n<|plamo:end_tool_name:plamo|>"
        "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>%A"
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
        head="<|plamo:begin_tool_requests:plamo|>",
        tail="<|plamo:end_tool_requests:plamo|>",
        joint="",
        marks=("<|plamo:",),
        how="json_named",
        many="inside",
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
    "glm45": Tagged(
        open="<tool_call>%n\n",
        argument="<arg_key>%k</arg_key>\n<arg_value>%v</arg_value>\n",
        close="</tool_call>",
        marks=PAIR_MARKS,
    ),
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
        many="inside",
    ),
    # raw values with a type mark in the tag
    "deepseek_v32": _dsml("function_calls"),
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
}
"""Dialect id to shape. Dialects that are not here are written as their layout says; see `derive`."""

RESERVED: Final[dict[str, frozenset[str]]] = {
    "router": frozenset({"none"}),
    "functionary_v32": frozenset({"all"}),
}
"""Names that mean something else in a dialect, so that no tool can be called by them there."""
