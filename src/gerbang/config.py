"""Settings of the command line: from options, the environment and a TOML file, in that order of weight.

A file is read only when it is named (`--config` or `GERBANG_CONFIG`): a folder that somebody else wrote
cannot change how Gerbang behaves by lying there.
"""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from gerbang.errors import ConfigError

PREFIX: Final = "GERBANG_"
MAX_FILE_BYTES: Final = 1_048_576
"""A settings file larger than this is refused."""

Positive = Annotated[int, Meta(ge=1)]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. A field left None means the default of the profile or of the library.

    `model` is a model address, `store` a store address, `workspace` and `knowledge` paths (a `~` is the
    home folder), `policy` the path of a rules file,
    `secrets` an address of secrets. `deadline_s` is seconds, `context` the model's context
    window in tokens, `result_max_chars` characters; the other limits count.
    `api_key_secret` names the secret that holds the key of a model server; it is never the key itself.
    """

    model: str = "embedded:"
    profile: str = "local"
    lang: Literal["en", "id"] = "en"
    store: str = "sqlite:.gerbang/gerbang.db"
    workspace: str | None = None
    knowledge: str | None = None
    policy: str | None = None
    secrets: str = "env:"
    api_key_secret: str | None = None
    context: Positive | None = None
    max_steps: Positive | None = None
    max_calls: Positive | None = None
    max_repeats: Positive | None = None
    max_parallel: Positive | None = None
    result_max_chars: Positive | None = None
    deadline_s: Annotated[float, Meta(gt=0)] | None = None

    def limits(self) -> dict[str, Any]:
        """Return the limits that were set, by the names that `Agent` takes."""
        chosen = {name: getattr(self, name) for name in LIMITS}
        return {name: value for name, value in chosen.items() if value is not None}


LIMITS: Final = ("max_steps", "max_calls", "max_repeats", "max_parallel", "result_max_chars", "deadline_s")
KEYS: Final = tuple(field.name for field in fields(Settings))


def load(options: Mapping[str, Any], environ: Mapping[str, str], file: str | Path | None = None) -> Settings:
    """Return the settings: an option that is not None beats the environment, which beats the file.

    `environ` is usually `os.environ`; `file` beats its `GERBANG_CONFIG`. Raises ConfigError, naming the
    key, where it came from, and what to write instead.
    """
    path = file or environ.get(f"{PREFIX}CONFIG") or None
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for values, source in (
        (_from_file(Path(path).expanduser()) if path else {}, f"in {path}"),
        (_from_environment(environ), "in the environment"),
        ({name: value for name, value in options.items() if value is not None}, "as an option"),
    ):
        for name, value in values.items():
            merged[name] = _checked(name, value, source)
            sources[name] = source
    return Settings(**merged)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"There is no settings file {path}. Check --config or {PREFIX}CONFIG.") from None
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise ConfigError(f"The settings file {path} cannot be read: {reason}.") from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"The settings file {path} is larger than {MAX_FILE_BYTES} bytes. Name another.")
    try:
        values = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise ConfigError(f"The settings file {path} is not UTF-8 text. Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The settings file {path} is not valid TOML: {error}. Correct it.") from None
    for name in values:
        if name not in KEYS:
            raise ConfigError(f"Unknown setting {name!r} in {path}. {_suggest(name)}")
    return values


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for variable, value in environ.items():
        if not variable.startswith(PREFIX) or not value:
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name in KEYS:
            found[name] = value
        elif near := difflib.get_close_matches(name, KEYS, n=1, cutoff=0.8):
            # Variables of other programs may share the prefix; a near miss is a slip of the finger.
            raise ConfigError(f"Unknown variable {variable}. Did you mean {PREFIX}{near[0].upper()}?")
    return found


def _checked(name: str, value: Any, source: str) -> Any:
    kind = _TYPES[name]
    try:
        # Options and variables arrive as text; a file has types of its own, and `strict` holds it to them.
        return convert(value, kind, strict=not isinstance(value, str))
    except ValidationError as error:
        raise ConfigError(f"The setting {name} {source} is wrong: {error}. Give another value.") from None


def _suggest(name: str) -> str:
    near = difflib.get_close_matches(name, KEYS, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known settings: {', '.join(KEYS)}."


_TYPES: Final = {field.name: field.type for field in fields(Settings)}
