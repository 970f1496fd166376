"""What `gerbang tools lint` looks at: contracts, and the file and line of each."""

import importlib
import inspect
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gerbang.adapters.tools.contract_files import load_contracts
from gerbang.cli.street import see_current_folder
from gerbang.errors import ConfigError
from gerbang.packs.shipped import shipped_packs
from gerbang.values import Contract

_MAX_FILE_BYTES: Final = 16 * 1_048_576


class Subject(Struct, frozen=True):
    """Contracts that go into one gateway. `places` maps tool names to file and line (from 1)."""

    contracts: tuple[Contract, ...]
    places: Mapping[str, tuple[str, int]]


def subjects(paths: Iterable[str], modules: Iterable[str]) -> list[Subject]:
    """Return what the paths and modules hold as one set; without any, the shipped packs, each a set.

    A path is a contract file, a folder of them, or a JSON file of HTTP tools; a module a Python module
    whose tools stand in its attributes, or in lists there; `MODULE:NAME` is one of these. Raises ConfigError
    and ContractError.
    """
    tools = [(tool, _place_in_file(tool, path)) for path in paths for tool in _from_path(path)]
    tools += [(tool, _place_in_code(tool)) for module in modules for tool in _from_module(module)]
    if tools:
        return [_subject(tools)]
    return [_subject([(tool, _place_in_code(tool)) for tool in pack]) for pack in shipped_packs().values()]


def _subject(tools: Iterable[tuple[Any, tuple[str, int] | None]]) -> Subject:
    contracts: list[Contract] = []
    places: dict[str, tuple[str, int]] = {}
    for tool, place in tools:
        contract = _with_headers(tool)
        if place is not None:
            places.setdefault(contract.name, place)
        contracts.append(contract)
    return Subject(tuple(contracts), places)


def _with_headers(tool: Any) -> Contract:
    """Return the contract, and in its annotations which arguments a request's headers are filled with."""
    contract: Contract = tool.contract
    named = sorted(getattr(getattr(tool, "definition", None), "header_arguments", ()))
    if not named:
        return contract
    http = {**contract.annotations.get("http", {}), "header_arguments": named}
    return replace(contract, annotations={**contract.annotations, "http": http})


def _from_path(path: str) -> list[Any]:
    place = Path(path).expanduser()
    if not path or not place.exists():
        shown = place if path else "file without a name"
        raise ConfigError(f"There is no {shown}. Name a contract file, a folder of them, or a tools file.")
    if place.suffix == ".json" and place.is_file() and _is_tools_file(place):
        http_file = importlib.import_module("gerbang.adapters.tools.http_file")  # brings the HTTP client
        return list(http_file.load_tools(place))
    see_current_folder()  # for modules that a file names
    found = load_contracts(place)
    if not found:
        raise ConfigError(f"{place} holds no contract. Write one, or name another file or folder.")
    return found


def _is_tools_file(place: Path) -> bool:
    """Tell a file of HTTP tools, a list of requests, from a file of contracts. Faults are the loader's."""
    try:
        with place.open("rb") as file:
            value = json.loads(file.read(_MAX_FILE_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, list) and any(isinstance(item, dict) and "url" in item for item in value)


def _from_module(name: str) -> list[Any]:
    see_current_folder()
    name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"The module {error.name!r} was not found. Check --module {name}.") from None
    except Exception as error:  # whatever the user's own module does when it is imported
        raise ConfigError(
            f"The module {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    found: dict[int, Any] = {}
    values = vars(module)
    if attribute and attribute not in values:
        raise ConfigError(
            f"The module {name!r} has no {attribute[:80]!r}. Check --module {name}:{attribute[:80]}."
        )
    for value in [values[attribute]] if attribute else values.values():
        for item in value if isinstance(value, list | tuple) else (value,):
            if not isinstance(item, type) and isinstance(getattr(item, "contract", None), Contract):
                found.setdefault(id(item), item)
    if not found:
        where = f"{attribute[:80]!r} of the module {name!r}" if attribute else f"The module {name!r}"
        raise ConfigError(f"{where} holds no tools. Make some with @gerbang.tool(...).")
    return list(found.values())


def _place_in_code(tool: Any) -> tuple[str, int] | None:
    """Return where a Python tool's function is defined; None where that is not known."""
    code = getattr(inspect.unwrap(getattr(tool, "function", None) or tool), "__code__", None)
    return None if code is None else (_shown(Path(code.co_filename)), code.co_firstlineno)


def _place_in_file(tool: Any, path: str) -> tuple[str, int] | None:
    """Return the file that a contract says it comes from, and the line on which its name stands."""
    origin = tool.contract.origin.partition(", ")[0]
    place = Path(path).expanduser()
    file = place if place.is_file() else Path(origin)
    try:
        with file.open("rb") as opened:
            lines = opened.read(_MAX_FILE_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return None
    name = tool.contract.name
    numbers = (number for number, line in enumerate(lines, 1) if _names(line, name))
    return _shown(file), next(numbers, 1)


def _names(line: str, name: str) -> bool:
    """Tell whether a line of YAML or JSON gives the name of a tool, and not another one that begins so."""
    _, found, rest = line.partition("name")
    value = rest.strip().lstrip("\"':").strip().lstrip("\"'")
    return bool(found) and value.startswith(name) and not value[len(name) :].lstrip("\"'")[:1].isalnum()


def _shown(file: Path) -> str:
    """Return the path from the current folder, where the file lies in it."""
    try:
        return str(file.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(file.resolve())
