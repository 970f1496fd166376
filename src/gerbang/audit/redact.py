"""Masking of secrets in everything that is recorded or shown. Bounded patterns, one pass."""

import re
from collections.abc import Iterable
from typing import Final

from gerbang.audit import broken, nested
from gerbang.audit.writings import escaped, known, longest

MASK: Final = "[redacted]"

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

    Values are also found JSON-escaped, HTML-escaped and percent-encoded (wholly or in part, several times,
    and one inside the other), in hexadecimal, and inside base64 of either alphabet, the last two also as JSON
    writes them and broken into lines of 16 characters or more; or in either of them that was put into either
    again. Not found: a value that is cut into pieces in another way, or written otherwise.
    """
    values = tuple(sorted({secret for secret in secrets if secret}))
    if not values:
        return text
    pattern = known(values)
    text = pattern.sub(MASK, broken.masked(text, pattern, MASK))  # lines first, while they are whole
    text = nested.masked(text, values, MASK)
    return escaped(values).sub(MASK, text) if "%" in text or "\\" in text or "&" in text else text


def longest_writing(secrets: Iterable[str]) -> int:
    """Return how many characters a writing of one of these values can take at most."""
    return max(map(longest, secrets), default=0)


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
