"""What a docstring says of a tool and of its parameters, in the three common forms.

Google's sections (`Args:`), NumPy's underlined ones (`Parameters` above dashes) and the field lists of Sphinx
(`:param city: ...`). What they say of exceptions and types is left out: the schema has the types.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

_GOOGLE: Final = {
    "Args:": "parameters",
    "Arguments:": "parameters",
    "Parameters:": "parameters",
    "Returns:": "returns",
    "Raises:": "left out",
}
_NUMPY: Final = {
    "Parameters": "parameters",
    "Other Parameters": "parameters",
    "Returns": "returns",
    "Raises": "left out",
}
_FIELD: Final = re.compile(r":([a-z]+)(?: ([^:]*))?:(?:\s|$)")
_SPHINX: Final = {
    **dict.fromkeys(("param", "parameter", "arg", "argument", "key", "keyword"), "parameters"),
    **dict.fromkeys(("return", "returns"), "returns"),
    **dict.fromkeys(("type", "rtype", "raise", "raises", "except", "exception", "meta"), "left out"),
}


def read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split a docstring into its text and what it says of each parameter.

    What it returns belongs to the text. A line that is indented deeper than the one that names a parameter
    belongs to that parameter.
    """
    reader = _Reader()
    lines = (inspect.getdoc(function) or "").splitlines()
    numbered = iter(range(len(lines)))
    for at in numbered:
        if _underlined(lines, at):
            reader.begin(_NUMPY.get(lines[at].strip(), "text"), "numpy", lines[at].strip())
            next(numbered, None)  # the dashes
        else:
            reader.take(lines[at])
    return " ".join(" ".join(reader.text).split()), reader.parameters


def _underlined(lines: list[str], at: int) -> bool:
    """Tell whether the line is a heading of NumPy's form: dashes of some length stand below it."""
    if at + 1 >= len(lines) or not lines[at].strip() or lines[at][0].isspace():
        return False
    below = lines[at + 1].strip()
    return len(below) >= 3 and set(below) == {"-"}


class _Reader:
    """Sorts the lines. `parameters` keeps the order of the docstring."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.parameters: dict[str, str] = {}
        self._section = "text"
        self._form = ""
        self._current: list[str] = []
        self._margin: int | None = None

    def begin(self, section: str, form: str, title: str = "") -> None:
        """Enter a section. A heading that means nothing here stays in the text."""
        self._section, self._form, self._current, self._margin = section, form, [], None
        if section == "returns":
            self.text.append("Returns")
        elif section == "text" and title:
            self.text.append(f"{title}:")

    def take(self, line: str) -> None:
        """Take one line of the docstring."""
        bare = line.strip()
        outside = bool(line) and not line[0].isspace()
        field = _FIELD.match(bare) if outside else None
        if field is not None and field[1] in _SPHINX:
            self._sphinx(field, bare[field.end() :].strip())
        elif outside and bare in _GOOGLE:
            self.begin(_GOOGLE[bare], "google")
        elif outside and self._form != "numpy":
            self.begin("text", "")
            self.text.append(bare)
        elif self._section == "parameters":
            self._parameter(line, bare)
        elif self._section == "returns" and self._form == "numpy" and outside:
            pass  # the type of what is returned
        elif self._section != "left out":
            self.text.append(bare)

    def _sphinx(self, field: re.Match[str], about: str) -> None:
        self.begin(_SPHINX[field[1]], "sphinx")
        words = (field[2] or "").split()  # the name stands last: `:param int days:`
        if self._section == "parameters" and words:
            self._name(words[-1], about)
        elif self._section == "returns":
            self.text.append(about)

    def _name(self, name: str, about: str) -> None:
        self._current.append(name.lstrip("*"))
        self.parameters[name.lstrip("*")] = about

    def _parameter(self, line: str, bare: str) -> None:
        if not bare:
            return
        depth = len(line) - len(line.lstrip())
        if self._margin is None and self._form != "sphinx":
            self._margin = depth
        names = list(self._names(bare)) if self._margin is not None and depth <= self._margin else []
        if names:
            self._current = []
            for name, about in names:
                self._name(name, about)
            return
        for name in self._current:
            self.parameters[name] = f"{self.parameters[name]} {bare}".strip()

    def _names(self, bare: str) -> Iterator[tuple[str, str]]:
        """Return the parameters that a line names, with what stands behind them."""
        head, colon, about = bare.partition(":")
        if self._form == "numpy":  # `a, b : int, optional`
            for name in head.split(","):
                if name.strip().lstrip("*").isidentifier():
                    yield name.strip(), ""
            return
        name = head.partition("(")[0].strip()  # `city (str): ...` is a common form
        if colon and name.lstrip("*").isidentifier():
            yield name, about.strip()
