"""What the application puts into a connection's scope for a group's own routes."""

from starlette.types import Scope

from gerbang.server.identity import Caller
from gerbang.server.service import Service

CALLER = "gerbang.caller"
SERVICE = "gerbang.service"


def caller_of(scope: Scope) -> Caller | None:
    """Return who sent a request, None when nobody said it."""
    found: Caller | None = scope.get(CALLER)
    return found


def service_of(scope: Scope) -> Service:
    """Return the service behind a route."""
    found: Service = scope[SERVICE]
    return found
