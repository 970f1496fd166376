"""Contracts from YAML and JSON files, with or without a body.

::

    name: weather.get_current.v1
    risk: read_external
    description: Current weather for a city.
    parameters: {type: object, properties: {city: {type: string}}, required: [city]}
    python: my_package.weather:get_current        # or http: {...}, or no body at all

A file holds one contract, several YAML documents, or a list. Fields are those of `gerbang.Contract`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from gerbang.adapters.tools.declared import DeclaredTool
from gerbang.adapters.tools.function_body import named_function
from gerbang.adapters.tools.python import describe_parameters, python_tool
from gerbang.adapters.tools.signature import read_signature
from gerbang.contract.build import contract_of
from gerbang.contract.document import ContractDocument, read_document
from gerbang.errors import ConfigError, ContractError
from gerbang.limits import MAX_CONTRACT_FILE_BYTES
from gerbang.values import Contract
from gerbang.values.yamltext import read_yaml_documents

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_MAX_FAULTS: Final = 10


class ContractFile(ContractDocument, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool: its contract and, if the file says it, what to run."""

    python: Annotated[str | None, Meta(description="What to run: package.module:function.")] = None
    http: Annotated[dict[str, Any] | None, Meta(description="What to run: an HTTP request.")] = None


def load_contracts(path: str | Path, *, pin: bool = False) -> list[Any]:
    """Return the tools of a contract file, or of all such files of a folder, for `Gateway(tools=[...])`.

    Files end in `.yaml`, `.yml` or `.json`; a folder is read with the folders in it, in the order of names.
    `pin`: a contract can be called only while its digest is the one that was approved
    (`Gateway.approve_tool`). Modules that a file names under `python:` are imported.
    Raises ConfigError when the path cannot be read, ContractError with every fault found: file, line and
    column of what is not YAML, the path of a wrong field.
    """
    tools: list[Any] = []
    faults: list[str] = []
    for fields, where in _documents(Path(path).expanduser(), faults):
        try:
            tools.append(_tool(fields, where))
        except ContractError as error:
            faults.append(str(error))
    _raise(faults)
    for tool in tools:
        tool.pinned = pin
        tool.defined_by = "file"
    return tools


def load_contract(path: str) -> Contract:
    """Return the contract of a file; `#NAME` after the path picks one of several. Imports nothing.

    Raises ConfigError and ContractError like `load_contracts`.
    """
    place, _, name = path.partition("#")
    faults: list[str] = []
    found: list[Contract] = []
    for fields, where in _documents(Path(place).expanduser(), faults):
        if not name or fields.get("name") == name:
            found.append(contract_of(_read(fields, where), where))
    _raise(faults)
    if len(found) == 1:
        return found[0]
    if name:
        raise ContractError(f"{place}: there is no contract {name[:80]!r}.")
    raise ContractError(f"{place} holds {len(found)} contracts; say which one: {place}#NAME.")


def contract_schema() -> dict[str, Any]:
    """Return the JSON Schema of a contract file (draft 2020-12), for editors.

    It is shipped as `contract.schema.json` beside this module.
    """
    _, definitions = msgspec.json.schema_components([ContractFile], ref_template="#/$defs/{name}")
    for definition in definitions.values():
        for field in definition.get("properties", {}).values():
            if "default" in field:
                field["default"] = _ordered(field["default"])
    one = {"$ref": "#/$defs/ContractFile"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Gerbang contract",
        "anyOf": [one, {"type": "array", "items": one}],
        "$defs": definitions,
    }


def _ordered(value: Any) -> Any:
    """Return a default value with its lists sorted: they were sets, in an order that differs by process."""
    if isinstance(value, dict):
        return {key: _ordered(item) for key, item in value.items()}
    return sorted(value) if isinstance(value, list) else value


def _documents(path: Path, faults: list[str]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the fields of each contract, and where it stands. Files that cannot be read go to `faults`."""
    for file in _files(path):
        try:
            for place, value in _values(file):
                items = value if isinstance(value, list) else [value]
                for index, fields in enumerate(items):
                    where = f"{place}, item {index + 1}" if isinstance(value, list) else place
                    if isinstance(fields, dict):
                        yield fields, where
                    elif value is not None:
                        faults.append(f"{where}: a contract is a mapping of fields, such as 'name: a.b.v1'.")
        except ContractError as error:
            faults.append(str(error))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        file
        for file in path.rglob("*")
        if file.suffix in _SUFFIXES and not any(part[0] == "." for part in file.relative_to(path).parts)
    )
    if not found:
        raise ConfigError(f"The folder {path} holds no contract: there is no .yaml, .yml or .json file.")
    return found


def _values(file: Path) -> Iterator[tuple[str, Any]]:
    text = _text(file)
    if file.suffix == ".json":
        yield str(file), _json(text, str(file))
        return
    for line, value in read_yaml_documents(text, str(file), ContractError):
        yield (f"{file}, line {line}" if line > 1 else str(file)), value


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_CONTRACT_FILE_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise ConfigError(f"The contract file {file} cannot be read: {reason}. Check the path.") from None
    if len(data) > MAX_CONTRACT_FILE_BYTES:
        raise ContractError(f"{file}: the file is larger than {MAX_CONTRACT_FILE_BYTES} bytes; split it.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContractError(f"{file}: not UTF-8 text at byte {error.start}.") from None


def _json(text: str, origin: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            keys = [key for key, _ in items]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ContractError(f"{origin}: the key {twice[:80]!r} stands twice in one object.")
        return found

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise ContractError(f"{origin}: line {error.lineno}, column {error.colno}: {error.msg}.") from None
    except (RecursionError, ValueError) as error:
        raise ContractError(f"{origin}: this is not usable JSON: {str(error)[:200]}") from None


def _read(fields: dict[str, Any], where: str) -> ContractFile:
    if "url" in fields and "http" not in fields:
        raise ContractError(
            f"{where}: this looks like a file of HTTP tools; read it with load_tools, or put the request "
            "(url, method, headers) under http:."
        )
    return read_document(fields, where, ContractFile)


def _tool(fields: dict[str, Any], where: str) -> Any:
    document = _read(fields, where)
    if document.python is not None and document.http is not None:
        raise ContractError(f"{where}: a tool has one body: python or http, not both.")
    if document.python is not None:
        return _function_tool(document, fields, where)
    contract = contract_of(document, where)
    if document.http is None:
        return DeclaredTool(contract)
    from gerbang.adapters.tools.http import http_tool  # brings the HTTP client

    return http_tool(contract, document.http)


def _function_tool(document: ContractFile, fields: dict[str, Any], where: str) -> Any:
    function = named_function(str(document.python), where)
    if "parameters" not in fields:
        runtime = {name for name, argument in document.arguments.items() if argument.role == "runtime"}
        signature = read_signature(function, where, document.runtime_fields | runtime, document.key_argument)
        describe_parameters(function, signature)
        document = msgspec.structs.replace(
            document, parameters=signature.schema, arguments={**signature.arguments, **document.arguments}
        )
    return python_tool(function, contract_of(document, where), where)


def _raise(faults: list[str]) -> None:
    if faults:
        more = f"\n(and {len(faults) - _MAX_FAULTS} more)" if len(faults) > _MAX_FAULTS else ""
        raise ContractError("\n".join(faults[:_MAX_FAULTS]) + more)
