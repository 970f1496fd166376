"""Places in a policy: what an error message calls them, and how they are found again in the text."""

from collections.abc import Iterable
from typing import Any, Final

from gerbang.errors import PolicyError

Path = tuple[str | int, ...]
_SHOWN: Final = 80


class MisplacedError(PolicyError):
    """An error at a place of a policy. `path` leads there from the top of the file, `said` is the message
    without the file's name."""

    def __init__(self, origin: str, path: Path, said: str) -> None:
        super().__init__(f"{origin}: {said}")
        self.origin = origin
        self.path = path
        self.said = said


class Where:
    """A place: its file, the way to it, and its name in messages."""

    __slots__ = ("label", "origin", "path")

    def __init__(self, origin: str, path: Path = (), label: str = "") -> None:
        self.origin = origin
        self.path = path
        self.label = label

    def at(self, key: str | int, label: str) -> "Where":
        """Return the place below `key`; `label` is added to the name, with the separator it begins with."""
        return Where(self.origin, (*self.path, key), (self.label + label).removeprefix(", "))

    def unknown(self, what: str, name: object, known: Iterable[str]) -> MisplacedError:
        """Return the error for a name that is not among the known ones, with the nearest of them."""
        import difflib  # only on the way to an error

        names = sorted(known)
        near = difflib.get_close_matches(str(name)[:_SHOWN], names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return self.error(f"unknown {what} {short(str(name))}.{hint} Known: {', '.join(names)}.")

    def error(self, said: str) -> MisplacedError:
        """Return the error to raise for this place."""
        return MisplacedError(self.origin, self.path, f"{self.label}: {said}" if self.label else said)


def short(value: object) -> str:
    """Return a foreign value as a message may quote it."""
    return repr(str(value)[:_SHOWN]) if isinstance(value, str) else repr(value)[:_SHOWN]


def located(error: MisplacedError, text: str) -> PolicyError:
    """Return the error with line and column. `text` is the YAML that the policy was read from."""
    found = Places(text).of(error.path)
    if found is None:
        return error
    return PolicyError(f"{error.origin}: line {found[0]}, column {found[1]}: {error.said}")


class Places:
    """Where things stand in a YAML text that has been read before, without aliases and within bounds."""

    def __init__(self, text: str) -> None:
        import yaml  # only on the way to an error

        loader = getattr(
            yaml, "CSafeLoader", yaml.SafeLoader
        )  # the one that read it: they differ at the edges
        self._top: Any = yaml.compose(text, loader)

    def of(self, path: Path) -> tuple[int, int] | None:
        """Return line and column of what lies at a path, or of the nearest thing above it, if any."""
        node = self._top
        for step in path:
            below = None if node is None else _below(node, step)
            if below is None:
                break
            node = below
        return None if node is None else (node.start_mark.line + 1, node.start_mark.column + 1)


def _below(node: Any, step: str | int) -> Any:
    """Return the node at a key or an index; None when there is none, as for a field that is missing."""
    value = node.value
    if isinstance(step, int):
        return value[step] if isinstance(value, list) and step < len(value) else None
    if not isinstance(value, list):
        return None
    return next((below for key, below in value if key.value == step), None)
