"""Masking of secrets in everything that is recorded or shown. Bounded patterns, one pass."""

import re
from collections.abc import Iterable
from typing import Final

MASK: Final = "[redacted]"

_SHAPES: Final = re.compile(
    r"""
      (?P<whole>
        \b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,256}
      | \bgh[oprsu]_[A-Za-z0-9]{20,255} | \bgithub_pat_[A-Za-z0-9_]{20,255}
      | \bxox[abprs]-[A-Za-z0-9-]{10,250}
      | \bAKIA[0-9A-Z]{16}\b
      | \bAIza[0-9A-Za-z_-]{35}
      | \beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,2000}
      | -----BEGIN\ [A-Z ]{0,30}PRIVATE\ KEY-----[^-]{0,16000}(?:-----END[A-Z -]{0,60})?
      )
    | (?P<url>\b[a-z][a-z0-9+.-]{1,30}://[^\s/:@]{0,200}:)(?P<pass>[^\s/@]{1,200})(?=@)
    | (?P<name>\b(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|auth[_-]?token
        |client[_-]?secret|private[_-]?key|kata[_-]?sandi)["']?\s{0,3}[:=]\s{0,3}["']?)(?P<value>[^\s"',;&]{3,500})
    | (?P<bearer>\b(?:Bearer|Basic)\s{1,3})(?P<token>[A-Za-z0-9._~+/=-]{8,4000})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HINTS: Final = (
    *("://", "pass", "secret", "key", "token", "sandi", "bearer", "basic"),
    *("k-", "k_", "gh", "xox", "aiza", "akia", "eyj"),
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text with the given secret values and everything shaped like a credential masked."""
    for secret in secrets:
        if secret and secret in text:
            text = text.replace(secret, MASK)
    lowered = text.lower()
    for hint in _HINTS:  # a plain search for each is far cheaper than one pattern with fifteen branches
        if hint in lowered:
            return _SHAPES.sub(_mask, text)
    return text


def _mask(match: "re.Match[str]") -> str:
    return (match["url"] or match["name"] or match["bearer"] or "") + MASK
