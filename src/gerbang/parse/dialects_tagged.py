"""Rows of the dialect table whose arguments are raw text in tags."""

from typing import Final

from gerbang.parse.dialect import Dialect, Encoding
from gerbang.parse.layout import Elements, Entry, PairTags, XmlTags

_THINK: Final = (("<think>", "</think>"),)
_CHATML: Final = ("<|im_end|>", "<|endoftext|>", "<|im_start|>")
_M3: Final = "]<]minimax[>["
_NAMESPACES: Final = ("", "antml:", "atem:")


def _functions(tag: str) -> XmlTags:
    return XmlTags(
        ((f"<{tag}>", f"</{tag}>"),),
        "<function=",
        "</function>",
        "<parameter=",
        "</parameter>",
        attributes=False,
        trim=True,
    )


def _invokes(*wrappers: str, space: str = "", inner: tuple[str, ...] = (), glue: str = "") -> XmlTags:
    """`<invoke name=…>` in any of `wrappers`, every tag name behind `space`."""
    return XmlTags(
        tuple((f"<{space}{glue}{tag}>", f"</{space}{glue}{tag}>") for tag in wrappers),
        f"<{space}{glue}invoke ",
        f"</{space}{glue}invoke>",
        f"<{space}{glue}parameter ",
        f"</{space}{glue}parameter>",
        inner=inner,
    )


def _xml(
    name: str,
    models: tuple[str, ...],
    layouts: tuple[XmlTags, ...],
    *,
    reasoning: tuple[tuple[str, str], ...] = _THINK,
    noise: tuple[str, ...] = (),
    match: tuple[str, ...] = (),
    encoding: Encoding = "X",
    marks: tuple[str, ...] = (),
    answers: tuple[str, ...] = (),
    header: tuple[str, str] | None = None,
) -> Dialect:
    entries: dict[str, Entry] = {}
    for layout in layouts:
        for mark in (*(opening for opening, _ in layout.wrappers), *marks, layout.call):
            entries.setdefault(mark, Entry(mark, layout))
    starts = tuple(mark for mark in entries)
    return Dialect(
        name,
        models,
        "typed_xml",
        encoding,
        starts,
        tuple(entries.values()),
        None,
        reasoning,
        noise,
        match,
        answers,
        header,
    )


