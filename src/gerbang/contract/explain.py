"""Why a document does not fit its structure: every wrong field with its path, in plain words.

The structure is read once more, slowly, after the fast reading refused the document.
"""

import difflib
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import inspect as kinds

_MAX_SHOWN: Final = 60
_MAX_LISTED: Final = 12


def explain(value: Any, structure: type) -> list[str]:
    """Return one sentence for each wrong field of a value that does not fit; empty when none is found."""
    return list(_wrong(value, _info(structure), ""))


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean NAME?)`, or what there is when that is little, or nothing."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f" (did you mean {near[0]}?)"
    return f"; there are: {', '.join(names)}" if 0 < len(names) <= _MAX_LISTED else ""


@functools.cache
def _info(structure: type) -> kinds.Type:
    return kinds.type_info(structure)


def _wrong(value: Any, kind: kinds.Type, path: str) -> Iterator[str]:
    if isinstance(kind, kinds.Metadata):
        kind = kind.type
    if isinstance(kind, kinds.StructType) and isinstance(value, Mapping):
        yield from _wrong_members(value, kind, path)
    elif isinstance(kind, kinds.DictType) and isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _wrong(item, kind.value_type, _join(path, key))
            else:
                yield f"{path or 'the top'}: keys must be text, not {_shown(key)}"
    elif isinstance(kind, _LISTS) and isinstance(value, list | tuple | set | frozenset):
        for index, item in enumerate(value):
            yield from _wrong(item, kind.item_type, f"{path}[{index}]")
    elif isinstance(kind, kinds.UnionType):
        branches = [branch for branch in kind.types if _same_shape(value, branch)]
        if len(branches) == 1:
            yield from _wrong(value, branches[0], path)
        elif not _fits(value, kind):
            yield f"{path or 'the document'}: must be {_said(kind)}, not {_shown(value)}"
    elif not _fits(value, kind):
        yield f"{path or 'the document'}: must be {_said(kind)}, not {_shown(value)}"


def _wrong_members(value: Mapping[Any, Any], kind: kinds.StructType, path: str) -> Iterator[str]:
    fields = {field.encode_name: field for field in kind.fields}
    for key in value:
        if key not in fields:
            name = str(key)[:_MAX_SHOWN]
            yield f"{_join(path, name)}: unknown field{nearest(name, fields)}"
    for name, field in fields.items():
        if name in value:
            yield from _wrong(value[name], field.type, _join(path, name))
        elif field.required:
            yield f"{_join(path, name)}: missing; it must be {_said(field.type)}"


_LISTS: Final = (kinds.ListType, kinds.VarTupleType, kinds.SetType, kinds.FrozenSetType)


def _join(path: str, name: str) -> str:
    return f"{path}.{name[:_MAX_SHOWN]}" if path else name[:_MAX_SHOWN]


def _same_shape(value: Any, kind: kinds.Type) -> bool:
    if isinstance(kind, kinds.Metadata):
        kind = kind.type
    shapes: tuple[tuple[type | tuple[type, ...], type | tuple[type, ...]], ...] = (
        ((kinds.StructType, kinds.DictType), Mapping),
        (_LISTS, (list, tuple, set, frozenset)),
        ((kinds.StrType, kinds.LiteralType, kinds.EnumType), str),
        (kinds.BoolType, bool),
        (kinds.NoneType, type(None)),
    )
    if isinstance(kind, kinds.IntType | kinds.FloatType):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return any(isinstance(kind, of) and isinstance(value, shape) for of, shape in shapes)


def _fits(value: Any, kind: kinds.Type) -> bool:
    if isinstance(kind, kinds.Metadata):
        return _fits(value, kind.type)
    if isinstance(kind, kinds.AnyType):
        return True
    if isinstance(kind, kinds.UnionType):
        return any(_fits(value, branch) for branch in kind.types)
    if not _same_shape(value, kind):
        return False
    if isinstance(kind, kinds.LiteralType):
        return value in kind.values
    if isinstance(kind, kinds.EnumType):
        return value in {member.value for member in kind.cls}
    if isinstance(kind, kinds.StrType):
        return (
            (kind.min_length or 0)
            <= len(value)
            <= (len(value) if kind.max_length is None else kind.max_length)
        )
    if isinstance(kind, kinds.IntType) and isinstance(value, float):
        return False
    if isinstance(kind, kinds.IntType | kinds.FloatType):
        return _within(value, kind)
    return True


def _within(value: float, kind: kinds.IntType | kinds.FloatType) -> bool:
    return (
        (kind.ge is None or value >= kind.ge)
        and (kind.gt is None or value > kind.gt)
        and (kind.le is None or value <= kind.le)
        and (kind.lt is None or value < kind.lt)
    )


def _said(kind: kinds.Type) -> str:
    """Return what a value of this type is, in words."""
    if isinstance(kind, kinds.Metadata):
        return _said(kind.type)
    if isinstance(kind, kinds.UnionType):
        return " or ".join(dict.fromkeys(_said(branch) for branch in kind.types))
    if isinstance(kind, kinds.LiteralType):
        return f"one of {', '.join(map(str, kind.values))}"
    if isinstance(kind, kinds.EnumType):
        return f"one of {', '.join(str(member.value) for member in kind.cls)}"
    if isinstance(kind, kinds.StrType):
        empty = ", not empty" if kind.min_length == 1 else ""
        return f"text{empty}" + (f", at most {kind.max_length} characters" if kind.max_length else "")
    if isinstance(kind, kinds.IntType | kinds.FloatType):
        return ("a whole number" if isinstance(kind, kinds.IntType) else "a number") + _range(kind)
    if isinstance(kind, _LISTS):
        item = kind.item_type.type if isinstance(kind.item_type, kinds.Metadata) else kind.item_type
        return "a list of words" if isinstance(item, kinds.StrType) else f"a list; each item {_said(item)}"
    for of, words in _WORDS:
        if isinstance(kind, of):
            return words
    return "something else"


def _range(kind: kinds.IntType | kinds.FloatType) -> str:
    low = (
        f" from {kind.ge:g}" if kind.ge is not None else f" above {kind.gt:g}" if kind.gt is not None else ""
    )
    high = (
        f" {'to' if low.startswith(' from') else 'and at most'} {kind.le:.0f}" if kind.le is not None else ""
    )
    return low + high


_WORDS: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    ((kinds.StructType, kinds.DictType), "a mapping"),
    (kinds.BoolType, "true or false"),
    (kinds.NoneType, "nothing"),
    (kinds.AnyType, "anything"),
)


def _shown(value: Any) -> str:
    """Return a short picture of a value of a definition."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set | frozenset):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        text = repr(value) if isinstance(value, str) else str(value)
        return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
    return f"a {type(value).__name__}"
