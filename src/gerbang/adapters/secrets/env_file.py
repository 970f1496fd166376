"""Secrets from a file of KEY=VALUE lines, such as `wallet.env`. Read only: a person edits the file.

A line is `NAME=VALUE`, `export NAME=VALUE`, a comment that begins with `#`, or empty. A value in double
quotes may hold the escapes \\n \\r \\t \\" \\\\ \\$; in single quotes everything stands for itself. Behind a
value without quotes, ` #` begins a comment. Nothing is substituted or run.
"""

import re
from pathlib import Path
from typing import Final

from gerbang.adapters.secrets.private_file import Mark, mark_of, read_private
from gerbang.errors import ConfigError, UsageError
from gerbang.values.secret import check_secret

_LINE: Final = re.compile(r"(?:export[ \t]+)?(?P<name>[^=\s]{1,200})[ \t]*=[ \t]*(?P<rest>.*)")
_DOUBLE: Final = re.compile(r'"(?P<value>(?:[^"\\]|\\.)*)"[ \t]*(?:#.*)?')
_SINGLE: Final = re.compile(r"'(?P<value>[^']*)'[ \t]*(?:#.*)?")
_BARE: Final = re.compile(r"[ \t]#.*")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


class EnvFileSecrets:
    """The values of one file. Read again when the file has changed."""

    immediate = True
    writable = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mark: Mark | None = None
        self._values: dict[str, str] = {}
        self.address = f"envfile:{path}"

    def __repr__(self) -> str:
        return f"<secrets of {self.address}>"

    def get(self, name: str) -> str | None:
        """Return the value of a name, or None. Raises ConfigError when the file cannot be trusted or read."""
        return self._load().get(name)

    def unlock(self) -> None:
        """Read the file. Raises ConfigError."""
        self._load()

    def names(self) -> list[str]:
        """Return the names in the file, sorted. Raises ConfigError."""
        return sorted(self._load())

    def set(self, name: str, value: str) -> None:
        """Raise UsageError: the file is its owner's to edit."""
        raise UsageError(f"{self._path} is not written by Gerbang. Edit the file, or use --secrets file:PATH")

    def remove(self, name: str) -> bool:
        """Raise UsageError, like `set`."""
        raise UsageError(f"{self._path} is not written by Gerbang. Edit the file and take the line out.")

    def _load(self) -> dict[str, str]:
        mark = mark_of(self._path)
        if mark is None or mark != self._mark:
            self._values = read_env(read_private(self._path, "env file"), self._path)
            self._mark = mark
        return self._values


def read_env(data: bytes, path: Path) -> dict[str, str]:
    """Return the names and values. Raises ConfigError with the number of the bad line, never its text."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"The env file {path} is not UTF-8 text. Save it as UTF-8.") from None
    values: dict[str, str] = {}
    for number, line in enumerate(re.split(r"\r?\n", text), 1):
        bare = line.strip(" \t")
        if not bare or bare.startswith("#"):
            continue
        found = _LINE.fullmatch(bare)
        if found is None:
            raise _bad(path, number, "is not NAME=VALUE")
        value = _value(found["rest"], path, number)
        try:
            check_secret(found["name"], value or None)
        except UsageError as error:
            raise _bad(path, number, f"cannot be used: {error}") from None
        if found["name"] in values:
            raise _bad(path, number, f"names {found['name']} a second time; leave one out")
        values[found["name"]] = value
    return {name: value for name, value in values.items() if value}


def _value(rest: str, path: Path, number: int) -> str:
    if rest[:1] in ('"', "'"):
        quoted = (_DOUBLE if rest[0] == '"' else _SINGLE).fullmatch(rest)
        if quoted is None:
            raise _bad(path, number, "has a quote that is not closed, or text behind it")
        if rest[0] == "'":
            return quoted["value"]
        return re.sub(r"\\(.)", lambda hit: _ESCAPES.get(hit[1], hit[0]), quoted["value"])
    if rest.startswith("#"):
        return ""
    return _BARE.sub("", rest).rstrip(" \t")


def _bad(path: Path, number: int, said: str) -> ConfigError:
    return ConfigError(f"Line {number} of the env file {path} {said}.")
