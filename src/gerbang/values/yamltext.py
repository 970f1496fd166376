"""YAML as a plain data format: no aliases, no tags, no key twice. Errors name file, line and column.

Words that YAML 1.1 reads as something else than what stands there (`yes`, `on`, `010`, `12:30`, dates)
are refused, with the advice to quote them: nothing is guessed about what a person meant.

Values are built from the parser's events, not from a tree of nodes: a file of thousands of documents is
read three times as fast, and what is refused is refused where it stands.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from gerbang.errors import ConfigError, GerbangError

_MAX_YAML_CHARS = 4_000_000
_MAX_DEPTH: Final = 100
_TAG: Final = "tag:yaml.org,2002:"
_NUMBER_ADVICE: Final = "write a plain decimal number, or quote it"
_ADVICE: Final = {
    "bool": "write true or false, or quote it",
    "int": _NUMBER_ADVICE,
    "float": _NUMBER_ADVICE,
    "timestamp": "quote dates and times",
}
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)?\.[0-9]*(?:[eE][-+]?[0-9]+)?")
_TRUE: Final = re.compile(r"(?i:true|false)")
_MAX_KNOWN: Final = 40
_NONE: Final = object()


def read_yaml(text: str, origin: str, error: type[GerbangError] = ConfigError) -> Any:
    """Return the value of a YAML document. `origin` names the file in errors; `error` is what to raise.

    Raises `error` for wrong syntax, repeated keys, anchors and aliases (the stuff of YAML bombs),
    tags, words with a hidden reading such as `yes` or `12:30`, and texts over four million characters.
    """
    documents = iter(read_yaml_documents(text, origin, error))
    _, value = next(documents, (1, None))
    line, _ = next(documents, (0, None))
    if line:
        raise error(f"{origin}: line {line}: a second document begins here; this file may hold only one.")
    return value


def read_yaml_documents(
    text: str, origin: str, error: type[GerbangError] = ConfigError
) -> Iterator[tuple[int, Any]]:
    """Yield the line where each document of a file begins, and its value. Raises like `read_yaml`."""
    import yaml  # costs 20 ms: only those who read YAML pay for it

    if len(text) > _MAX_YAML_CHARS:
        raise error(f"{origin}: the file is {len(text)} characters; the limit is {_MAX_YAML_CHARS}.")
    try:
        yield from _Builder(text, origin, error).documents()
    except yaml.MarkedYAMLError as bad:
        place = _place(bad.problem_mark) if bad.problem_mark else "?"
        began = (
            f" ({bad.context} from {_place(bad.context_mark)})" if bad.context_mark and bad.context else ""
        )
        raise error(
            f"{origin}: {place}: {bad.problem or 'this is not YAML'}{began}. Correct it there."
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as bad:
        raise error(f"{origin}: this is not usable YAML: {str(bad)[:200]}. Correct it.") from None


class _Builder:
    """Builds plain values from the events of one file."""

    def __init__(self, text: str, origin: str, error: type[GerbangError]) -> None:
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._next = loader(text).get_event
        self._readings = loader.yaml_implicit_resolvers
        self._yaml = yaml
        self._origin = origin
        self._error = error
        self._known: dict[str, Any] = {}

    def documents(self) -> Iterator[tuple[int, Any]]:
        yaml = self._yaml
        while True:
            event = self._next()
            if isinstance(event, yaml.StreamEndEvent):
                return
            if isinstance(event, yaml.DocumentStartEvent):
                yield event.start_mark.line + 1, self._value()

    def _value(self) -> Any:
        """Return the value of the events up to the end of the node that comes next."""
        yaml, take, known = self._yaml, self._next, self._known
        scalar, mapping = yaml.ScalarEvent, yaml.MappingStartEvent
        ends = frozenset((yaml.MappingEndEvent, yaml.SequenceEndEvent))
        above: list[tuple[Any, Any]] = []  # containers that are open, with the key that waits in each
        inside: Any = None
        key: Any = _NONE
        while True:
            event = take()
            kind = type(event)
            if kind is scalar:
                if event.tag is not None or event.anchor is not None:
                    self._refuse(event)
                value = event.value
                if not event.style:
                    word = value
                    if (value := known.get(word, _NONE)) is _NONE:
                        value = self._plain(event, word)
                if key is not _NONE:
                    inside[key], key = value, _NONE
                    continue
                if type(value) is str and type(inside) is dict and value not in inside:
                    key = value
                    continue
            elif kind in ends:
                value, (inside, key) = inside, above.pop()
            else:
                self._opens(event, type(inside) is dict and key is _NONE, len(above))
                above.append((inside, key))
                inside, key = ({} if kind is mapping else []), _NONE
                continue
            if inside is None:
                return value
            if type(inside) is list:
                inside.append(value)
            elif key is _NONE:
                key = self._key(event, value, inside)
            else:
                inside[key], key = value, _NONE

    def _opens(self, event: Any, as_key: bool, depth: int) -> None:
        """Refuse what must not begin here."""
        if type(event) is self._yaml.AliasEvent or event.anchor is not None or event.tag is not None:
            self._refuse(event)
        if as_key:
            raise self._wrong(event, "keys must be text, not a list or a mapping")
        if depth >= _MAX_DEPTH:
            raise self._wrong(event, f"the nesting is deeper than {_MAX_DEPTH} levels")

    def _key(self, event: Any, key: Any, inside: dict[str, Any]) -> str:
        if type(key) is not str:
            raise self._wrong(event, f"keys must be text; quote {str(key)[:80]!r}")
        if key in inside:
            raise self._wrong(event, f"the key {key[:80]!r} stands here twice")
        return key

    def _plain(self, event: Any, word: str) -> Any:
        """Return what an unquoted word says, and remember it."""
        readings = self._readings.get(word[:1], ())
        tag = next((tag for tag, pattern in readings if pattern.match(word)), "")
        value = self._read(event, word, tag.removeprefix(_TAG))
        if len(word) < _MAX_KNOWN:
            self._known[word] = value
        return value

    def _read(self, event: Any, word: str, kind: str) -> Any:
        if not kind:
            return word
        if kind == "null":
            return None
        if kind == "bool" and _TRUE.fullmatch(word):
            return word.lower() == "true"
        if kind == "int" and _INT.fullmatch(word):
            return int(word)
        if kind == "float" and _FLOAT.fullmatch(word):
            return float(word)
        advice = _ADVICE.get(kind, "quote it")
        raise self._wrong(event, f"{word[:80]!r} can be read in two ways; {advice}")

    def _refuse(self, event: Any) -> None:
        tagged = not isinstance(event, self._yaml.AliasEvent) and event.anchor is None
        raise self._wrong(event, "tags are not allowed" if tagged else "anchors and aliases are not allowed")

    def _wrong(self, event: Any, said: str) -> GerbangError:
        return self._error(f"{self._origin}: {_place(event.start_mark)}: {said}.")


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"
