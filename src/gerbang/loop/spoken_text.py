"""What of a piece of Markdown is said aloud: its words, without marks, code, addresses and tags."""

import re
import unicodedata
from typing import Final

_ADDRESS: Final = re.compile(r"(?:(?:https?|ftp)://|\bwww\.)[^\s<>]*[^\s<>.,;:!?)\]}'\"’”»]", re.IGNORECASE)
_CALL: Final = re.compile(
    r"<(tool_calls?|tool_use|function_calls|tool_response|think)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL
)
_TAG: Final = re.compile(r"</?[A-Za-z!?|][^<>\n]*>|</?[A-Za-z][\w=:.\-]*\Z")
_LINK: Final = re.compile(r"(!?)\[([^\[\]\n]*)\]\(([^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)")
_REFERENCE: Final = re.compile(r"\[([^\[\]\n]*)\]\[[^\[\]\n]*\]")
_CODE: Final = re.compile(r"(`+)(.+?)\1(?!`)", re.DOTALL)
_WORDS: Final = re.compile(r"[^\W_]+(?:[ .'\-][^\W_]+)*")
_LINE_MARK: Final = re.compile(
    r"^[ \t]*(?:>[ \t]?|#{1,6}[ \t]+|[-*+•][ \t]+(?:\[[ xX]\][ \t]+)?)+", re.MULTILINE
)
_RULE: Final = re.compile(r"^[ \t]*(?:[-*_=][ \t]*){3,}$|^[ \t]*\|?[ \t:|-]*-{2,}[ \t:|-]*$", re.MULTILINE)
_STRONG: Final = re.compile(r"(?<!\\)(?:\*+|~~|(?<![^\W_])_+|_+(?![^\W_]))")
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_BEFORE_MARK: Final = re.compile(r"\s+([.,;:!?…])")
_EMPTY_PAIR: Final = re.compile(r"\(\s*\)|\[\s*\]|\"\s*\"|“\s*”")
_SPACE: Final = re.compile(r"\s+")
_LONGEST_CODE: Final = 40
_PICTURES: Final = 0x2600
"""Signs from here on are pictures; those before, such as ° and ©, belong to the text."""


def spoken_text(markdown: str) -> str:
    """Return the words of a piece of text on one line; empty when nothing of it can be said.

    Links keep their text, code keeps plain words only, addresses and tags go. The whole of a call's block
    goes, should one ever come. `[[`, which speech engines take for phonemes, never stays.
    """
    if not any(character.isalnum() for character in markdown):
        return ""
    text = _CALL.sub(" ", markdown)
    text = _CODE.sub(_said_of_code, text)
    text = _LINK.sub(lambda found: " " if found[1] else found[2], text)
    text = _REFERENCE.sub(r"\1", text)
    text = _TAG.sub(" ", text)
    text = _ADDRESS.sub(" ", text)
    text = _RULE.sub(" ", text)
    text = _LINE_MARK.sub("", text)
    text = _ESCAPED.sub(r"\1", _STRONG.sub("", text)).replace("`", "")
    text = text.strip().strip("|").replace("|", ", ")
    text = "".join(character for character in text if _is_said(character))
    text = text.replace("[", " ").replace("]", " ").replace("<", " ")
    text = _EMPTY_PAIR.sub(" ", text)
    text = _BEFORE_MARK.sub(r"\1", _SPACE.sub(" ", text)).strip()
    return text if any(character.isalnum() for character in text) else ""


def _said_of_code(found: "re.Match[str]") -> str:
    inner = found[2].strip()
    return inner if len(inner) <= _LONGEST_CODE and _WORDS.fullmatch(inner) else " "


def _is_said(character: str) -> bool:
    if character.isascii():
        return character >= " " or character in "\n\t"
    kind = unicodedata.category(character)
    if kind in ("So", "Sk", "Co", "Cn", "Cs", "Cf", "Cc", "Me"):
        return kind == "So" and ord(character) < _PICTURES
    return not "\ufe00" <= character <= "\ufe0f"  # which only say how a picture is drawn
