"""The plain server: the same HTTP stack, a validated tool call, no gate and no record."""

import json
import socket
from typing import Any

import jsonschema_rs
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
VALID = jsonschema_rs.validator_for(SCHEMA)


async def get_weather(city: str, days: int) -> str:
    return "sunny"


TOOLS: dict[str, Any] = {"get_weather": get_weather}


async def call(request: Request) -> JSONResponse:
    body = json.loads(await request.body())
    VALID.validate(body["arguments"])
    said = await TOOLS[body["name"]](**body["arguments"])
    return JSONResponse({"content": [{"type": "text", "text": said}], "isError": False})


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    app = Starlette(routes=[Route("/call", call, methods=["POST"])])
    config = uvicorn.Config(app, http="httptools", loop="uvloop", log_level="error", access_log=False)
    uvicorn.Server(config).run([listener])
