"""What a model is told of a tool: its description, and the advice of its contract in one paragraph."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from gerbang.contract.wire import wire_name
from gerbang.values import Contract
from gerbang.values.contract_parts import Guidance
from gerbang.values.model import ToolSpec

_LABELS: Final = {
    "en": {
        "when_to_use": "Use when",
        "when_not": "Not for",
        "effect": "Effect",
        "returns_text": "Returns",
        "limits": "Limits",
        "instead": "Instead",
        "old": "Deprecated; use",
    },
    "id": {
        "when_to_use": "Pakai bila",
        "when_not": "Bukan untuk",
        "effect": "Akibat",
        "returns_text": "Hasil",
        "limits": "Batas",
        "instead": "Sebagai gantinya",
        "old": "Sudah usang; pakai",
    },
}
_PARTS: Final = ("when_to_use", "when_not", "effect", "returns_text", "limits")
_PLAIN: Final = Guidance()


def plain_spec(contract: Contract) -> ToolSpec:
    """Return the tool with its bare description."""
    return ToolSpec(contract.name, wire_name(contract.name), contract.description, contract.parameters)


def full_spec(spec: ToolSpec, contract: Contract, known: Callable[[str], object], lang: str) -> ToolSpec:
    """Return the tool with the advice of its contract. Other tools are named only if `known` finds them.

    `lang` is the language of the labels, `en` or `id`; the advice itself is in the author's.
    """
    guidance, newer = contract.guidance, contract.replaced_by
    if guidance == _PLAIN and not contract.deprecated:
        return spec
    labels = _LABELS.get(lang, _LABELS["en"])
    said = [_sentence(labels[part], text) for part in _PARTS if (text := getattr(guidance, part))]
    others = [name for name in guidance.alternatives if known(name)]
    if others:
        said.append(_sentence(labels["instead"], ", ".join(others)))
    if contract.deprecated and newer is not None and known(newer):
        said.append(_sentence(labels["old"], newer))
    if guidance.nudge:
        said.append(guidance.nudge)
    return replace(spec, description="\n".join((spec.description, " ".join(said)))) if said else spec


def _sentence(label: str, text: str) -> str:
    text = " ".join(text.split())
    return f"{label}: {text}" if text.endswith((".", "!", "?")) else f"{label}: {text}."
