"""Masking of secrets in everything that is recorded or shown. Bounded patterns, one pass."""

import base64
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import Final

MASK: Final = "[redacted]"

_MIN_ENCODED: Final = 6
# Credentials that show by their own shape: what must be in the text, and the pattern. Every pattern begins
# with that literal, so that the search skips from one to the next.
_SHAPES: Final = tuple(
    (hint, re.compile(pattern))
    for hint, pattern in (
        ("sk-", r"sk-(?<![A-Za-z0-9_]sk-)(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{12,256}"),
        ("k_live_", r"[spr]k_live_(?<![A-Za-z0-9]........)[A-Za-z0-9]{10,250}"),
        ("k_test_", r"[spr]k_test_(?<![A-Za-z0-9]........)[A-Za-z0-9]{10,250}"),
        ("whsec_", r"whsec_[A-Za-z0-9]{16,250}"),
        ("gh", r"gh[oprsu]_(?<![A-Za-z0-9]....)[A-Za-z0-9]{20,255}"),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,255}"),
        ("glpat-", r"glpat-[A-Za-z0-9_-]{16,250}"),
        ("npm_", r"npm_[A-Za-z0-9]{30,250}"),
        ("pypi-", r"pypi-[A-Za-z0-9_-]{40,400}"),
        ("hf_", r"hf_(?<![A-Za-z0-9]hf_)[A-Za-z0-9]{30,250}"),
        ("dop_v1_", r"dop_v1_[a-f0-9]{40,250}"),
        ("GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,250}"),
        ("xox", r"xox[abeprs]-[A-Za-z0-9-]{10,250}"),
        ("xapp-", r"xapp-[A-Za-z0-9-]{10,250}"),
        ("AKIA", r"AKIA(?<![A-Za-z0-9]AKIA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
        ("ASIA", r"ASIA(?<![A-Za-z0-9]ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])"),
        ("AIza", r"AIza[0-9A-Za-z_-]{35}"),
        ("SG.", r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),
        (":AA", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
        ("eyJ", r"eyJ(?<![A-Za-z0-9_-]eyJ)[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,2000}"),
        (
            "PRIVATE KEY",
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!----)){0,16000}"
            r"(?:-----END[A-Z0-9 ]{0,60}(?:-----)?)?",
        ),
        ("://", r"(?P<kept>://[^\s/:@\"'<>]{0,200}:)[^\s/\"'<>]{1,200}(?=@)"),
    )
)

