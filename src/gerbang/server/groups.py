"""All groups of routes that this version has. A further part of the server adds its group here."""

from gerbang.server import (
    api_tools,
    approvals,
    audit,
    calls,
    documents,
    health,
    openai_api,
    runs,
    tools,
    websocket,
)
from gerbang.server.console import group as console
from gerbang.server.operation import RouteGroup


def default_groups() -> list[RouteGroup]:
    """Return the groups, in the order in which the document of the API shows them."""
    groups = [
        calls.GROUP,
        runs.GROUP,
        approvals.GROUP,
        audit.GROUP,
        openai_api.GROUP,
        tools.GROUP,
        api_tools.GROUP,
        websocket.GROUP,
        health.GROUP,
        console.group(),
    ]
    return [*groups, documents.group(groups)]
