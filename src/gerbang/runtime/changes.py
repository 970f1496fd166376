"""What a person changed in a call, as lines that a person and a model may read."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import msgspec

from gerbang.audit.redact import MASK, redact
from gerbang.runtime.preview import visible

_LINES: Final = 20
_CHARS: Final = 200
_ABSENT: Final = object()
_WORDS: Final = {
    "en": ("Note: {by} changed the call before it ran: {changes}", "(none)", "(removed)", "and {more} more"),
    "id": (
        "Catatan: {by} mengubah panggilan sebelum dijalankan: {changes}",
        "(tidak ada)",
        "(dihapus)",
        "dan {more} lagi",
    ),
}


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any], masked: Collection[str], lang: str = "en"
) -> list[str]:
    """Return one line for each argument that differs: `to: "ana" → "bob"`. Masked values are not shown."""
    words = _WORDS[lang]
    lines = []
    for number, (path, old, new) in enumerate(_differences(before, after, "")):
        if number >= _LINES:
            more = sum(1 for _ in _differences(before, after, "")) - _LINES
            lines.append(words[3].format(more=more))
            break
        hidden = path.partition(".")[0] in masked
        shown = [
            empty if value is _ABSENT else MASK if hidden else _text(path, value)
            for value, empty in ((old, words[1]), (new, words[2]))
        ]
        lines.append(f"{visible(path[:_CHARS])}: {shown[0]} → {shown[1]}")
    return lines


def note(by: str, lines: list[str], lang: str = "en") -> str:
    """Return the sentence that tells the model what was changed."""
    return _WORDS[lang][0].format(by=visible(by), changes="; ".join(lines))


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        if msgspec.json.encode(before) != msgspec.json.encode(after):
            yield path, before, after
        return
    for name in [*before, *(name for name in after if name not in before)]:
        place = f"{path}.{name}" if path else str(name)
        if name not in after:
            yield place, before[name], _ABSENT
        elif name not in before:
            yield place, _ABSENT, after[name]
        else:
            yield from _differences(before[name], after[name], place)


def _text(path: str, value: Any) -> str:
    name = path.rpartition(".")[2]
    written = msgspec.json.encode(value).decode("utf-8", "replace")
    shown = redact(f"{name}: {written[: 2 * _CHARS]}").removeprefix(f"{name}: ")
    return visible(shown if len(shown) <= _CHARS else f"{shown[:_CHARS]}… [{len(written)}]")
