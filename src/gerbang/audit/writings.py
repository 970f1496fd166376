"""The writings of a secret, as patterns: how encoders put a text into JSON, HTML, URLs, hex and base64."""

import base64
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from typing import Final

_MIN_ENCODED: Final = 6
_END: Final = r"(?:;|%(?:25){0,3}3[Bb])"
_AMP: Final = rf"(?:&|%(?:25){{0,3}}26)(?:amp{_END}){{0,3}}"
_HASH: Final = r"(?:#|%(?:25){0,3}23)"
_BACKSLASH: Final = rf"(?:\\|%(?:25){{0,3}}5[Cc]|{_AMP}(?:{_HASH}(?:92|[xX]5[cC])|bsol){_END})"
_SHORT: Final = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_NAMED: Final = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos", "\xa0": "nbsp"}


@lru_cache(maxsize=64)
def known(secrets: tuple[str, ...]) -> "re.Pattern[str]":
    """Return a pattern of the secrets in their common writings, the longest first."""
    writings = {re.escape(writing) for secret in secrets for writing in _plain(secret)}
    writings |= {pattern for secret in secrets for text in _in_json(secret) for pattern in _base64(text)}
    writings |= {"".join(map(_percent, secret)) for secret in secrets}
    return re.compile("|".join(sorted(writings, key=len, reverse=True)))


@lru_cache(maxsize=64)
def twice(secrets: tuple[str, ...]) -> "re.Pattern[str] | None":
    """Return a pattern of the secrets in base64 or hexadecimal of either of these; None when all are too
    short for that.
    """
    found = {pattern for secret in secrets for pattern in _twice(secret)}
    return re.compile("|".join(sorted(found, key=len, reverse=True))) if found else None


@lru_cache(maxsize=64)
def escaped(secrets: tuple[str, ...]) -> "re.Pattern[str]":
    """Return a pattern of the secrets as JSON, HTML and URLs write them, one inside the other too.

    Each encoder leaves other characters as they are. Only a text with one of `%`, `&` and a backslash in it
    can hold such a writing. The longest secret comes first.
    """
    longest_first = sorted(secrets, key=len, reverse=True)
    return re.compile("|".join("".join(map(_loose, _runs(secret))) for secret in longest_first))


def longest(secret: str) -> int:
    """Return how many characters a writing takes at most: `%252525F0` for a byte, `&amp;#x0027;`."""
    return sum(9 if char.isalnum() else 24 for char in secret) + 36 * sum(
        not char.isascii() for char in secret
    )


def _plain(secret: str) -> set[str]:
    found = _in_json(secret)
    for raw in [text.encode("utf-8", "surrogatepass") for text in found]:
        if len(raw) >= _MIN_ENCODED:
            found |= {raw.hex(), raw.hex().upper()}
    return found | {escape(secret), escape(secret, quote=False)}


def _in_json(secret: str) -> set[str]:
    """Return the secret as it is and as JSON writes it: a whole document is what gets encoded, often."""
    return {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}


def _base64(secret: str) -> set[str]:
    """Return patterns of the secret in either alphabet; signs also as URLs and JSON write them."""
    raw, found = secret.encode("utf-8", "surrogatepass"), set()
    if len(raw) < _MIN_ENCODED:
        return set()
    for core in _cores(raw):
        inner = core.decode().replace("/", r"(?:\\{0,3}/|_|%2[Ff])")
        found.add(inner.replace("+", r"(?:\+|-|%2[Bb]|\\{1,3}u002[Bb])"))
    return found


def _twice(secret: str) -> set[str]:
    """Return patterns of the secret in base64 or hexadecimal that was put into either of these again."""
    raw = secret.encode("utf-8", "surrogatepass")
    if len(raw) < _MIN_ENCODED:
        return set()
    codes = {core.decode() for core in _cores(raw)}
    codes |= {code.replace("+", "-").replace("/", "_") for code in codes} | {raw.hex(), raw.hex().upper()}
    again = {code.encode().hex() for code in codes}
    return again | {code.upper() for code in again} | {one for code in codes for one in _base64(code)}


def _cores(raw: bytes) -> Iterator[bytes]:
    """Yield what of base64 is the bytes' own, in the three places that they can stand in inside more."""
    for shift in range(3):
        code = base64.b64encode(b"\0" * shift + raw).rstrip(b"=")
        yield code[(0, 2, 3)[shift] : len(code) - (1 if (shift + len(raw)) % 3 else 0)]


def _percent(char: str) -> str:
    """Return a pattern of one character as URLs write it: encoders differ in what they leave."""
    if char.isascii() and (char.isalnum() or char in "-._~"):
        return re.escape(char)
    codes = "".join(f"%{_digits(byte, 2)}" for byte in char.encode("utf-8", "surrogatepass"))
    spaces = r"|\+" if char == " " else ""
    return f"(?:{codes}|{re.escape(char)}{spaces})"


def _runs(secret: str) -> list[str]:
    """Return the characters; backslashes in a row are one part: no text is shared out among them."""
    return re.findall(r"\\+|[^\\]", secret, re.DOTALL)


def _loose(part: str) -> str:
    """Return a pattern of one character, or of a run of backslashes, in every writing."""
    if part[0] == "\\":
        return f"{_BACKSLASH}{{{len(part)},{8 * len(part)}}}"
    encoded = part.encode("utf-8", "surrogatepass")
    forms = [re.escape(part), "".join(rf"%(?:25){{0,3}}{_digits(byte, 2)}" for byte in encoded)]
    if part.isascii() and part.isalnum():
        return f"(?:{'|'.join(forms)})"
    if part == " ":
        forms.append(r"\+")
    name = f"|{_NAMED[part]}" if part in _NAMED else ""
    number = f"0{{0,5}}{ord(part)}|[xX]0{{0,5}}{_digits(ord(part), 1)}"
    forms.append(f"{_AMP}(?:{_HASH}(?:{number}){name}){_END}")
    if part in "\"'/":
        forms.append(f"{_BACKSLASH}{{1,7}}(?:{'|'.join(forms)})")
    elif part in _SHORT:
        forms.append(f"{_BACKSLASH}{{1,8}}{_SHORT[part]}")
    units = part.encode("utf-16-be", "surrogatepass")
    forms.append("".join(f"{_BACKSLASH}{{1,8}}u{_digits(unit, 4)}" for unit in _pairs(units)))
    if not part.isprintable() or not part.isascii():
        forms.append("".join(f"{_BACKSLASH}{{1,8}}x{_digits(byte, 2)}" for byte in encoded))
    return f"(?:{'|'.join(forms)})"


def _pairs(units: bytes) -> list[int]:
    return [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]


def _digits(number: int, width: int) -> str:
    """Return a pattern of a number in hexadecimal, in capital or small letters."""
    text = f"{number:0{width}x}"
    return "".join(digit if digit.isdigit() else f"[{digit.upper()}{digit}]" for digit in text)
