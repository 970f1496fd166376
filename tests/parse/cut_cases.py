"""Answers that were cut, marks written twice or left over, drafts in thinking. Rows as in `own_cases`."""

# fmt: off
# ruff: noqa: E501 -- the answers of models stay on one line, as they are
from typing import Any

Case = tuple[str, str, str, list[tuple[str, dict[str, Any]]], dict[str, Any]]

P: tuple[str, dict[str, Any]] = ("ping", {})
S: tuple[str, dict[str, Any]] = ("sum", {"a": 1, "b": 2})
PJ = '{"name": "ping", "arguments": {}}'
SJ = '{"name": "sum", "arguments": {"a": 1, "b": 2}}'
OPEN = {"reasoning_open": True}
CUT = {"truncated": True}
GONE = {"f": ["CALL_TRUNCATED"], "o": CUT}
M3 = "]<]minimax[>["

CUT_VALUES: list[Case] = [
    ("qwen3_coder", "<tool_call>\n<function=write_note>\n<parameter=body>\na </tool_call>", "", [], GONE),
    ("qwen3_coder", "<tool_call>\n<function=write_note>\n<parameter=body>\na </function>\n", "", [], GONE),
    ("qwen3_coder", "<tool_call>\n<function=write_note>\n<parameter=body>\na\n</function>\n</tool_call>", "", [("write_note", {"body": "a"})], {"o": CUT}),
    ("seed_oss", "<seed:tool_call>\n<function=write_note>\n<parameter=body>\na </seed:tool_call>", "", [], GONE),
    ("glm45", "<tool_call>write_note\n<arg_key>body</arg_key>\n<arg_value>b</tool_call>", "", [], GONE),
    ("glm47", "<tool_call>write_note<arg_key>body</arg_key><arg_value>b</tool_call>", "", [], GONE),
    ("hunyuan_v3", "<tool_calls><tool_call>write_note<tool_sep><arg_key>body</arg_key><arg_value>b</tool_calls>", "", [], GONE),
    ("minimax_m2", '<minimax:tool_call><invoke name="write_note"><parameter name="body">b</invoke>', "", [], GONE),
    ("claude_xml", '<function_calls><invoke name="write_note"><parameter name="body">rm </function_calls>', "", [], GONE),
    ("minicpm5", '<function name="write_note"><param name="body">b</function>', "", [], GONE),
    ("step3", '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="write_note"><steptml:parameter name="body">b</steptml:invoke>', "", [], GONE),
    ("kimi_k3", '<|open|>tools<|sep|><|open|>call tool="write_note" index="1"<|sep|><|open|>argument key="body" type="string"<|sep|>b<|close|>call<|sep|>', "", [], GONE),
    ("deepseek_v32", '<｜DSML｜function_calls><｜DSML｜invoke name="write_note"><｜DSML｜parameter name="body" string="true">b</｜DSML｜invoke>', "", [], GONE),
    ("deepseek_v41", '<｜DSML｜ calls><｜DSML｜ invoke name="write_note"><｜DSML｜ parameter name="body" string="true">b</｜DSML｜ calls>', "", [], GONE),
    ("gemma4", '<|tool_call>call:write_note{path:<|"|>p<|"|>,body:<|"|>a <tool_call|> b', "", [], GONE),
    ("functiongemma", "<start_function_call>call:write_note{body:<escape>a <end_function_call> b", "", [], GONE),
]

