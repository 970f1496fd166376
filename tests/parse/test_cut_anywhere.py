"""An answer that the token limit has cut, at every place: only whole calls, and nothing of one is shown."""

import re

import pytest

from gerbang.parse import dialects
from gerbang.parse.plan import Meaning, plan_of
from gerbang.parse.render import RenderError, render
from tests.parse.reading import TOOLS, read, same

DIALECTS = [row.id for row in dialects() if row.id != "auto"]
SAID = "Let me see.\n"
TOKEN = re.compile(r"[|｜]>|<\|\w+>")
MORE_MARKS = {
    "harmony": ("<|channel|>", "<|start|>assistant", "<|call|>"),
    "inkling": ("<|message_model|>", "<|content_text|>", "<|end_message|>"),
    "functionary_v32": (">>>",),
    "react": ("Action:", "Thought:"),
}


def marks(dialect: str) -> list[str]:
    """The marks of the dialect, of which half may be text."""
    return [*plan_of(dialect).meanings, *MORE_MARKS.get(dialect, ())]


def bodies(dialect: str) -> list[str]:
    """Texts of an argument: end marks of the dialect in it, at its start and at its end."""
    plan = plan_of(dialect)
    closes = [mark for mark, meaning in plan.meanings.items() if meaning is Meaning.CLOSE]
    shortest = min((*closes, "]"), key=len)
    return ["x\n y", *(f"a {mark} b" for mark in closes[:4]), shortest, f"c\n{shortest}"]


def answers(dialect: str) -> list[tuple[str, list[tuple[str, dict[str, object]]]]]:
    """Answers with the calls that are in them."""
    made: list[tuple[str, list[tuple[str, dict[str, object]]]]] = []
    for body in bodies(dialect):
        calls: list[tuple[str, dict[str, object]]] = [
            ("write_note", {"path": "p", "body": body}),
            ("sum", {"a": 1, "b": 2}),
        ]
        for chosen in (calls, calls[:1]):
            wanted = [{"name": name, "arguments": arguments} for name, arguments in chosen]
            try:
                made.append((render(wanted, dialect, tools=TOOLS), chosen))
            except RenderError:  # one call an answer, or a text that the format cannot write
                continue
            break
    return made


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_is_called_that_was_not_whole_and_nothing_of_it_is_shown(dialect: str) -> None:
    seen = answers(dialect)
    assert seen
    for text, calls in seen:
        whole = read([text], dialect)
        assert same(whole.calls, calls)
        for end in range(len(text)):
            part = read([text[:end]], dialect, truncated=True)
            assert same(part.calls, calls[: len(part.calls)]), text[:end]
            shown = part.content[len(re.match(r"\s*", part.content)[0]) :].rstrip()  # type: ignore[index]
            assert not shown or (
                TOKEN.search(shown) is None
                and text[:end].rstrip().endswith(shown)
                and any(mark.strip().startswith(shown) for mark in marks(dialect))
            ), text[:end]
