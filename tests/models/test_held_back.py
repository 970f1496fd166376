"""How much of an answer's text is held back while it streams: only what may still turn out to be markup."""

from typing import Any

import pytest

from gerbang import parse
from gerbang.runtime.events import AnswerDelta, ToolOpened
from gerbang.runtime.reading import AnswerReader
from gerbang.values.model import CallDelta, TextDelta

PROSE = 3 * (
    "The sky over Paris is 21 degrees warm today, and f(x) < 3 means that a > b; see [1] or {curly}. "
    "Action is needed: to buy rice, function calls, and so on.\n\n"
    "A second paragraph - with `code` and *stars*.\n"
)
TOOLS = [{"name": "get_weather", "parameters": {"type": "object", "properties": {}}}]
WAITS = {
    "gigachat3": len("function call"),  # its mark begins with words of English
    "auto": len("function call"),  # and it looks for all marks
    "cohere": len("Action"),
    "react": len("Action"),
    "phi4_mini": len("funct"),
    "functionary_v32": 4,
    "inkling": 3,
    "hyperclovax": 2,
}
"""The most characters that a dialect holds back of this text, where it is more than one."""


def lag(dialect: str, text: str) -> tuple[int, str]:
    """Feed a text by the letter. Returns the most characters that were held back, and what was shown."""
    shown = ""

    def emit(event: Any) -> None:
        nonlocal shown
        if type(event) is AnswerDelta:
            shown += event.text

    reader = AnswerReader(dialect, parse.Offered(TOOLS), emit)
    worst = 0
    for count, letter in enumerate(text, start=1):
        reader.feed(TextDelta(letter))
        worst = max(worst, count - len(shown))
    reader.finish()
    return worst, shown


@pytest.mark.parametrize("dialect", sorted({one.id for one in parse.dialects()} | {"auto"}))
def test_prose_streams(dialect: str) -> None:
    if dialect == "router":  # its answer is one decision: nothing of it is text before its end
        assert lag(dialect, PROSE) == (len(PROSE), PROSE)
        return
    worst, shown = lag(dialect, PROSE)
    assert shown == PROSE
    assert worst <= WAITS.get(dialect, 1)


def test_a_call_is_told_when_it_opens() -> None:
    seen: list[Any] = []
    reader = AnswerReader("hermes", parse.Offered(TOOLS), seen.append)
    for piece in ("Wait.\n<tool_call>\n", '{"name": "get_weather", "argu', 'ments": {"city": "Pa'):
        reader.feed(TextDelta(piece))
    assert [event.tool for event in seen if type(event) is ToolOpened] == ["get_weather"]
    structured = AnswerReader("auto", parse.Offered(TOOLS), seen.append)
    structured.feed(CallDelta(0, "get_weather"))
    structured.feed(CallDelta(0, None, '{"city'))
    assert [event.tool for event in seen if type(event) is ToolOpened] == ["get_weather"] * 2