HALF_MARKS: list[Case] = [
    ("mistral_args", "Hm.[TOOL_CALLS]sum[AR", "Hm.", [], GONE),
    ("mistral_args", "Hm.[TOOL_CALLS]sum[CALL_ID", "Hm.", [], GONE),
    ("gemma4", "Hm.<|tool_call>ca", "Hm.", [], GONE),
    ("functiongemma", "Hm.<start_function_call>call", "Hm.", [], GONE),
    ("react", "Hm.\nAction: su", "Hm.\n", [], GONE),
    ("react", "Hm.\nAction:", "Hm.\n", [], GONE),
    ("react", "Hm.\nAction: sum\nAct", "Hm.\n", [], GONE),
    ("react", "Hm.\nAction: nope", "Hm.\nAction: nope", [], {"o": CUT}),
    ("react", "Hm.\nAction: su", "Hm.\nAction: su", [], {}),
    ("functionary_v32", ">>>all\nHi\n>>>su", "Hi\n", [], GONE),
    ("functionary_v32", ">>>all\nHi\n>>>nope", "Hi\n>>>nope", [], {"o": CUT}),
    ("functionary_v32", ">>>all\nHi\n>>>sum\n", "Hi\n", [], {"f": ["CALL_TRUNCATED"]}),
    ("fenced_json", "Hm:\n```js", "Hm:\n", [], GONE),
    ("fenced_json", "Hm:\n```json\n", "Hm:\n", [], GONE),
    ("fenced_json", "Hm:\n```json\n", "Hm:\n```json\n", [], {}),
    ("fenced_json", "Hm:\n```\n", "Hm:\n```\n", [], {"o": CUT}),
    ("harmony", "Hm.<|channel|>commentary to=functions.su", "Hm.", [], GONE),
    ("harmony", "Hm.<|channel|>comm", "Hm.", [], {"o": CUT}),
    ("harmony", "Hm.<|end|><|start|>assistant<|chan", "Hm.", [], {"o": CUT}),
    ("harmony", "Hm.<|end|><|st", "Hm.", [], {"o": CUT}),
    ("harmony", "The <|channel|> mark and the final", "The <|channel|> mark and the final", [], {"o": CUT}),
    ("internlm", "Hm.<|action_start|>", "Hm.", [], GONE),
    ("gigachat3", "Hm.<|message_sep|>\n\nfunction call<|role_sep|>", "Hm.\n\n", [], GONE),
    ("minimax_m3", f"Hm.{M3}", "Hm.", [], GONE),
    ("kimi_k3", "Hm.<|open|>to", "Hm.", [], GONE),
    ("deepseek_v32", "Hm.<｜DSML｜func", "Hm.", [], GONE),
    ("gemma4", "Hm.<|channel>", "Hm.", [], {"o": CUT}),
]

TWICE: list[Case] = [
    ("glm47", "Hm. <tool_call><tool_call>ping</tool_call>", "Hm. ", [P], {}),
    ("glm45", "<tool_call>\n<tool_call>sum\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>", "", [("sum", {"a": 1})], {}),
    ("glm47", "<tool_call><tool_call> hm, no.", "<tool_call><tool_call> hm, no.", [], {"f": ["CALL_NOT_STARTED"] * 2}),
    ("qwen3_coder", "a <tool_call>\n<tool_call>\n<function=ping>\n</function>\n</tool_call>\n</tool_call>b", "a b", [P], {}),
    ("hermes", "<tool_call><tool_call><function=ping>\n</function></tool_call>", "", [P], {}),
    ("claude_xml", '<function_calls><function_calls><invoke name="ping"></invoke></function_calls>', "", [P], {}),
    ("mistral_args", "[TOOL_CALLS][TOOL_CALLS]ping[ARGS]{}", "", [P], {}),
    ("mistral_args", f"[TOOL_CALLS] [TOOL_CALLS] [{PJ}]", "", [P], {}),
    ("mistral_args", "[TOOL_CALLS][TOOL_CALLS] no, no.", "[TOOL_CALLS][TOOL_CALLS] no, no.", [], {"f": ["CALL_NOT_STARTED"] * 2}),
    ("gemma4", "<|tool_call><|tool_call>call:ping{}<tool_call|>", "", [P], {}),
    ("lfm2", "<|tool_call_start|><|tool_call_start|>[ping()]<|tool_call_end|>", "", [P], {}),
    ("hunyuan_v3", "<tool_calls><tool_calls><tool_call>ping</tool_call></tool_calls>", "", [P], {}),
    ("minimax_m3", f'{M3}<tool_call>{M3}<tool_call>{M3}<invoke name="ping">{M3}</invoke>{M3}</tool_call>', "", [P], {}),
]

