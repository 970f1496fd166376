"""All groups of routes that this version has. A further part of the server adds its group here."""

from gerbang.server import calls, health, websocket
from gerbang.server.operation import RouteGroup


def default_groups() -> list[RouteGroup]:
    """Return the groups, in the order in which the document of the API shows them."""
    return [calls.GROUP, websocket.GROUP, health.GROUP]
