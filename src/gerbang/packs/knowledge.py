"""A small knowledge base held in memory: a folder of Markdown files, or one YAML file of `key: text`.

It is read once, when it is opened. Search counts words (BM25); equal scores keep the order of the files, so
the same question always gets the same answer. No word of the question found means no answer.
"""

import math
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from gerbang.errors import ConfigError

MAX_FILES: Final = 5_000
MAX_BYTES: Final = 32 * 1024 * 1024
MAX_QUERY_CHARS: Final = 1_000

_WORD: Final = re.compile(r"\w+")
_HEADING: Final = re.compile(r"#{1,6}[ \t]")
_FENCES: Final = ("```", "~~~")
_K1, _B = 1.2, 0.75  # the usual constants of BM25
_TITLE_WEIGHT: Final = 3  # a word in the title counts as this many in the text
_COMMON: Final = frozenset(
    _WORD.findall(
        """
        a an and are as at be by can do does for from how i in is it of on or our that the this to was we
        what when where which who why will with you your
        ada adalah agar apa apakah atau bagaimana bisa dan dari dengan di dia ini itu juga kami kapan karena
        ke kita mana mengapa oleh pada saya siapa tentang untuk yang
        """
    )
)
"""Words too common to find anything by, English and Indonesian."""


class Entry(Struct, frozen=True):
    """One piece of knowledge. `source` is the file (and heading) or the YAML key it came from."""

    source: str
    title: str
    text: str


class Knowledge:
    """An index over entries. Building is linear in the text, a search in the entries that share a word."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self._exact: dict[str, int] = {}
        self._found: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        lengths = []
        for index, entry in enumerate(entries):
            counts = Counter(_words(entry.text))
            lengths.append(sum(counts.values()))
            for word in _words(entry.title):
                counts[word] += _TITLE_WEIGHT
            for word, count in counts.items():
                self._found[word].append((index, count))
            self._exact.setdefault(entry.title.strip().casefold(), index)
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._norms = [_K1 * (1 - _B + _B * length / (mean or 1.0)) for length in lengths]

    def search(self, query: str, limit: int = 3) -> list[Entry]:
        """Return the best entries, best first; the only one when `query` is the title of an entry."""
        query = query[:MAX_QUERY_CHARS]
        exact = self._exact.get(query.strip().casefold())
        if exact is not None:
            return [self.entries[exact]]
        scores: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(_words(query)):
            found = self._found.get(word, ())
            weight = math.log(1 + (len(self.entries) - len(found) + 0.5) / (len(found) + 0.5))
            for index, count in found:
                scores[index] += weight * count * (_K1 + 1) / (count + self._norms[index])
        best = sorted(scores, key=lambda index: (-scores[index], index))[:limit]
        return [self.entries[index] for index in best]


def open_knowledge(path: Path | str) -> Knowledge:
    """Read a folder of `*.md` files (links are not followed) or a YAML file of `key: text`.

    Raises ConfigError, which says what to write: nothing there, unreadable, not UTF-8, or not that shape.
    """
    path = Path(path)
    try:
        entries = list(_from_folder(path) if path.is_dir() else _from_yaml(path))
    except FileNotFoundError:
        raise ConfigError(
            f"There is no knowledge base at {path}. Name a folder of Markdown files or a YAML file."
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(
            f"A file of the knowledge base {path} is not UTF-8 text. Save it as UTF-8."
        ) from None
    except OSError as error:
        raise ConfigError(f"The knowledge base {path} cannot be read: {error.strerror}.") from None
    if not entries:
        raise ConfigError(
            f"The knowledge base {path} is empty. Put Markdown files (*.md) or `key: text` in it."
        )
    return Knowledge(entries)


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text.casefold()):
        word = match.group()
        if word not in _COMMON:
            # English plurals meet their singular; a word of another language is only cut the same way twice.
            yield word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _from_folder(folder: Path) -> Iterator[Entry]:
    files = size = 0
    for where, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = Path(where, name)
            if file.suffix.lower() != ".md" or file.is_symlink() or not file.is_file():
                continue
            files += 1
            size += file.stat().st_size
            if files > MAX_FILES or size > MAX_BYTES:
                raise ConfigError(
                    f"The knowledge base {folder} is too large: at most {MAX_FILES} files and "
                    f"{MAX_BYTES >> 20} MiB. Name a smaller folder."
                )
            yield from _sections(file.read_text("utf-8-sig"), file.relative_to(folder).as_posix())


def _sections(text: str, source: str) -> Iterator[Entry]:
    """Cut a Markdown text at its headings; `#` inside a fenced block is no heading."""
    title, lines, fence = Path(source).stem, list[str](), ""
    place = source
    for line in text.splitlines():
        mark = line.lstrip()[:3]
        if mark in _FENCES and fence in ("", mark):
            fence = "" if fence else mark
        if fence or not _HEADING.match(line):
            lines.append(line)
            continue
        if body := "\n".join(lines).strip():
            yield Entry(place, title, body)
        title, lines = line.strip("# \t") or title, []
        place = f"{source} # {title}"
    if body := "\n".join(lines).strip():
        yield Entry(place, title, body)


def _from_yaml(file: Path) -> Iterator[Entry]:
    import yaml  # here, because only a knowledge base of this kind needs it

    if not file.is_file() and file.exists():
        raise ConfigError(f"The knowledge base {file} is neither a folder nor a file. Name one of the two.")
    if file.stat().st_size > MAX_BYTES:
        raise ConfigError(f"The knowledge base {file} is larger than {MAX_BYTES >> 20} MiB.")
    try:
        # Composed, not constructed: every scalar stays the text it is, and a key given twice is seen.
        root: Any = yaml.compose(file.read_text("utf-8-sig"), Loader=yaml.SafeLoader)
    except RecursionError:
        raise ConfigError(
            f"The knowledge base {file} is nested too deeply. Write `key: text` lines."
        ) from None
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        at = "" if line is None else f" at line {line + 1}"
        raise ConfigError(
            f"The knowledge base {file} is not YAML{at}. Write one `key: text` per line."
        ) from None
    if root is None:
        return
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"The knowledge base {file} must be a mapping: one `key: text` per line.")
    seen: set[str] = set()
    for key, value in root.value:
        where = f"{file}, line {key.start_mark.line + 1}"
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.ScalarNode):
            raise ConfigError(f"{where}: a key and its text must be plain text, not a list or a mapping.")
        if key.value in seen:
            raise ConfigError(f"{where}: the key {key.value!r} is given twice. Keep one of them.")
        seen.add(key.value)
        yield Entry(key.value, key.value, value.value)
