"""Control tokens of chat templates, as they stand in text that nobody vouches for.

A model server turns the whole conversation into one prompt before it cuts it into tokens, and most of them
then take `<|im_end|>` in a tool's result for the real one: the result ends its turn and opens another.
Sources are the chat templates that the models ship with.
"""

import re
from typing import Final

# `<|…|>` with the bar of ASCII or of full width, and what has a form of its own. Each pattern begins with
# one plain character, which is what makes the search quick.
_ANGLED: Final = re.compile(
    r"<(?=[|｜][^<>|｜\n]{1,60}[|｜]>|\|(?:turn|channel|tool_call|tool_response)>"
    r"|(?:turn|channel|tool_call|tool_response)\|>|\|\"\|>|<SYS>>|</SYS>>|/s>|(?:seed:)?[be]os>|SPECIAL_\d"
    r"|(?:start|end)_(?:of_(?:turn|image)|function_(?:call|response))>)"
)
_SQUARE: Final = re.compile(
    r"\[(?=/?(?:INST|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|SYSTEM_PROMPT)\]|\|[a-z]{1,20}\|\]|e~\[)"
)
_CLOSING: Final = re.compile(r"\](?=~b\])")  # two of them may share a bracket


def harmless(text: str, *, as_json: bool = False) -> str:
    """Return the text with a space behind the first character of each control token in it.

    `as_json`: the text is JSON, and the character is escaped instead, so that the value is the same. Linear.
    """
    if "<" not in text and "[" not in text and "]" not in text:
        return text
    angle, square, close = (r"\\u003c", r"\\u005b", r"\\u005d") if as_json else ("< ", "[ ", "] ")
    return _CLOSING.sub(close, _SQUARE.sub(square, _ANGLED.sub(angle, text)))