GIGACHAT35: Final = _invokes("tool_calls", space="｜GCML｜")
"""GigaChat 3.5 writes as DeepSeek V4, under a name of its own."""
_QWEN: Final = _functions("tool_call")
_DSML: Final = ("tool_calls", "function_calls", "toolcalls", "tool_call", "tool", "calls")
_STEP3: Final = XmlTags(
    (
        ("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
        ("<｜tool_call_begin｜>", "<｜tool_call_end｜>"),
    ),
    "<steptml:invoke ",
    "</steptml:invoke>",
    "<steptml:parameter ",
    "</steptml:parameter>",
    inner=("<｜tool_call_begin｜>", "function<｜tool_sep｜>", "<｜tool_call_end｜>"),
)
_KIMI3: Final = XmlTags(
    (("<|open|>tools<|sep|>", "<|close|>tools<|sep|>"),),
    "<|open|>call ",
    "<|close|>call<|sep|>",
    "<|open|>argument ",
    "<|close|>argument<|sep|>",
    name_attributes=("tool", "name"),
    key_attributes=("key", "name"),
    tag_end="<|sep|>",
    escaped=True,
)
_MINICPM: Final = XmlTags(
    (), "<function ", "</function>", "<param ", "</param>", name_attributes=("name",), cdata=True
)


def _pairs(
    name: str, models: tuple[str, ...], layouts: dict[str, PairTags], match: tuple[str, ...]
) -> Dialect:
    """A row of the family of GLM: which mark begins which layout."""
    entries = tuple(Entry(mark, layout) for mark, layout in layouts.items())
    noise = ("<|endoftext|>", "<|user|>", "<|observation|>", "<|role_end|>")
    reasoning = (*_THINK, *_IFM_THINK) if "K2 Horizon" in models else _THINK
    if _SUFFIXED in layouts.values():
        reasoning = (*_THINK, (f"<think{_OPEN}>", f"</think{_OPEN}>"))
    return Dialect(name, models, "typed_pairs", "X", tuple(layouts), entries, None, reasoning, noise, match)


_IFM_THINK: Final = tuple(
    (f"<ifm|{word}>", f"</ifm|{word}>") for word in ("think", "think_fast", "think_faster")
)
_HUNYUAN: Final = PairTags(("<tool_calls>", "</tool_calls>"), "<tool_sep>")
_OPEN: Final = ":opensource"
_SUFFIXED: Final = PairTags(
    (f"<tool_calls{_OPEN}>", f"</tool_calls{_OPEN}>"), f"<tool_sep{_OPEN}>", suffix=_OPEN
)
"""Public checkpoints of Hunyuan write every tag with this suffix."""
_HORIZON: Final = PairTags(("<ifm|tool_calls>", "</ifm|tool_calls>"), space="ifm|")
_IQUEST: Final = PairTags(call="iquest_tool_call")

TAGGED: Final = (
    _xml(
        "qwen3_coder",
        (
            "Qwen3-Coder/-Next",
            "Qwen3.5",
            "Qwen3.6",
            "Qwen3.8",
            "Nemotron 3",
            "Nanbeige",
            "MiMo",
        ),
        (_QWEN,),
        noise=_CHATML,
        match=("qwen3-coder", "qwen3.5", "qwen3.6", "qwen3.8", "nemotron-3", "nanbeige", "mimo"),
    ),
    _xml(
        "step3p5",
        ("Step-3.5", "Step-3.7"),
        (_QWEN,),
        noise=_CHATML,
        match=("step-3.5", "step-3.7", "step3.5", "step3.7", "step3p5"),
    ),
    _xml(
        "seed_oss",
        ("Seed-OSS",),
        (_functions("seed:tool_call"),),
        reasoning=(("<seed:think>", "</seed:think>"), *_THINK),
        noise=("<seed:eos>",),
        match=("seed-oss",),
    ),
    _xml(
        "claude_xml",
        ("Claude as text", "proxies", "dots", "Muse"),
        tuple(
            _invokes("function_calls", "dots_function_call", "tool_calls", space=space)
            for space in _NAMESPACES
        ),
        reasoning=(("<thinking>", "</thinking>"), *_THINK),
        noise=("<|eom|>", "<|eot|>", "<|end_of_text|>"),
        match=("claude", "dots", "muse"),
        header=("<|start|>assistant", "<|eom|>"),
    ),
    _xml(
        "minimax_m2",
        ("M2", "M2.1", "M2.5", "M2.7"),
        (
            XmlTags(
                (("<minimax:tool_call>", "</minimax:tool_call>"),),
                "<invoke ",
                "</invoke>",
                "<parameter ",
                "</parameter>",
            ),
        ),
        noise=("[e~[",),
        match=("minimax-m2",),
    ),
    _xml(
        "step3",
        ("Step3",),
        (_STEP3,),
        match=("step3", "step-3"),
        marks=("<｜tool_call_begin｜>",),
    ),
    _xml(
        "deepseek_v32",
        ("V3.2",),
        (_invokes(*_DSML, space="｜DSML｜"),),
        encoding="X+",
        noise=("<｜end▁of▁sentence｜>",),
        match=("deepseek-v3.2",),
    ),
    _xml(
        "deepseek_v4",
        ("V4",),
        (_invokes(*_DSML, space="｜DSML｜"),),
        encoding="X+",
        noise=("<｜end▁of▁sentence｜>",),
        match=("deepseek-v4",),
    ),
    _xml(
        "deepseek_v41",
        ("V4.1",),
        (_invokes(*_DSML, space="｜DSML｜", glue=" "), _invokes(*_DSML, space="｜DSML｜")),
        encoding="X+",
        noise=("<｜end▁of▁sentence｜>",),
        match=("deepseek-v4.1",),
    ),
    _xml(
        "kimi_k3",
        ("Kimi K3",),
        (_KIMI3,),
        encoding="X+",
        reasoning=(("<|open|>think<|sep|>", "<|close|>think<|sep|>"), *_THINK),
        noise=(
            "<|open|>response<|sep|>",
            "<|close|>response<|sep|>",
            "<|open|>message<|sep|>",
            "<|close|>message<|sep|>",
            "<|im_end|>",
        ),
        match=("kimi-k3",),
        answers=("<|open|>response<|sep|>",),
    ),
    _xml("minicpm5", ("MiniCPM 5",), (_MINICPM,), noise=("<|im_end|>",), match=("minicpm5", "minicpm-5")),
    _pairs(
        "glm45",
        ("GLM-4.5", "GLM-4.6", "Poolside Laguna", "Spark 2.5", "Ling 3", "IQuest Q1", "K2 Horizon"),
        {
            "<tool_call>": PairTags(),
            "<iquest_tool_call>": _IQUEST,
            "<ifm|tool_calls>": _HORIZON,
            "<ifm|tool_call>": _HORIZON,
        },
        ("glm-4.5", "glm4.5", "glm-4.6", "glm4.6", "laguna", "ling-3", "spark-2.5", "iquest", "k2-horizon"),
    ),
    _pairs(
        "glm47", ("GLM-4.7", "GLM-5"), {"<tool_call>": PairTags()}, ("glm-4.7", "glm4.7", "glm-5", "glm5")
    ),
    _pairs(
        "hunyuan_v3",
        ("Hunyuan 3 (HY-V3)", "Hunyuan 4"),
        {
            "<tool_calls>": _HUNYUAN,
            "<tool_call>": _HUNYUAN,
            f"<tool_calls{_OPEN}>": _SUFFIXED,
            f"<tool_call{_OPEN}>": _SUFFIXED,
        },
        ("hunyuan-3", "hy-v3", "hunyuan-v3", "hy3", "hunyuan-4", "hy-v4", "hunyuan-v4", "hy4"),
    ),
    Dialect(
        "minimax_m3",
        ("M3",),
        "elements",
        "X",
        (f"{_M3}<tool_call>",),
        (Entry(f"{_M3}<tool_call>", Elements(_M3)), Entry(f"{_M3}<invoke", Elements(_M3))),
        reasoning=(("<mm:think>", "</mm:think>"), *_THINK),
        noise=("[e~[",),
        match=("minimax-m3",),
    ),
)
