"""Labels for results, by the risk class of the tool, and the look for instructions hidden in data."""

import re
from functools import lru_cache
from typing import Final

from gerbang.values import RiskClass, Taint
from gerbang.values.taint import TrustLevel

_TRUST: Final[dict[RiskClass, TrustLevel]] = {
    RiskClass.COMPUTE: "trusted",
    RiskClass.READ_INTERNAL: "internal",
    RiskClass.DRAFT: "internal",
    RiskClass.WRITE_INTERNAL: "internal",
}
_SCAN_CHARS: Final = 64_000
_PHRASES: Final = (
    "ignore previous",
    "ignore all previous",
    "ignore the above",
    "disregard",
    "forget your instructions",
    "new instructions",
    "system prompt",
    "you are now",
    "you must now",
    "do not tell the user",
    "important message",
    "<tool_call>",
    "<tool_use>",
    "[tool_calls]",
    "<|im_start|>",
    "<|start|>",
    "abaikan instruksi",
    "abaikan semua",
    "instruksi baru",
    "jangan beri tahu",
)
_SHORT: Final = 400
_ANY_PHRASE: Final = re.compile("|".join(map(re.escape, _PHRASES)))


def trust_of(risk: RiskClass) -> TrustLevel:
    """Return how far results of tools of this class are trusted."""
    return _TRUST.get(risk, "external")


def label(tool: str, risk: RiskClass, text: str) -> Taint:
    """Return the label of a result whose text is `text`. Linear; looks at the first 64,000 characters."""
    trust = _TRUST.get(risk, "external")
    if trust == "trusted":
        return _label(tool, trust, False)
    return _label(tool, trust, looks_like_instructions(text))


def looks_like_instructions(text: str) -> bool:
    """Tell whether the text speaks to a model. A hint for policy and people, never a permission."""
    lowered = text[:_SCAN_CHARS].lower()
    if len(lowered) < _SHORT:  # one pattern is faster in a short text, plain searches in a long one
        return _ANY_PHRASE.search(lowered) is not None
    for phrase in _PHRASES:  # noqa: SIM110 - a plain loop costs half of a generator here
        if phrase in lowered:
            return True
    return False


@lru_cache(maxsize=4096)
def _label(tool: str, trust: TrustLevel, instructions: bool) -> Taint:
    return Taint(
        source=tool,
        trust_level=trust,
        untrusted_source=trust != "trusted",
        may_contain_instructions=instructions,
    )