LEFT_OVER: list[Case] = [
    ("hermes", f"<tool_call>{PJ}</tool_call>\n</tool_call>ok", "ok", [P], {}),
    ("qwen3_coder", "<tool_call>\n<function=ping>\n</function>\n</function>\n</tool_call>ok", "ok", [P], {}),
    ("jamba", f"<tool_calls>[{PJ}]</tool_calls></tool_calls>", "", [P], {}),
    ("step3", '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="ping"></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜><｜tool_calls_end｜>x', "x", [P], {}),
    ("gemma4", "<|tool_call>call:ping{}<tool_call|><tool_call|>x", "x", [P], {}),
    ("glm45", "Then </tool_call> ends it.", "Then </tool_call> ends it.", [], {}),
    ("mistral_json", f"[TOOL_CALLS][{PJ}][/TOOL_CALLS]", "", [P], {}),
    ("mistral_json", '[TOOL_CALLS][{"name": "ping", "arguments": {]}][/TOOL_CALLS]', "", [], {"f": ["CALL_NOT_JSON"]}),
    ("mistral_args", "[TOOL_CALLS]ping[ARGS]{}[/TOOL_CALLS] ok", " ok", [P], {}),
    ("gigachat3", f"Hm.<|message_sep|>\n\nfunction call<|role_sep|>\n{SJ}</s>", "Hm.\n\n", [S], {}),
    ("llama3_json", '{"name": "ping", "parameters": {}};', "", [P], {}),
    ("llama3_json", '{"name": "ping", "parameters": {}}; and', "; and", [P], {}),
    ("apertus", '<|tools_prefix|>[{"sum": {"a": 1, "b": 2}]<|tools_suffix|>x', "x", [], {"f": ["CALL_NOT_JSON"]}),
    ("apertus", '<|tools_prefix|>[{"ping": {}}, {"sum": {"a": 1, "b": 2}', "", [P], GONE),
    ("harmony", '<|channel|>commentary to=<|constrain|>json<|message|>{"a": 1}<|call|><|start|>assistant<|channel|>final<|message|>x', "x", [], {"f": ["CALL_NOT_OFFERED"]}),
    ("glm47", "<tool_call>write_note<arg_key>path</arg_key></tool_call>x", "x", [], {"f": ["CALL_SHAPE"]}),
    ("glm47", "<tool_call>write_note<arg_key>path</arg_key><arg_key>body</arg_key><arg_value>x</arg_value></tool_call>", "", [], {"f": ["CALL_SHAPE"]}),
    ("minimax_m3", f'{M3}<tool_call>{M3}<invoke name="mystery">{M3}<x>5{M3}</x>{M3}<z>{M3}<item>1{M3}</item>{M3}</z>{M3}</invoke>{M3}</tool_call>', "", [("mystery", {"x": "5", "z": ["1"]})], {}),
    ("minimax_m3", f'{M3}<tool_call>{M3}<invoke name="write_note">{M3}<extra>x{M3}</extra>{M3}</invoke>{M3}</tool_call>', "", [("write_note", {"extra": "x"})], {}),
]

