"""Settings: from options, the environment and a TOML file, in that order of weight.

A file is read only when it is named (`--config` or `GERBANG_CONFIG`): a folder that somebody else wrote
cannot change how Gerbang behaves by lying there. Settings of HTTP tools have a second name each, that of
the system they come from (`LLM_TOOLS_FILE`), in the environment and in the file.
"""

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import DecodeError, Meta, Struct, convert
from msgspec.structs import fields

from gerbang.errors import ConfigError

PREFIX: Final = "GERBANG_"
MAX_FILE_BYTES: Final = 1_048_576
"""A settings file larger than this is refused."""

Positive = Annotated[int, Meta(ge=1)]
Source = Literal["default", "file", "environment", "flag"]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. A field left None means the default of the profile or of the library.

    `model` is a model address, `store` a store address, `workspace` and `knowledge` paths (a `~` is the
    home folder), `policy` the path of rules, `rego:PATH` or `opa:URL`,
    `secrets` an address of secrets. `deadline_s` is seconds, `context` the model's context
    window in tokens, `result_max_chars` characters; the other limits count.
    `approver` is the address of a webhook that is told what waits for a person, `approval_s` the seconds
    that a request for approval stands.
    `api_key_secret` names the secret that holds the key of a model server; it is never the key itself.

    `seal` is where the keys are that prompts, arguments and results are sealed with in the store.
    `secret_bindings` is a table of what each secret is for: names to `tenants`, `users`, `tools`, `origins`.
    `retention_days` is the age from which `gerbang audit prune` erases the payloads of runs.

    `contracts` is a file or folder of tool contracts; with `pin_contracts` each has to be approved before
    it is used, and again when it has changed.

    `tools_file` is a file of HTTP tools, read once at the start; `tools_enabled` switches it on and off, and
    left out it is on when there is a file. `tool_timeout_secs` is seconds. `tool_max_iterations` and
    `tool_result_max_chars` are the limits of the profile `voice`. `egress` lists the hosts, addresses and
    networks that the file's tools may reach; left out, each reaches the host that it names.
    """

    model: str = "embedded:"
    profile: str = "local"
    lang: Literal["en", "id"] = "en"
    store: str = "sqlite:.gerbang/gerbang.db"
    workspace: str | None = None
    knowledge: str | None = None
    contracts: str | None = None
    pin_contracts: bool | None = None
    policy: str | None = None
    approver: str | None = None
    approval_s: Positive | None = None
    secrets: str = "env:"
    seal: str | None = None
    secret_bindings: dict[str, dict[str, tuple[str, ...]]] | None = None
    api_key_secret: str | None = None
    context: Positive | None = None
    max_steps: Positive | None = None
    max_calls: Positive | None = None
    max_repeats: Positive | None = None
    max_parallel: Positive | None = None
    result_max_chars: Positive | None = None
    retention_days: Annotated[int, Meta(ge=0, le=36_500)] | None = None
    deadline_s: Annotated[float, Meta(gt=0)] | None = None
    tools_enabled: bool | None = None
    tools_file: str | None = None
    tool_max_iterations: Positive = 4
    tool_timeout_secs: Annotated[float, Meta(gt=0, le=86_400)] = 15
    tool_result_max_chars: Positive = 2000
    egress: tuple[str, ...] | None = None

    def approvals(self) -> dict[str, Any]:
        """Return what was set of approvals, by the names that `Gateway` takes."""
        chosen = {"approver": self.approver, "approval_s": self.approval_s}
        return {name: value for name, value in chosen.items() if value is not None}

    def limits(self) -> dict[str, Any]:
        """Return the limits of a run that were set, by the names that `Agent` takes."""
        chosen = {name: getattr(self, name) for name in LIMITS}
        if self.profile == "voice":
            chosen["max_steps"] = self.max_steps or self.tool_max_iterations
            chosen["result_max_chars"] = self.result_max_chars or self.tool_result_max_chars
        return {name: value for name, value in chosen.items() if value is not None}

    def active_tools_file(self) -> Path | None:
        """Return the file of HTTP tools that is to be used, or None."""
        if not self.tools_file or self.tools_enabled is False:
            return None
        return Path(self.tools_file).expanduser()


class Origin(Struct, frozen=True):
    """Where a value comes from. `detail` is the variable, the path of the file, or the option."""

    source: Source
    detail: str = ""


class Loaded(Struct, frozen=True):
    """Settings and, by name, where each value comes from."""

    settings: Settings
    origins: Mapping[str, Origin]


LIMITS: Final = ("max_steps", "max_calls", "max_repeats", "max_parallel", "result_max_chars", "deadline_s")
KEYS: Final = tuple(field.name for field in fields(Settings))
OTHER_NAMES: Final = {
    "LLM_TOOLS_ENABLED": "tools_enabled",
    "LLM_TOOLS_FILE": "tools_file",
    "LLM_TOOL_MAX_ITERATIONS": "tool_max_iterations",
    "LLM_TOOL_TIMEOUT_SECS": "tool_timeout_secs",
    "LLM_TOOL_RESULT_MAX_CHARS": "tool_result_max_chars",
}
"""Second names, exact, and the settings that they are."""
_OTHER_PREFIXES: Final = ("LLM_TOOL_", "LLM_TOOLS_")


def load(options: Mapping[str, Any], environ: Mapping[str, str], file: str | Path | None = None) -> Settings:
    """Return the settings: an option that is not None beats the environment, which beats the file.

    `environ` is usually `os.environ`; `file` beats its `GERBANG_CONFIG`. Raises ConfigError, naming the
    key, where it came from, and what to write instead.
    """
    return load_with_origins(options, environ, file).settings


def load_with_origins(
    options: Mapping[str, Any], environ: Mapping[str, str], file: str | Path | None = None
) -> Loaded:
    """Do what `load` does, and say of every setting where its value comes from."""
    path = file or environ.get(f"{PREFIX}CONFIG") or None
    merged: dict[str, Any] = {}
    origins = {name: Origin("default") for name in KEYS}
    for name, written, value in _from_file(Path(path).expanduser()) if path else ():
        merged[name] = _checked(name, value, f"{_called(written, name)}in {path}")
        origins[name] = Origin("file", str(path))
    for name, variable, value in _from_environment(environ):
        merged[name] = _checked(name, value, f"in the environment ({variable})")
        origins[name] = Origin("environment", variable)
    for name, value in options.items():
        if value is not None:
            merged[name] = _checked(name, value, "as an option")
            origins[name] = Origin("flag", f"--{name.replace('_', '-')}")
    return Loaded(Settings(**merged), origins)


def _from_file(path: Path) -> list[tuple[str, str, Any]]:
    """Return the settings of a file: the name, as it is written, and the value."""
    found: dict[str, tuple[str, Any]] = {}
    for written, value in _parsed(path).items():
        name = OTHER_NAMES.get(written, written)
        if name not in KEYS:
            raise ConfigError(f"Unknown setting {written!r} in {path}. {_suggest(written)}")
        if name in found:
            raise ConfigError(f"{found[name][0]} and {written} in {path} are one setting. Leave one out.")
        found[name] = (written, value)
    return [(name, written, value) for name, (written, value) in found.items()]


def file_text(path: Path) -> str:
    """Return the text of a settings file. Raises ConfigError, and FileNotFoundError when there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise ConfigError(
            f"The settings file {path} cannot be read: {reason}. Check --config or {PREFIX}CONFIG."
        ) from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"The settings file {path} is larger than {MAX_FILE_BYTES} bytes. Name another.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"The settings file {path} is not UTF-8 text. Save it as UTF-8.") from None


