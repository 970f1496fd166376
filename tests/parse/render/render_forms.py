"""What each dialect's text looks like for the same calls, written by hand from the formats' descriptions."""

PING = {"name": "ping", "arguments": {}}
LAMP = {"name": "set_lamp", "arguments": {"room": "den", "level": 4}}
SET = [PING, LAMP]
TOOLS = [
    {"name": "ping", "description": "Say hello.", "parameters": {"type": "object", "properties": {}}},
    {
        "name": "set_lamp",
        "description": "Set a lamp. Use for light only.",
        "parameters": {
            "type": "object",
            "required": ["room"],
            "properties": {
                "room": {"type": "string", "description": "Which room."},
                "level": {"type": "integer", "minimum": 0, "maximum": 100},
                "on": {"type": "boolean"},
            },
        },
    },
]

_P = '{"name": "ping", "arguments": {}}'
_L = '{"name": "set_lamp", "arguments": {"room": "den", "level": 4}}'
_LA = '{"room": "den", "level": 4}'
_M3 = "]<]minimax[>["


def _qwen(tag: str) -> str:
    return (
        f"<{tag}>\n<function=ping>\n</function>\n</{tag}>\n"
        f"<{tag}>\n<function=set_lamp>\n<parameter=room>\nden\n</parameter>\n<parameter=level>\n4\n</parameter>\n"
        f"</function>\n</{tag}>"
    )


def _invokes(tag: str) -> str:
    return (
        f'<{tag}>\n<invoke name="ping">\n</invoke>\n<invoke name="set_lamp">\n'
        f'<parameter name="room">den</parameter>\n'
        f'<parameter name="level">4</parameter>\n</invoke>\n</{tag}>'
    )


def _plamo(name: str, arguments: str) -> str:
    return (
        f"<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>{name}<|plamo:end_tool_name:plamo|>"
        f"<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{arguments}"
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>"
    )


def _dsml(block: str, d: str = "｜DSML｜") -> str:
    return (
        f'<{d}{block}>\n<{d}invoke name="ping">\n</{d}invoke>\n<{d}invoke name="set_lamp">\n'
        f'<{d}parameter name="room" string="true">den</{d}parameter>\n'
        f'<{d}parameter name="level" string="false">4</{d}parameter>\n</{d}invoke>\n</{d}{block}>'
    )


