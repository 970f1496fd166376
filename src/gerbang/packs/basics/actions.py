"""What the basic tools do, whatever they are called. Every failure is a ToolError in the tools' language."""

import re
from datetime import UTC, datetime, tzinfo
from typing import Final

from gerbang.errors import ToolError
from gerbang.limits import MAX_CODE_TEXT
from gerbang.packs.arithmetic import CalculationError, evaluate
from gerbang.packs.basics.texts import Said, Words
from gerbang.packs.knowledge import Knowledge
from gerbang.packs.workspace import FaultKind, Workspace, WorkspaceFault
from gerbang.ports import Clock

READ_CHARS: Final = 8_000
"""Characters of a file that one call returns; the number of the `local` profile's source."""
LIST_ENTRIES: Final = 200
LIST_CHARS: Final = 8_000
"""A listing ends at whichever of the two comes first."""
KNOWLEDGE_ENTRIES: Final = 3
KNOWLEDGE_CHARS: Final = 2_000
"""Characters of each entry that a search returns."""

_CODES: Final[dict[FaultKind, tuple[str, str, bool]]] = {
    "OUTSIDE": ("OUTSIDE_WORKSPACE", "permission_denied", False),
    "MISSING": ("NOT_FOUND", "semantic_error", True),
    "BAD_PATH": ("BAD_PATH", "validation_error", True),
    "IS_FOLDER": ("IS_FOLDER", "semantic_error", True),
    "NOT_A_FOLDER": ("NOT_A_FOLDER", "semantic_error", True),
    "NOT_A_FILE": ("NOT_A_FILE", "semantic_error", True),
    "NOT_TEXT": ("NOT_TEXT", "semantic_error", True),
    "UNREADABLE": ("UNREADABLE", "permission_denied", False),
    "CHANGED": ("CHANGED", "conflict", True),
    "TOO_MANY_LINKS": ("TOO_MANY_LINKS", "semantic_error", True),
    "TOO_MANY_ENTRIES": ("TOO_MANY_ENTRIES", "semantic_error", True),
    "NO_WORKSPACE": ("NO_WORKSPACE", "upstream_error", False),
}
_NO_VALUE: Final = frozenset({"DIVISION_BY_ZERO", "TOO_LARGE", "NOT_REAL"})
_ZONE: Final = re.compile(r"[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+){0,3}")
_ZONES: Final = ("Asia/Jakarta", "Europe/Paris", "UTC")


def visible(text: str) -> str:
    """Return `text` with every character that does not print (line ends, bidi marks, bad bytes) escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def read_text(workspace: Workspace, path: str, words: Words) -> str:
    """Return the first 8,000 characters of a file. Raises ToolError."""
    try:
        return workspace.read_text(path, READ_CHARS)
    except WorkspaceFault as fault:
        raise _refusal(fault.kind, path, words.file[fault.kind]) from None


def list_folder(workspace: Workspace, folder: str, words: Words) -> str:
    """Return one path a line, folders with a slash at the end. Raises ToolError."""
    folder = folder.rstrip("/") or folder[:1]
    try:
        entries, total = workspace.list_folder(folder, LIST_ENTRIES)
    except WorkspaceFault as fault:
        said = words.folder.get(fault.kind) or words.file[fault.kind]
        raise _refusal(fault.kind, folder, said) from None
    marks = {"file": "", "folder": "/", "outside": " " + words.outside, "other": " " + words.special}
    prefix = "" if folder in ("", ".") else folder + "/"
    lines: list[str] = []
    room = LIST_CHARS
    for name, kind in entries:
        line = visible(prefix + name) + marks[kind]
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    if len(lines) < total:
        lines.append(words.more.format(total=total, shown=len(lines)))
    return "\n".join(lines) or words.empty


def calculate(expression: str, words: Words) -> int | float | str:
    """Return the value of an expression, as text beyond the whole numbers JSON keeps. Raises ToolError."""
    try:
        return evaluate(expression)
    except CalculationError as error:
        said = words.sums[error.reason]
        raise ToolError(
            said.text.format(found=visible(error.found)),
            code=error.reason if error.reason in _NO_VALUE else "BAD_EXPRESSION",
            error_type="semantic_error" if error.reason in _NO_VALUE else "validation_error",
            recoverable=True,
            suggested_fix=said.text.partition(". ")[2],
            effect="none",
        ) from None


def search(knowledge: Knowledge, query: str, words: Words) -> str:
    """Return up to three entries, best first, each after `[source]`. Raises ToolError when there is none."""
    found = knowledge.search(query, KNOWLEDGE_ENTRIES)
    if not found:
        raise ToolError(
            words.no_knowledge.text,
            code="NOT_FOUND",
            error_type="semantic_error",
            recoverable=True,
            suggested_fix=words.no_knowledge.fix,
            effect="none",
        )
    return "\n\n".join(f"[{visible(entry.source)}] {_bounded(entry.text, words)}" for entry in found)


def current_time(clock: Clock, zone: str | None, words: Words) -> str:
    """Return weekday, date, time, offset and zone, in the machine's zone unless named. Raises ToolError."""
    moment = datetime.fromtimestamp(clock.now(), UTC)
    local = moment.astimezone() if zone is None else moment.astimezone(_zone(zone, words))
    day = words.days[local.weekday()]
    name = local.tzname() if zone is None else zone
    return f"{day} {local:%Y-%m-%d %H:%M:%S} {local.isoformat()[-6:]} ({name})"


def _zone(name: str, words: Words) -> tzinfo:
    if name.upper() in ("UTC", "Z", "GMT"):  # known even where no zone data is installed
        return UTC
    import zoneinfo  # here, because most calls name no zone

    try:
        if _ZONE.fullmatch(name):
            return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not found, not zone data, or a folder of zones
        pass
    wanted = name.rpartition("/")[2].replace(" ", "_").casefold()
    near = [
        known for known in sorted(zoneinfo.available_timezones()) if known.casefold().endswith("/" + wanted)
    ]
    raise ToolError(
        words.no_zone.text.format(found=visible(name[:60]), names=", ".join(near[:3] or _ZONES)),
        code="UNKNOWN_ZONE",
        error_type="validation_error",
        recoverable=True,
        effect="none",
    )


def _refusal(kind: FaultKind, path: str, said: Said) -> ToolError:
    code, error_type, recoverable = _CODES[kind]
    return ToolError(
        said.text.format(path=_named(path)),
        code=code,
        error_type=error_type,
        recoverable=recoverable,
        suggested_fix=said.fix or said.text.format(path=_named(path)).partition(". ")[2],
        effect="none",
    )


def _named(path: str) -> str:
    return visible(path if len(path) <= MAX_CODE_TEXT else path[:MAX_CODE_TEXT] + "…")


def _bounded(text: str, words: Words) -> str:
    if len(text) <= KNOWLEDGE_CHARS:
        return text
    return text[:KNOWLEDGE_CHARS] + words.cut.format(total=len(text))