DRAFTS: list[Case] = [
    ("xlam", f"Look first.\n  [{SJ}]\n", "\n", [S], {"r": "Look first.\n", "o": OPEN}),
    ("xlam", f"Look first.\n[{SJ}]\n</think>No.", "No.", [], {"r": f"Look first.\n[{SJ}]\n", "o": OPEN}),
    ("xlam", f"Look first.\n[{SJ}]", "", [], {"r": f"Look first.\n[{SJ}]", "f": ["CALL_TRUNCATED"], "o": OPEN | CUT}),
    ("bare_json", f"<think>Look first.\n{SJ}", "", [S], {"r": "Look first.\n"}),
    ("bare_json", '<think>x\n{"a": 1}\n[2]\n{"name": "bob", "age": 2}\ny', "", [], {"r": 'x\n{"a": 1}\n[2]\n{"name": "bob", "age": 2}\ny'}),
    ("fenced_json", f"Look.\n```json\n{SJ}\n```\n", "\n", [S], {"r": "Look.\n", "o": OPEN}),
    ("fenced_json", f"Look.\n```json\n{SJ}\n```\nNo</think>Hi", "Hi", [], {"r": f"Look.\n```json\n{SJ}\n```\nNo", "o": OPEN}),
    ("fenced_json", f"Look.\n```python\n{SJ}\n```\n", "", [], {"r": f"Look.\n```python\n{SJ}\n```\n", "o": OPEN}),
    ("tool_use", f"<think>Look.\n```\n{PJ}\n```", "", [P], {"r": "Look.\n"}),
    ("router", '<think>Look.\n{"tool": "ping", "input": {}}', "", [P], {"r": "Look.\n"}),
    ("auto", f"<think>Look.\n{SJ}", "", [S], {"r": "Look.\n"}),
]

TOKENS: list[Case] = [
    ("gemma4", "<|channel>thought<channel|>Hello", "Hello", [], {}),
    ("gemma4", "<|channel>thought\n<channel|>Hello<|channel>thought\n<channel|><channel|>", "Hello", [], {}),
    ("gemma4", "<|channel><|channel>thought\nhm<channel|>Hello", "Hello", [], {"r": "hm"}),
    ("glm45", "<tool_call>ping\n</tool_call><|role_end|>", "", [P], {}),
    ("granite", "<think>a</think><response>Hi</response>", "Hi", [], {"r": "a"}),
    ("granite", "a<response>Hi</response>", "Hi", [], {"r": "a", "o": OPEN}),
]

EXAMPLE = f"<tool_call>{PJ}</tool_call>"
FENCES: list[Case] = [
    ("hermes", f"Ex:\n~~~xml\n{EXAMPLE}\n~~~\nNow {EXAMPLE}", f"Ex:\n~~~xml\n{EXAMPLE}\n~~~\nNow ", [P], {}),
    ("hermes", f"a ~~~ b {EXAMPLE}", "a ~~~ b ", [P], {}),
    ("hermes", f"```xml\n~~~\n{EXAMPLE}\n```\nok", f"```xml\n~~~\n{EXAMPLE}\n```\nok", [], {}),
    ("hermes", f"~~~xml\n```\n{EXAMPLE}\n~~~\nok", f"~~~xml\n```\n{EXAMPLE}\n~~~\nok", [], {}),
    ("hermes", f"~~~~\n~~~\n{EXAMPLE}\n~~~~\n{EXAMPLE}", f"~~~~\n~~~\n{EXAMPLE}\n~~~~\n", [P], {}),
    ("hermes", f"```xml\n{EXAMPLE}\n``` more\n{EXAMPLE}\n```\nok", f"```xml\n{EXAMPLE}\n``` more\n{EXAMPLE}\n```\nok", [], {}),
    ("hermes", f"Some long words\nin lines\n~~~\n{EXAMPLE}", f"Some long words\nin lines\n~~~\n{EXAMPLE}", [], {}),
    ("hermes", f"<think>x\n~~~\n{EXAMPLE}\n~~~\n{EXAMPLE}", "", [P], {"r": f"x\n~~~\n{EXAMPLE}\n~~~\n"}),
    ("qwen3_coder", "~~~\n<tool_call>\n<function=ping>\n</function>\n</tool_call>\n~~~", "~~~\n<tool_call>\n<function=ping>\n</function>\n</tool_call>\n~~~", [], {}),
    ("claude_xml", '~~~xml\n<invoke name="ping">\n</invoke>\n~~~\n', '~~~xml\n<invoke name="ping">\n</invoke>\n~~~\n', [], {}),
]

CUTS = [*TOKENS, *FENCES, *CUT_VALUES, *HALF_MARKS, *TWICE, *LEFT_OVER, *DRAFTS]