TWO = {
    "hermes": f"<tool_call>\n{_P}\n</tool_call>\n<tool_call>\n{_L}\n</tool_call>",
    "granite4": f"<tool_call>\n{_P}\n</tool_call>\n<tool_call>\n{_L}\n</tool_call>",
    "ernie45": f"<tool_call>\n{_P}\n</tool_call>\n<tool_call>\n{_L}\n</tool_call>",
    "longcat": f"<longcat_tool_call>\n{_P}\n</longcat_tool_call>\n"
    f"<longcat_tool_call>\n{_L}\n</longcat_tool_call>",
    "tool_use": f"<tool_use>{_P}</tool_use>\n<tool_use>{_L}</tool_use>",
    "minimax_m1": f"<tool_calls>\n{_P}\n{_L}\n</tool_calls>",
    "internlm": '<|action_start|><|plugin|>\n{"name": "ping", "parameters": {}}<|action_end|>\n'
    f'<|action_start|><|plugin|>\n{{"name": "set_lamp", "parameters": {_LA}}}<|action_end|>',
    "granite_20b_fc": f"<function_call> {_P}\n<function_call> {_L}",
    "llama3_json": f'{{"name": "ping", "parameters": {{}}}}; {{"name": "set_lamp", "parameters": {_LA}}}',
    "bare_json": f"[{_P}, {_L}]",
    "fenced_json": f"```json\n[{_P}, {_L}]\n```",
    "mistral_json": f"[TOOL_CALLS] [{_P}, {_L}]",
    "hunyuan_a13b": f"<tool_calls>[{_P}, {_L}]</tool_calls>",
    "jamba": f"<tool_calls>[{_P}, {_L}]</tool_calls>",
    "nemotron_v2": f"<TOOLCALL>[{_P}, {_L}]</TOOLCALL>",
    "granite": f"<|tool_call|>[{_P}, {_L}]",
    "phi4_mini": f"functools[{_P}, {_L}]",
    "xlam": f"[{_P}, {_L}]",
    "apertus": f'<|tools_prefix|>[{{"ping": {{}}}}, {{"set_lamp": {_LA}}}]<|tools_suffix|>',
    "cohere": '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "ping", "parameters": {}},\n'
    f'    {{"tool_call_id": "1", "tool_name": "set_lamp", "parameters": {_LA}}}\n]<|END_ACTION|>',
    "mistral_args": f"[TOOL_CALLS]ping[ARGS]{{}}[TOOL_CALLS]set_lamp[ARGS]{_LA}",
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n{}\n```"
    "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>set_lamp\n"
    f"```json\n{_LA}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek_v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
    f"<｜tool▁call▁begin｜>set_lamp<｜tool▁sep｜>{_LA}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:0<|tool_call_argument_begin|>{}"
    "<|tool_call_end|><|tool_call_begin|>functions.set_lamp:1<|tool_call_argument_begin|>"
    f"{_LA}<|tool_call_end|><|tool_calls_section_end|>",
    "plamo3": f"<|plamo:begin_tool_requests:plamo|>{_plamo('ping', '{}')}{_plamo('set_lamp', _LA)}"
    "<|plamo:end_tool_requests:plamo|>",
    "hyperclovax": f" -> tool/function_call\n[{_P}, {_L}]",
    "inkling": '<|message_model|><|content_invoke_tool_json|>{"name": "ping", "args": {}}<|end_message|>'
    f'<|message_model|><|content_invoke_tool_json|>{{"name": "set_lamp", "args": {_LA}}}<|end_message|>',
    "harmony": "<|channel|>commentary to=functions.ping <|constrain|>json<|message|>{}<|call|>"
    f"<|start|>assistant<|channel|>commentary to=functions.set_lamp <|constrain|>json"
    f"<|message|>{_LA}<|call|>",
    "functionary_v31": f"<function=ping>{{}}</function><function=set_lamp>{_LA}</function>",
    "functionary_v32": f">>>ping\n{{}}\n>>>set_lamp\n{_LA}",
    "qwen3_coder": _qwen("tool_call"),
    "step3p5": _qwen("tool_call"),
    "seed_oss": _qwen("seed:tool_call"),
    "claude_xml": _invokes("function_calls"),
    "minimax_m2": _invokes("minimax:tool_call"),
    "glm45": "<tool_call>ping\n</tool_call>\n<tool_call>set_lamp\n<arg_key>room</arg_key>\n"
    "<arg_value>den</arg_value>\n<arg_key>level</arg_key>\n<arg_value>4</arg_value>\n</tool_call>",
    "glm47": "<tool_call>ping</tool_call><tool_call>set_lamp<arg_key>room</arg_key><arg_value>den</arg_value>"
    "<arg_key>level</arg_key><arg_value>4</arg_value></tool_call>",
    "hunyuan_v3": "<tool_calls><tool_call>ping<tool_sep></tool_call><tool_call>set_lamp<tool_sep>"
    "<arg_key>room</arg_key><arg_value>den</arg_value><arg_key>level</arg_key><arg_value>4</arg_value>"
    "</tool_call></tool_calls>",
    "minimax_m3": f'{_M3}<tool_call>\n{_M3}<invoke name="ping">{_M3}</invoke>\n'
    f'{_M3}<invoke name="set_lamp">{_M3}<room>den{_M3}</room>{_M3}<level>4{_M3}</level>{_M3}</invoke>\n'
    f"{_M3}</tool_call>",
    "minicpm5": '<function name="ping"></function>\n<function name="set_lamp"><param name="room">den</param>'
    '<param name="level">4</param></function>',
    "step3": "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>"
    '<steptml:invoke name="ping">\n'
    "</steptml:invoke><｜tool_call_end｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>"
    '<steptml:invoke name="set_lamp">\n<steptml:parameter name="room">den</steptml:parameter>\n'
    '<steptml:parameter name="level">4</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n'
    "<｜tool_calls_end｜>",
    "deepseek_v32": _dsml("function_calls"),
    "deepseek_v4": _dsml("tool_calls"),
    "deepseek_v41": _dsml("calls", "｜DSML｜ "),
    "kimi_k3": '<|open|>tools<|sep|><|open|>call tool="ping" index="1"<|sep|><|close|>call<|sep|>'
    '<|open|>call tool="set_lamp" index="2"<|sep|><|open|>argument key="room" type="string"<|sep|>den'
    '<|close|>argument<|sep|><|open|>argument key="level" type="number"<|sep|>4<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|>",
    "pythonic": '[ping(), set_lamp(room="den", level=4)]',
    "olmo3": '<function_calls>\nping()\nset_lamp(room="den", level=4)\n</function_calls>',
    "lfm2": '<|tool_call_start|>[ping(), set_lamp(room="den", level=4)]<|tool_call_end|>',
    "functiongemma": "<start_function_call>call:ping{}<end_function_call>"
    "<start_function_call>call:set_lamp{room:<escape>den<escape>,level:4}<end_function_call>",
    "gemma4": "<|tool_call>call:ping{}<tool_call|>"
    '<|tool_call>call:set_lamp{room:<|"|>den<|"|>,level:4}<tool_call|>',
}
"""`SET` in every dialect that holds two calls in an answer."""

ONE = {
    "gigachat3": f"<|message_sep|>\n\nfunction call<|role_sep|>\n{_L}",
    "router": f'{{"tool": "set_lamp", "input": {_LA}}}',
    "react": f"Action: set_lamp\nAction Input: {_LA}",
    "bare_json": _L,
    "fenced_json": f"```json\n{_L}\n```",
}
"""`LAMP` alone, where that differs or is all that the dialect holds."""
