"""Files of declarative HTTP tools: a JSON array, one object a tool.

::

    [{"name": "get_weather", "description": "Current weather for a city. ...",
      "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
      "url": "https://api.example.com/weather/{city}", "method": "GET",
      "headers": {"Authorization": "Bearer ${secret:WEATHER_KEY}"}}]
"""

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from gerbang.adapters.tools.egress import Egress, own_place
from gerbang.adapters.tools.http_body import HttpTool
from gerbang.adapters.tools.http_definition import (
    REQUEST_FIELDS,
    BadField,
    HttpDefinition,
    advice,
    read_definition,
)
from gerbang.adapters.tools.http_pool import HttpPool
from gerbang.adapters.tools.http_template import nearest
from gerbang.contract.build import make_contract
from gerbang.contract.document import ContractDocument
from gerbang.errors import ConfigError, ContractError
from gerbang.policy.tool_facts import UNAPPROVED
from gerbang.values import RiskClass

TIMEOUT_S: Final = 15.0
"""Default time-out of one call, in seconds."""
MAX_FILE_BYTES: Final = 4_194_304
MAX_TOOLS: Final = 1_000
UNTOLD: Final = "there is no description; say when to use the tool and what it returns, the model goes by it"

_BELOW: Final = {
    least: frozenset(str(risk) for risk in RiskClass if risk.rank < least.rank)
    for least in (RiskClass.READ_EXTERNAL, RiskClass.WRITE_EXTERNAL)
}
_LOG: Final = logging.getLogger("gerbang.tools")
_OWN: Final = frozenset(
    {"runtime_fields", "key_argument", "secrets", "body"}
)  # of functions, or worked out here
_KNOWN: Final = frozenset(ContractDocument.__struct_fields__) - _OWN
_FIELDS: Final = (*REQUEST_FIELDS, *sorted(_KNOWN))


def load_tools(
    path: str | Path, *, egress: Iterable[str] | None = None, timeout_s: float = TIMEOUT_S
) -> list[HttpTool]:
    """Return the tools of a file, for `Gateway(tools=[...])`.

    `egress` lists the hosts, addresses and networks that the tools may reach, such as `api.example.com`,
    `127.0.0.1:8080` or `10.0.0.0/8`, and nothing else; omitted, each tool reaches the host and port that its
    own definition names. `timeout_s` is the time-out of a call in seconds, where the tool names none.
    Raises ConfigError when the file cannot be read, ContractError with every fault of every tool: its
    index, its name, the field, and what to write instead.
    """
    place = Path(path).expanduser()
    try:
        with place.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"There is no file of tools {place}. Check the path.") from None
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise ConfigError(f"The file of tools {place} cannot be read: {reason}.") from None
    return read_tools(data, origin=place.name, egress=egress, timeout_s=timeout_s)


def read_tools(
    data: bytes,
    *,
    origin: str,
    egress: Iterable[str] | None = None,
    timeout_s: float = TIMEOUT_S,
    trusted: bool = True,
    approved: bool = False,
    may_name_secrets: bool = True,
) -> list[HttpTool]:
    """Return the tools of a JSON array. `origin` names it in errors and in the contracts.

    `trusted` False is for definitions that an operator did not write: loopback and private addresses in
    them are refused unless `egress` names them, and what they say of their risk can only raise it.
    `approved` says that whoever sent such ones may define tools, and so stands for them.
    Raises ContractError and, for `egress`, ConfigError.
    """
    entries = _entries(data, origin)
    allowed = None if egress is None else Egress(egress)
    pool = HttpPool()
    tools: list[HttpTool] = []
    faults: list[str] = []
    names: set[str] = set()
    for index, entry in enumerate(entries):
        where = _where(origin, index, entry)
        try:
            tool = make_tool(
                entry,
                where=where,
                pool=pool,
                egress=allowed,
                timeout_s=timeout_s,
                trusted=trusted,
                approved=approved,
                may_name_secrets=may_name_secrets,
            )
            if tool.contract.name in names:
                raise BadField("name", "another tool before it has the same name")
        except BadField as error:
            faults.append(f"{where}: {error.field}: {error}")
        except ContractError as error:
            faults.append(str(error))
        else:
            names.add(tool.contract.name)
            tools.append(tool)
    if faults:
        raise ContractError("\n".join(faults))
    for tool in tools:
        for note in tool.notes:
            _LOG.warning("%s: %s", tool.contract.origin, note)
    return tools


