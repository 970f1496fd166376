"""`GET` and `POST /api/tools`: the declarative HTTP tools of the caller's tenant, replaced in memory."""

from typing import Any, Final

from msgspec import Struct

from gerbang.adapters.tools.http_file import read_tools
from gerbang.errors import ContractError
from gerbang.server.operation import Answer, Exchange, Operation, RouteGroup
from gerbang.server.problems import bad_request, problem
from gerbang.server.replies import Reply, json_reply
from gerbang.server.toolsets import Toolset

_ORIGIN: Final = "the request"


class ActiveTools(Struct, frozen=True):
    """The definitions in use from the next turn on. `source` is where they came from; `tools` their names."""

    ok: bool
    count: int
    source: str
    tools: list[str]


async def show(exchange: Exchange) -> Reply:
    """Tell the active definitions."""
    return json_reply(_active(exchange.service.toolsets.of(exchange.caller.principal.tenant)))


async def replace(exchange: Exchange) -> Reply:
    """Replace the definitions from the next turn on. A turn that runs keeps those that it began with."""
    service, caller = exchange.service, exchange.caller
    if not service.settings.llm:
        raise problem(
            503,
            "internal_error",
            "LLM_OFF",
            "The model is switched off here.",
            "Start the server with --model.",
        )
    data = exchange.body
    if not data.strip():
        raise bad_request("The body is empty.", "Send a JSON array of tools.", "EMPTY")
    try:
        tools = read_tools(
            data,
            origin=_ORIGIN,
            egress=service.egress,
            timeout_s=service.tool_timeout_s,
            trusted=caller.may("admin") or not caller.authenticated,
            approved=caller.authenticated,
            may_name_secrets=caller.may("admin"),
        )
        if not tools:
            raise bad_request("There is no tool in the array.", "Send at least one.", "NO_TOOL")
        toolset = await service.toolsets.replace(caller.principal.tenant, tools)
    except ContractError as error:
        raise bad_request(
            str(error), "Mend the definitions and send all of them again.", "DEFINITION"
        ) from None
    if caller.authenticated:
        await _approve(exchange, toolset)
    return json_reply(_active(toolset))


async def _approve(exchange: Exchange, toolset: Toolset) -> None:
    """Record that the caller stands for these definitions: who may replace them may approve them."""
    service, caller = exchange.service, exchange.caller
    at = toolset.gateway.clock.now()
    for tool in toolset.definitions:
        name = f"{caller.principal.tenant}/{tool.contract.name}"
        await service.store.pin(name, tool.contract.digest, caller.principal.user, at)


def _active(toolset: Toolset) -> ActiveTools:
    names = toolset.names
    return ActiveTools(True, len(names), toolset.source, names)


_URL: Final = (
    r"^https?://([a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*|127\.0\.0\.1|\[::1\])(:[1-9][0-9]{0,3})?(/[!-~]*)?$"
)


def _text(about: str, pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern, "description": about}


DEFINITION: Final[dict[str, Any]] = {
    "type": "array",
    "minItems": 1,
    "maxItems": 1000,
    "uniqueItems": True,  # no two of one name, which a schema cannot say
    "items": {
        "type": "object",
        "required": ["name", "url"],
        "properties": {
            "name": _text("What the model calls it.", "^[A-Za-z][A-Za-z0-9_]{0,63}$"),
            "description": {
                "type": "string",
                "description": "When to use it, and what it gives; the model goes by it.",
            },
            "parameters": {
                "description": "A JSON Schema of the arguments; an object without properties if left out.",
                "type": "object",
            },
            "url": _text("With {argument} placeholders in its path and query.", _URL),
            "method": {"type": "string", "description": "Any verb; POST if left out."},
            "headers": {
                "description": "With {argument} placeholders in the values.",
                "type": "object",
                "propertyNames": {"pattern": "^[A-Za-z][A-Za-z0-9-]*$"},
                "additionalProperties": {"type": "string", "pattern": "^[^\\x00-\\x1f\\x7f]*$"},
            },
        },
        "additionalProperties": False,
    },
}
_LAMP: Final = [
    {
        "name": "switch_lamp",
        "description": "Switches the lamp of a room on or off. Returns its new state.",
        "parameters": {
            "type": "object",
            "properties": {"room": {"type": "string"}, "on": {"type": "boolean"}},
        },
        "url": "https://home.example.com/lamps",
        "method": "PUT",
    }
]
_ANSWER: Final = {"ok": True, "count": 1, "source": "request", "tools": ["switch_lamp"]}
GROUP: Final = RouteGroup(
    "tools",
    "Declarative HTTP tools: a tool is the description of a request.",
    (
        Operation(
            "GET",
            "/api/tools",
            show,
            "tools",
            "Tell the active tool definitions",
            right="runs",
            answers=(Answer(200, "The active definitions", ActiveTools, _ANSWER),),
            problems=(400, 401, 403, 429, 500),
        ),
        Operation(
            "POST",
            "/api/tools",
            replace,
            "tools",
            "Replace the tool definitions from the next turn on",
            right="tools",
            about="In memory only: a restart brings the file's back. A turn that runs keeps the definitions "
            "that it began with. Definitions name no secrets, and no private addresses, unless the key has "
            "the right `admin`.",
            body=DEFINITION,
            body_about="A JSON array of tools. Fields of contracts, such as `risk`, are taken as well.",
            examples={"lamp": {"summary": "One tool", "value": _LAMP}},
            answers=(Answer(200, "The definitions that are active now", ActiveTools, _ANSWER),),
            problems=(400, 401, 403, 413, 429, 500, 503),
        ),
    ),
)
