"""The table of bindings in a settings file, changed in place: every other line stays as it was written.

A file is text that a person wrote, with comments. So lines are changed, not a document written anew, and what
comes out is read again: unless it says exactly what was meant, nothing is written.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gerbang.adapters.secrets.private_file import only_writer, replace_private
from gerbang.cli.safe_text import one_line
from gerbang.config import file_text, parsed
from gerbang.errors import ConfigError, UsageError
from gerbang.values.binding import Binding, read_bindings

TABLE: Final = "secret_bindings"
_HEADER: Final = re.compile(r"\s*\[")
_OWN: Final = re.compile(
    rf"\s*\[\s*(?:{TABLE}|\"{TABLE}\"|'{TABLE}')\s*(?:\.\s*([\"']?)(\w+)\1\s*)?\]\s*(?:#.*)?"
)
_PART: Final = ("tenants", "users", "tools", "origins")


def written(binding: Binding) -> dict[str, list[str]]:
    """Return a binding as it stands in a file: only what is set."""
    return {part: list(named) for part in _PART if (named := getattr(binding, part))}


def change(path: Path, name: str, binding: Binding | None) -> Binding | None:
    """Bind a secret in the file, which is made when it is missing, or take its binding away (None).

    The last one taken away leaves an empty table: no secret is for any tool then. Returns the binding that
    stood there. Raises ConfigError and UsageError; nothing was written then.
    """
    with only_writer(path):
        text, mode = _read(path)
        before = parsed(text, path)
        table = before.get(TABLE, {})
        if not isinstance(table, dict):
            raise ConfigError(f"{TABLE} in {path} is no table. Correct it.")
        standing = read_bindings(table) or {}
        if binding is None and name not in standing:
            known = one_line(", ".join(sorted(standing)) or "none", 400)
            raise UsageError(f"{path} binds no {name}; it binds: {known}. See: gerbang secrets bindings")
        wanted = {key: value for key, value in table.items() if key != name}
        if binding is not None:
            wanted[name] = written(binding)
        after = _changed(text, name, wanted)
        if _say(after) != {**before, TABLE: wanted}:
            raise ConfigError(
                f"{path} writes its {TABLE} in a form that this command cannot change. Change it there: "
                f"{one_line(' '.join(_block(name, wanted[name])) if binding else f'take {name} out', 600)}"
            )
        replace_private(path, after.encode(), mode)
        return standing.get(name)


def _changed(text: str, name: str, wanted: Mapping[str, Any]) -> str:
    """Return the text with the block of one name put, changed or taken out."""
    kept, end = text.rstrip("\r\n"), "\r" if "\r\n" in text else ""
    lines = [*kept.split("\n")[:-1], kept.split("\n")[-1] + end] if kept else []
    start, last = None, None
    for number, line in enumerate(lines):
        found = _OWN.fullmatch(line)
        if found is not None:
            last = number
            start = number if found[2] == name else start
    block = [line + end for line in _block(name, wanted[name])] if name in wanted else []
    if start is not None:
        lines[start : _end(lines, start)] = block
        if not wanted:
            lines.insert(start, f"[{TABLE}]{end}")
    else:
        at = len(lines) if last is None else _end(lines, last)
        lines[at:at] = [end, *block] if at and lines[at - 1].strip() else block
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines) + "\n"


def _end(lines: Sequence[str], start: int) -> int:
    """Return where a block ends: before the next header, and before what stands above that."""
    end = start + 1
    while end < len(lines) and not _HEADER.match(lines[end]):
        end += 1
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _block(name: str, binding: Mapping[str, Sequence[str]]) -> list[str]:
    parts = [
        f"{part} = [{', '.join(json.dumps(one, ensure_ascii=False) for one in named)}]"
        for part, named in binding.items()
    ]
    return [f"[{TABLE}.{name}]", *parts]


def _read(path: Path) -> tuple[str, int]:
    try:
        return file_text(path), path.stat().st_mode & 0o777
    except FileNotFoundError:
        return "", 0o600


def _say(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
