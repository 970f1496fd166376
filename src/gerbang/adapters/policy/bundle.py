"""A Rego bundle: a file, or a folder of `.rego` files with `data.json` documents, read once and digested."""

import json
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from gerbang.errors import PolicyError
from gerbang.values.canonical import digest

DEFAULT_ENTRY: Final = "data.gerbang.decision"
"""The rule that is asked when no other is named."""
MAX_FILES: Final = 500
MAX_BUNDLE_BYTES: Final = 4_194_304
"""All files of a bundle together."""
_MAX_NESTING: Final = 64


Fault = tuple[str, int, int, str]
"""File, line, column, what is wrong. Line 0: the place is not known."""


class BundleError(PolicyError):
    """A bundle that was read and is wrong. `faults` has each fault with its place."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(
            "\n".join(
                f"{file}:{line}:{column}: {text}" if line else f"{file}: {text}"
                for file, line, column, text in faults
            )
        )
        self.faults = faults


class Bundle(Struct, frozen=True):
    """What a worker loads. `version` is the digest of every file and of the entry point.

    `files` are pairs of a path (as a person would name it) and its text; `data` is the base document.
    """

    origin: str
    entry: str
    files: tuple[tuple[str, str], ...]
    data: dict[str, Any]
    version: str


def read_bundle(path: str | Path, entry: str = DEFAULT_ENTRY) -> Bundle:
    """Return the bundle at `path`, a `.rego` file or a folder.

    In a folder every `.rego` file counts at any depth, except those that end in `_test.rego`. `data.json`
    is the base document, below the names of the folders it lies in, as OPA's bundles have it. Hidden files
    and folders are left out. Raises PolicyError when there is nothing to read or a file is wrong.
    """
    root = Path(path).expanduser()
    _check_entry(entry)
    try:
        texts = _texts(bundle_files(root))
    except OSError as error:
        raise PolicyError(f"{root}: the policy cannot be read: {error.strerror or error}.") from None
    files = tuple((str(name), text) for name, text in texts.items() if name.suffix == ".rego")
    if not files:
        raise PolicyError(f"{root}: there is no .rego file in this folder. Name a folder or file of Rego.")
    data: dict[str, Any] = {}
    for name, text in texts.items():
        if name.suffix == ".json":
            _mount(data, name.relative_to(root).parent.parts, _read_json(text, name), name)
    base = root if root.is_dir() else root.parent
    listing = sorted([name.relative_to(base).as_posix(), digest(text)] for name, text in texts.items())
    return Bundle(str(root), entry, files, data, digest({"entry": entry, "files": listing}))


def bundle_files(root: Path) -> list[Path]:
    """Return the files that make up the bundle at `root`, sorted. Raises PolicyError and OSError."""
    if root.is_dir():
        return sorted(_wanted(root))
    if root.suffix == ".rego":
        return [root]
    raise PolicyError(f"{root}: a Rego policy is a .rego file, or a folder that has some.")


def _check_entry(entry: str) -> None:
    parts = entry.split(".")
    if len(parts) < 3 or parts[0] != "data" or not all(part.isidentifier() for part in parts):
        raise PolicyError(
            f"{entry[:80]!r} is not an entry point. Name a rule in full, as in {DEFAULT_ENTRY}."
        )


def _wanted(root: Path) -> list[Path]:
    found: list[Path] = []
    for name in root.rglob("*"):
        if any(part.startswith(".") for part in name.relative_to(root).parts) or not name.is_file():
            continue
        if (name.suffix == ".rego" and not name.name.endswith("_test.rego")) or name.name == "data.json":
            found.append(name)
            if len(found) > MAX_FILES:
                raise PolicyError(f"{root}: more than {MAX_FILES} files. Is this the folder of the policy?")
    return found


def _texts(names: list[Path]) -> dict[Path, str]:
    texts: dict[Path, str] = {}
    left = MAX_BUNDLE_BYTES
    for name in names:
        with name.open("rb") as file:
            raw = file.read(left + 1)
        left -= len(raw)
        if left < 0:
            raise PolicyError(f"{name}: the files of a policy have at most {MAX_BUNDLE_BYTES:,} bytes.")
        try:
            texts[name] = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PolicyError(f"{name}: byte {error.start} is not UTF-8.") from None
    return texts


def _read_json(text: str, name: Path) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            raise PolicyError(f"{name}: an object has a key twice.")
        return members

    def no_constant(word: str) -> Any:
        raise PolicyError(f"{name}: {word} is not JSON.")

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        raise PolicyError(f"{name}:{error.lineno}:{error.colno}: not JSON: {error.msg}.") from None
    except RecursionError:
        raise PolicyError(f"{name}: nested too deeply.") from None
    if not isinstance(value, dict):
        raise PolicyError(f"{name}: a data document is an object.")
    return value


def _mount(data: dict[str, Any], place: tuple[str, ...], value: dict[str, Any], name: Path) -> None:
    if len(place) > _MAX_NESTING:
        raise PolicyError(f"{name}: nested too deeply.")
    for part in place:
        data = data.setdefault(part, {})
        if not isinstance(data, dict):
            raise PolicyError(f"{name}: {part!r} is already a value of another data.json.")
    for key, item in value.items():
        if key in data:
            raise PolicyError(f"{name}: {key!r} is already in another data.json.")
        data[key] = item