# Credentials that show by the word before them, in any case. Found in the text in small letters.
_NAMED: Final = (
    "password|passwd|passphrase|secret|kata[_-]?sandi|mnemonic|seed[_-]?phrase|api[_-]?key|access[_-]?key"
    "|private[_-]?key|account[_-]?key|signing[_-]?key|encryption[_-]?key|access[_-]?token|auth[_-]?token"
    "|refresh[_-]?token|session[_-]?token|bot[_-]?token|id[_-]?token|client[_-]?secret|connection[_-]?string"
)
_WORDS: Final = re.compile(f"authorization|bearer|basic|{_NAMED}")
_WORD_HINTS: Final = (
    *("authorization", "bearer", "basic", "pass", "secret", "sandi", "mnemonic", "phrase"),
    *("key", "token", "string"),
)
# One look at a short text costs less than forty; in a long one plain searches for each hint are faster.
_SHORT: Final = 400
_ANY_HINT: Final = re.compile(
    "|".join(re.escape(hint) for hint in sorted({hint.lower() for hint, _ in _SHAPES} | set(_WORD_HINTS)))
)
_SEPARATOR: Final = r"\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}"
_AFTER_HEADER: Final = re.compile(
    rf"(?P<kept>{_SEPARATOR}\\{{0,3}}[\"']?(?:(?:bearer|basic|token|digest|negotiate|apikey)\s{{1,3}})?)"
    r"[^\s\"',;\\]{3,4000}"
)
_AFTER_SCHEME: Final = re.compile(r"(?P<kept>\s{1,3})(?=[a-z._~+/-]{0,200}[0-9=])[a-z0-9._~+/=-]{16,4000}")
_AFTER_NAME: Final = re.compile(
    rf"(?P<kept>(?:(?:_|-|key)[a-z0-9_-]{{0,30}})?{_SEPARATOR}(?:(?P<open>\\{{0,3}}[\"'])(?=.))?)"
    r"(?(open)(?:(?!(?P=open))[^\r\n]){1,500}"
    r"|(?!(?:null|true|false|none)\b)(?:[^\s\"',;&\\}\])]|\\(?![\"'])){3,500})"
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text with the given secret values and everything shaped like a credential masked.

    Secret values are found in the writings of `redact_exact`. Linear in the text.
    """
    if secrets:
        text = redact_exact(text, secrets)
    lowered = text.lower()
    if len(text) < _SHORT and _ANY_HINT.search(lowered) is None:
        return text
    for hint, pattern in _SHAPES:
        if hint in text:
            text = pattern.sub(_mask, text)
    lowered = text.lower()
    for hint in _WORD_HINTS:
        if hint in lowered:
            return _mask_named(text, lowered if len(lowered) == len(text) else text.translate(_LOWER))
    return text


def redact_exact(text: str, secrets: Iterable[str]) -> str:
    """Return the text with the given secret values masked, and nothing else.

    Values are also found JSON-escaped (also inside JSON that is a text in JSON), HTML-escaped,
    percent-encoded (wholly or in part, also more than once), in hexadecimal, and inside base64 of either
    alphabet. Not found: a value that is cut into pieces, or written otherwise.
    """
    known = tuple(sorted({secret for secret in secrets if secret}))
    if not known:
        return text
    text = _known(known).sub(MASK, text)
    return _escaped(known).sub(MASK, text) if "%" in text or "\\" in text else text


def _mask(match: "re.Match[str]") -> str:
    return (match.groupdict().get("kept") or "") + MASK


def _mask_named(text: str, lowered: str) -> str:
    out: list[str] = []
    done = start = 0
    while (word := _WORDS.search(lowered, start)) is not None:
        start = word.end()
        tail = _tail(text, lowered, word)
        if tail is not None and not text.startswith(MASK, tail.end("kept")):
            out.append(text[done : tail.end("kept")] + MASK)
            done = start = tail.end()
    return text if not out else "".join([*out, text[done:]])


def _tail(text: str, lowered: str, word: "re.Match[str]") -> "re.Match[str] | None":
    """Return what stands behind a word that introduces a credential; None when it is part of another."""
    at = word.start()
    before = text[at - 1] if at else " "
    inside = before.isascii() and before.isalnum()
    if word[0] == "authorization":
        return None if inside else _AFTER_HEADER.match(lowered, word.end())
    if word[0] in ("bearer", "basic"):
        return None if inside or before == "_" else _AFTER_SCHEME.match(lowered, word.end())
    if inside and not (text[at].isupper() and not before.isupper()):  # `dbPassword` is a name, `mypass` not
        return None
    return _AFTER_NAME.match(lowered, word.end())


_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@lru_cache(maxsize=64)
def _known(secrets: tuple[str, ...]) -> "re.Pattern[str]":
    """Return a pattern of the secrets in every writing, the longest first."""
    writings = {re.escape(writing) for secret in secrets for writing in _writings(secret)}
    writings |= {_percent_pattern(secret) for secret in secrets}
    return re.compile("|".join(sorted(writings, key=len, reverse=True)))


def _writings(secret: str) -> set[str]:
    found = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    found.update({escape(secret), escape(secret, quote=False)})
    raw = secret.encode("utf-8", "surrogatepass")
    if len(raw) < _MIN_ENCODED:
        return found
    found.update({raw.hex(), raw.hex().upper()})
    for shift in range(3):  # a secret inside a longer text stands in one of three places of base64
        code = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
        inner = code[(0, 2, 3)[shift] : len(code) - (1 if (shift + len(raw)) % 3 else 0)]
        found.update({inner, inner.replace("+", "-").replace("/", "_")})
    return found


def _percent_pattern(secret: str) -> str:
    """Return a pattern of the secret as URLs write it: each encoder leaves other characters as they are."""
    return "".join(map(_percent, secret))


def _percent(char: str) -> str:
    if char.isascii() and (char.isalnum() or char in "-._~"):
        return re.escape(char)
    codes = "".join(
        f"%(?:{byte:02X}|{byte:02x})" if byte & 0xF > 9 or byte >> 4 > 9 else f"%{byte:02X}"
        for byte in char.encode("utf-8", "surrogatepass")
    )
    spaces = r"|\+" if char == " " else ""
    return f"(?:{codes}|{re.escape(char)}{spaces})"


@lru_cache(maxsize=64)
def _escaped(secrets: tuple[str, ...]) -> "re.Pattern[str]":
    """Return a pattern of the secrets as URLs in URLs and JSON in JSON write them, the longest first."""
    found = ("".join(map(_loose, secret)) for secret in sorted(secrets, key=len, reverse=True))
    return re.compile("|".join(found))


def _loose(char: str) -> str:
    """Return a pattern of one character as URLs and JSON write it, each as often as one is put into another.

    Every encoder leaves other characters as they are.
    """
    written = [rf"%(?:25){{0,3}}{_byte(byte)}" for byte in char.encode("utf-8", "surrogatepass")]
    forms = [re.escape(char), "".join(written)]
    if char in '"/':
        forms[0] = rf"\\{{0,7}}{char}"
    elif char == "\\":
        forms[0] = r"\\{1,8}"
    elif char == " ":
        forms.append(r"\+")
    elif not char.isascii():
        forms.append(rf"\\{{1,4}}u{ord(char):04x}")
    return f"(?:{'|'.join(forms)})"


def _byte(byte: int) -> str:
    upper, lower = f"{byte:02X}", f"{byte:02x}"
    return upper if upper == lower else f"(?:{upper}|{lower})"