def make_tool(
    entry: Mapping[str, Any],
    *,
    where: str,
    pool: HttpPool,
    egress: Egress | None,
    timeout_s: float = TIMEOUT_S,
    trusted: bool = True,
    approved: bool = False,
    may_name_secrets: bool = True,
) -> HttpTool:
    """Return the tool of one definition. Raises BadField and ContractError."""
    if not isinstance(entry, dict):
        raise BadField("(tool)", "a tool must be an object with name, url and, for the model, description")
    for field in entry:
        if field not in _FIELDS:
            raise BadField(field, f"there is no such field{nearest(field, _FIELDS)}")
    if not isinstance(entry.get("name"), str) or not entry["name"].strip():
        raise BadField("name", "the field name is missing; it is text, and the model reads it")
    told = entry.get("description", "")
    if not isinstance(told, str):
        raise BadField("description", "description must be text; the model reads it")
    parameters = entry.get("parameters", {"type": "object", "properties": {}})
    properties = parameters.get("properties", {}) if isinstance(parameters, dict) else None
    if not isinstance(properties, dict):
        raise BadField("parameters", 'parameters must be a JSON Schema with "type": "object"')
    definition = read_definition(entry, properties, may_name_secrets=may_name_secrets)
    known: dict[str, Any] = {name: value for name, value in entry.items() if name in _KNOWN}
    least = RiskClass.READ_EXTERNAL if definition.reads else RiskClass.WRITE_EXTERNAL
    known.setdefault("risk", str(least))
    if not trusted and str(known["risk"]) in _BELOW[least]:
        raise BadField("risk", f"a definition that comes by request can only raise the class {least}")
    known.setdefault("retry", {"max_attempts": 1})  # one call, one request, unless the file says otherwise
    if "timeout_ms" not in known:
        known.setdefault("timeout_s", timeout_s)
    hidden = known.get("sensitive", ())
    if not isinstance(hidden, list | tuple) or not all(isinstance(name, str) for name in hidden):
        raise BadField("sensitive", "sensitive must be a list of names of parameters")
    written = known.get("annotations", {})
    known |= {
        "parameters": parameters,
        "description": told if told.strip() else _untold(definition),
        "sensitive": sorted({*hidden, *definition.header_arguments}),
        "secrets": definition.secrets,
        "body": definition.digest,
    }
    if isinstance(written, dict):
        known["annotations"] = {**written, "http": definition.note}
    contract = make_contract(origin=where, **known)
    allowed = own_place(definition.place, trusted=trusted) if egress is None else egress
    notes = tuple(advice(definition) if told.strip() else (UNTOLD, *advice(definition)))
    place = "file" if trusted else "request" if approved else UNAPPROVED
    return HttpTool(contract, definition, pool, allowed, notes, place)


def _untold(definition: HttpDefinition) -> str:
    return f"Sends {(definition.method or definition.verb)[:80]} to {definition.place.host}."


def _entries(data: bytes, origin: str) -> list[Any]:
    if len(data) > MAX_FILE_BYTES:
        raise ContractError(f"{origin}: the definitions are larger than {MAX_FILE_BYTES} bytes.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ContractError(f"{origin}: the definitions are not UTF-8 text.") from None
    if not text.strip():
        raise ContractError(f"{origin}: the definitions are empty. Write a JSON array of tools.")
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise ContractError(f"{origin}: the definitions are nested too deeply.") from None
    except ValueError as error:
        raise ContractError(f"{origin}: the definitions are not JSON: {str(error)[:200]}.") from None
    if not isinstance(value, list):
        raise ContractError(f"{origin}: the definitions must be a JSON array of tools.")
    if not value:
        raise ContractError(f"{origin}: the array holds no tool.")
    if len(value) > MAX_TOOLS:
        raise ContractError(f"{origin}: the array holds {len(value)} tools; the limit is {MAX_TOOLS}.")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the member {twice[:80]!r} twice")
    return found


def _where(origin: str, index: int, entry: Any) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return f"{origin}[{index}]" + (f" {name[:80]!r}" if isinstance(name, str) else "")