def parsed(text: str, path: Path) -> dict[str, Any]:
    """Return what a settings file says, not checked yet. Raises ConfigError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The settings file {path} is not valid TOML: {error}. Correct it.") from None


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return parsed(file_text(path), path)
    except FileNotFoundError:
        raise ConfigError(f"There is no settings file {path}. Check --config or {PREFIX}CONFIG.") from None


def _from_environment(environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return the settings of the environment: the name, the variable, and the value. Empty means unset."""
    found: dict[str, tuple[str, str]] = {}
    for variable, value in environ.items():
        name = _setting_of(variable) if value else None
        if name is None:
            continue
        if name in found and found[name][1] != value:
            raise ConfigError(f"{found[name][0]} and {variable} are one setting. Unset one of them.")
        found[name] = (variable, value)
    return [(name, variable, value) for name, (variable, value) in found.items()]


def _setting_of(variable: str) -> str | None:
    if variable in OTHER_NAMES:
        return OTHER_NAMES[variable]
    if variable.startswith(_OTHER_PREFIXES):
        near = difflib.get_close_matches(variable, OTHER_NAMES, n=1, cutoff=0.0)
        raise ConfigError(f"Unknown variable {variable}. Did you mean {near[0]}?")
    if not variable.startswith(PREFIX):
        return None
    name = variable.removeprefix(PREFIX).lower()
    if name in KEYS:
        return name
    if near := difflib.get_close_matches(name, KEYS, n=1, cutoff=0.8):
        # Variables of other programs may share the prefix; a near miss is a slip of the finger.
        raise ConfigError(f"Unknown variable {variable}. Did you mean {PREFIX}{near[0].upper()}?")
    return None


def _checked(name: str, value: Any, source: str) -> Any:
    kind = _TYPES[name]
    text = isinstance(value, str)
    if text and name == "egress":  # a list has no other form in the environment
        value = [part.strip() for part in value.split(",") if part.strip()]
    if text and bool in get_args(kind):
        value = _SWITCH.get(value.strip().lower(), value)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices and value not in choices:
        raise ConfigError(f"The setting {name} {source} is one of: {', '.join(choices)}; not {value!r}.")
    try:
        if text and name == "secret_bindings":  # a table is JSON there
            value, text = msgspec.json.decode(value), False
        # Options and variables arrive as text; a file has types of its own, and `strict` holds it to them.
        return convert(value, kind, strict=not text)
    except DecodeError as error:
        raise ConfigError(f"The setting {name} {source} is wrong: {error}. Give another value.") from None


def _called(written: str, name: str) -> str:
    return "" if written == name else f"({written}) "


def _suggest(name: str) -> str:
    known = (*KEYS, *OTHER_NAMES)
    near = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known settings: {', '.join(KEYS)}."


_SWITCH: Final = {"yes": True, "on": True, "no": False, "off": False}
"""Words that people write beside true, false, 1 and 0."""
_TYPES: Final = {field.name: field.type for field in fields(Settings)}
