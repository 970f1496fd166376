"""Every mark of the dialect table does what the table says: one text is made from each row and mark.

The texts are made from the table, so a new row or mark is read here without being listed. Formats whose
machine has marks of its own (harmony, react, Functionary's recipients, blocks) must show each in a case.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from gerbang.parse import blocks, dialects, harmony, react, recipients
from gerbang.parse.layout import Elements, Entry, JsonTags, NamedJson, Notation, PairTags, Python, XmlTags
from gerbang.parse.plan import FENCE, TILDES, Meaning, closes_of, plan_of
from tests.parse.own_cases import CASES
from tests.parse.reading import read

OWN_MACHINES = {"harmony", "react", "recipients", "blocks", "auto"}
ROWS = [row for row in dialects() if row.family not in OWN_MACHINES]
IDS = [row.id for row in ROWS]
PING: tuple[str, dict[str, object]] = ("ping", {})
GRAMMARS = {
    "mistral": "ping[ARGS]{}",
    "function_tag": "ping>{}",
    "deepseek": "ping<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
    "kimi": "functions.ping:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "plamo": "<|plamo:begin_tool_name:plamo|>ping<|plamo:end_tool_name:plamo|>"
    "<|plamo:begin_tool_arguments:plamo|>{}<|plamo:end_tool_arguments:plamo|>",
}
INNER = {
    "deepseek": "<｜tool▁call▁begin｜>",
    "kimi": "<|tool_call_begin|>",
    "plamo": "<|plamo:begin_tool_request:plamo|>",
}


def body(entry: Entry) -> str:
    """What follows the entry's mark: a call of `ping`, without the end mark of the block."""
    layout = entry.layout
    match layout:
        case JsonTags():
            one = '{"ping": {}}' if layout.keyed else '{"name": "ping", "arguments": {}}'
            return f"[{one}]"[layout.keep and 1 :] if entry.mark.endswith("[") else f"[{one}]"
        case NamedJson():
            inner = INNER.get(layout.grammar, "")
            return ("" if inner in ("", entry.mark) else inner) + GRAMMARS[layout.grammar]
        case XmlTags():
            opening = "" if entry.mark == layout.call else layout.call
            name = f'{layout.name_attributes[0]}="ping"' if layout.attributes else "ping"
            return f"{opening}{name}{layout.tag_end}{layout.call_close}"
        case PairTags():
            opening = "" if entry.mark == layout.opening(layout.call) else layout.opening(layout.call)
            return f"{opening}ping{layout.sep}{layout.closing(layout.call)}"
        case Elements():
            opening = "" if entry.mark.endswith("invoke") else f"{layout.prefix}<invoke"
            return f'{opening} name="ping">{layout.prefix}</invoke>'
        case Python():
            return "[ping()]"
        case Notation():
            return "call:ping{}"


def ends(entry: Entry) -> tuple[str, ...]:
    """The marks that may follow the body."""
    layout = entry.layout
    if isinstance(layout, XmlTags):
        own = dict(layout.wrappers).get(entry.mark)
        return (own,) if own else ()
    if isinstance(layout, PairTags):
        return (layout.wrapper[1],) if layout.wrapper and entry.mark == layout.wrapper[0] else ()
    if isinstance(layout, Elements):
        return () if entry.mark.endswith("invoke") else (f"{layout.prefix}</tool_call>",)
    if isinstance(layout, NamedJson) and entry.mark in INNER.values():
        return ()
    return closes_of(layout)


def both(text: str, dialect: str, **options: Any) -> Any:
    """Read whole and char by char."""
    whole = read([text], dialect, **options)
    assert read(list(text), dialect, **options) == whole
    return whole


def entries(dialect: str) -> Iterator[Entry]:
    for found in plan_of(dialect).entries.values():
        yield from found


@pytest.mark.parametrize("dialect", IDS)
def test_every_mark_does_what_the_table_says(dialect: str) -> None:
    plan = plan_of(dialect)
    covered: set[str] = set()
    for entry in entries(dialect):
        for end in (*ends(entry), ""):
            text = f"{entry.mark}{body(entry)}{end}"
            result = both(f"{text}\nx", dialect)
            assert result.calls == [PING], text
            assert result.content == "\nx", text
            assert result.faults == [], text
            covered |= {mark for mark in plan.meanings if mark in text}
    for opening, close in plan.closes.items():
        result = both(f"{opening}t{close}x", dialect)
        assert (result.reasoning, result.content) == ("t", "x"), opening
        covered |= {opening, close}
    for mark, meaning in plan.meanings.items():
        if meaning in (Meaning.NOISE, Meaning.END, Meaning.THINK_END, Meaning.HEADER):
            assert both(f"a{mark}", dialect).content == "a", mark
            covered.add(mark)
        elif meaning is Meaning.CLOSE:  # without a block it is a word like any other
            assert both(f"a{mark}b", dialect).content == f"a{mark}b", mark
            covered.add(mark)
    first = next(iter(entries(dialect)), None)
    for fence in (FENCE, TILDES):
        example = (
            "x" if first is None else f"{first.mark}{body(first)}"
        )  # of no account where it is the format
        text = f"{fence}py\n{example}\n{fence}\n"
        result = both(text, dialect)
        assert result.calls == [], text
        assert result.content == text
        covered.add(fence)
    assert set(plan.meanings) - covered == set()


@pytest.mark.parametrize("dialect", IDS)
def test_no_mark_is_the_beginning_of_another(dialect: str) -> None:
    """Otherwise what is found would depend on how the text arrives."""
    marks = sorted(plan_of(dialect).meanings)
    assert [(a, b) for a in marks for b in marks if a != b and b.startswith(a)] == []


MACHINES = {
    "harmony": (*harmony._ENDS, harmony._START, harmony._CHANNEL, harmony._MESSAGE, harmony._CONSTRAIN),
    "react": (react._THOUGHT, react._ACTION, react._INPUT, react._FINAL, react._OBSERVATION),
    "functionary_v32": (recipients._MARK, recipients._ALL),
    "inkling": (blocks._MODEL, *blocks._KINDS, *blocks._ENDS),
}


@pytest.mark.parametrize("dialect", MACHINES)
def test_every_mark_of_a_machine_stands_in_a_case(dialect: str) -> None:
    text = "\n".join(case[1] for case in CASES if case[0] == dialect)
    assert [mark for mark in MACHINES[dialect] if mark not in text] == []


def test_every_row_is_looked_at() -> None:
    assert {row.id for row in dialects()} == {*IDS, *MACHINES, "auto"}
