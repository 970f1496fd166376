"""`/healthz`, `/readyz` and `/metrics`."""

from typing import Final

from gerbang.server.metrics import CONTENT_TYPE
from gerbang.server.operation import Answer, Exchange, Operation, RouteGroup
from gerbang.server.problems import wait
from gerbang.server.replies import Reply, json_reply
from gerbang.server.schemas import Health

_OK: Final = {"status": "ok"}
_FIGURES: Final = """\
# HELP gerbang_tool_calls_total Calls that ended, by tool and how.
# TYPE gerbang_tool_calls_total counter
gerbang_tool_calls_total{error_code="",status="success",tool="weather.get_current.v1"} 4.0
"""


async def alive(_: Exchange) -> Reply:
    """Say that the process answers."""
    return json_reply(_OK)


async def ready(exchange: Exchange) -> Reply:
    """Say whether calls can be made: the store answers, and the server is not stopping."""
    service = exchange.service
    if not service.ready:
        raise wait(503, "cancelled", "SHUTTING_DOWN", "The server is shutting down.", 5)
    await service.store.run("readiness")  # raises StoreError, which is a 503
    return json_reply(_OK)


async def metrics(exchange: Exchange) -> Reply:
    """Give the figures."""
    return Reply(exchange.service.metrics.text(), 200, CONTENT_TYPE.encode())


GROUP: Final = RouteGroup(
    "health",
    "Is it alive, is it ready, and what does it count?",
    (
        Operation(
            "GET",
            "/healthz",
            alive,
            "health",
            "Is the process alive?",
            answers=(Answer(200, "It is", Health, _OK),),
            problems=(421,),
        ),
        Operation(
            "GET",
            "/readyz",
            ready,
            "health",
            "Can calls be made?",
            answers=(Answer(200, "They can", Health, _OK),),
            problems=(421, 503),
        ),
        Operation(
            "GET",
            "/metrics",
            metrics,
            "health",
            "Figures for Prometheus",
            right="metrics",
            answers=(Answer(200, "The figures", str, _FIGURES, content_type="text/plain"),),
            problems=(401, 403, 429),
        ),
    ),
)
