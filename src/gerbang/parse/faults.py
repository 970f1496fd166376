"""What can be wrong with a call in a model's text, and the sentence that tells the model how to repair it."""

from typing import Final

CODES: Final[dict[str, str]] = {
    "CALL_NOT_JSON": "The arguments are not valid JSON ({why}). Send the call again with valid JSON: "
    "double quotes, no trailing commas, every bracket closed.",
    "CALL_TRUNCATED": "The answer ended inside this call, so it was not executed. Send the whole call again, "
    "with shorter arguments if the answer is limited.",
    "CALL_SHAPE": "This is not the shape of a call ({why}). Send the tool's name and an object of arguments, "
    'for example {{"name": "TOOL", "arguments": {{}}}} in the format you were told.',
    "CALL_AMBIGUOUS": "The call can be read in two ways ({why}). Send it again and give every key once.",
    "CALL_TOO_LARGE": "The call is too large ({why}). Send less text in one call.",
    "CALL_TOO_DEEP": "The arguments are nested too deeply ({why}). Send a flatter structure.",
    "CALL_NOT_STARTED": "A call mark is followed by something that is no call, so it was left in the text. "
    "To call a tool, put the whole call right behind the mark; to only show the mark, put it in back ticks.",
    "CALL_NOT_OFFERED": "The recipient {why} is not one of the offered tools. Call a tool by its exact name.",
    "CALL_NOT_LITERAL": "The arguments are not plain values ({why}). Use only text, numbers, true or false, "
    "lists and objects as arguments.",
}
"""Code to message; `{why}` is the particular reason."""


class Broken(Exception):
    """Inside the package only: this call cannot be read. Becomes a ParseFault, never leaves a reader."""

    def __init__(self, code: str, why: str = "") -> None:
        super().__init__(code)
        self.code = code
        self.why = why


def message_of(code: str, why: str) -> str:
    """Return the sentence for the model."""
    return CODES[code].format(why=why or "unreadable")


def why_of(code: str, message: str) -> str:
    """Return the particular reason inside the sentence of a fault; empty when there is none."""
    before, mark, after = CODES.get(code, "").format(why="\0").partition("\0")
    if not mark or not message.startswith(before) or not message.endswith(after):
        return ""
    return message[len(before) : len(message) - len(after)]
