"""Tools that the client runs itself: it describes them with its request and gets their calls back.

Their calls pass the same checks as all others; what the runtime does with one that passes is to hand it
over. They are called `client.NAME` in records and policies and `NAME`, as the client wrote it, to the model.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from gerbang.contract.build import make_contract
from gerbang.contract.catalogue import Entry
from gerbang.contract.schema import compile_schema
from gerbang.errors import ContractError, UsageError
from gerbang.values import Contract, RiskClass
from gerbang.values.model import ToolSpec

CLIENT: Final = "client"
"""Origin of the contracts of such tools, and what policies see as the place of their definition."""
MAX_CLIENT_TOOLS: Final = 128
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ClientTool(Struct, frozen=True, omit_defaults=True):
    """A tool of the client. `name` has 1 to 64 letters, digits, `_` and `-`.

    `parameters` is a JSON Schema. `risk` is the class that the client gives it. Nothing of it happens here,
    so the default is `draft`.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    risk: str = "draft"


def is_clients(contract: Contract) -> bool:
    """Tell whether calls of the tool are handed to the client."""
    return contract.origin == CLIENT


def client_name(tool: ClientTool) -> str:
    """Return the canonical name of a client's tool."""
    return f"{CLIENT}.{tool.name if tool.name[:1].isalnum() else 'x' + tool.name}"


def client_entries(tools: Sequence[ClientTool]) -> tuple[Entry, ...]:
    """Return the tools, compiled. Raises UsageError that names the tool and what is wrong with it."""
    if len(tools) > MAX_CLIENT_TOOLS:
        raise UsageError(f"There are {len(tools)} client tools; the limit is {MAX_CLIENT_TOOLS}.")
    entries, seen = [], set()
    for tool in tools:
        entry = _entry(tool)
        if entry.contract.name in seen:
            raise UsageError(f"Two client tools are called {tool.name!r}. Rename one of them.")
        seen.add(entry.contract.name)
        entries.append(entry)
    return tuple(entries)


def _entry(tool: ClientTool) -> Entry:
    if not _NAME.fullmatch(str(tool.name)):
        raise UsageError(
            f"{str(tool.name)[:80]!r} is not a name of a tool: use 1 to 64 letters, digits, '_' and '-'."
        )
    if tool.risk not in set(RiskClass):
        raise UsageError(
            f"The risk of the tool {tool.name!r} is {str(tool.risk)[:40]!r}. "
            f"Use one of: {', '.join(RiskClass)}."
        )
    try:
        contract = make_contract(
            name=client_name(tool),
            risk=tool.risk,
            description=tool.description,
            parameters=tool.parameters,
            group=CLIENT,
            origin=CLIENT,
        )
        validator = compile_schema(contract.parameters, CLIENT)
    except ContractError as error:
        said = str(error).removeprefix(f"{CLIENT}: ")
        raise UsageError(f"The tool {tool.name!r} cannot be used: {said}") from None
    spec = ToolSpec(contract.name, tool.name, contract.description, contract.parameters)
    return Entry(contract=contract, validator=validator, returns=None, spec=spec)
