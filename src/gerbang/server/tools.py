"""`/v1/tools`: the contracts of the tools that the caller may know of."""

from typing import Any, Final

from msgspec import Struct, to_builtins

from gerbang.server.operation import SHORT, Answer, Exchange, Operation, Parameter, RouteGroup, short
from gerbang.server.problems import not_found
from gerbang.server.replies import Reply, json_reply
from gerbang.values import Contract


class ToolView(Struct, frozen=True):
    """A tool: what a model is shown, and what callers have to know of it."""

    name: str
    description: str
    risk: str
    parameters: dict[str, Any]
    returns: dict[str, Any] | None
    timeout_s: float
    intents: list[str]
    cost_units: float
    digest: str
    contract: dict[str, Any]


class ToolList(Struct, frozen=True):
    """Tools by name."""

    tools: list[ToolView]


_INTENT: Final = Parameter("intent", "query", "Only what a run with this intent may know of.", SHORT)


async def listed(exchange: Exchange) -> Reply:
    """List the tools."""
    return json_reply(ToolList([tool_view(item) for item in _offered(exchange)]))


async def shown(exchange: Exchange) -> Reply:
    """Show one tool."""
    for item in _offered(exchange):
        if item.name == exchange.path[0]:
            return json_reply(tool_view(item))
    raise not_found("tool of that name")


def _offered(exchange: Exchange) -> list[Contract]:
    who = exchange.caller.principal
    intent = exchange.query(intent=short).get("intent")
    offered = exchange.service.toolsets.of(who.tenant).gateway.tools(principal=who, intent=intent)
    return sorted(offered, key=lambda item: item.name)


def tool_view(item: Contract) -> ToolView:
    """Return a contract as it is shown. Its secrets are names, never values."""
    whole: dict[str, Any] = to_builtins(item, order="deterministic")  # the same from every process
    for name in ("name", "description", "risk", "parameters", "returns", "origin", "digest"):
        whole.pop(name, None)
    return ToolView(
        item.name,
        item.description,
        str(item.risk),
        item.parameters,
        item.returns,
        item.timeout_s,
        sorted(item.intents),
        item.cost_units,
        item.digest,
        whole,
    )


_EXAMPLE: Final[dict[str, Any]] = {
    "name": "shop.find_order.v1",
    "description": "Finds an order by its number.",
    "risk": "read_external",
    "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
    "returns": None,
    "timeout_s": 30.0,
    "intents": [],
    "cost_units": 0.0,
    "digest": "sha256:…",
    "contract": {},
}
GROUP: Final = RouteGroup(
    "catalogue",
    "The contracts of tools.",
    (
        Operation(
            "GET",
            "/v1/tools",
            listed,
            "catalogue",
            "List the tools",
            right="calls",
            parameters=(_INTENT,),
            answers=(Answer(200, "The tools", ToolList, {"tools": [_EXAMPLE]}),),
            problems=(400, 401, 403, 429, 500),
        ),
        Operation(
            "GET",
            "/v1/tools/{name}",
            shown,
            "catalogue",
            "Show one tool",
            right="calls",
            parameters=(_INTENT,),
            answers=(Answer(200, "The tool", ToolView, _EXAMPLE),),
            problems=(400, 401, 403, 404, 429, 500),
        ),
    ),
)
