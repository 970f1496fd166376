"""FastMCP over HTTP as it comes, with the same tool. Prints its address; has an environment of its own."""

import logging
import socket

import uvicorn
from fastmcp import FastMCP

server = FastMCP("weather")


@server.tool
async def get_weather(city: str, days: int) -> str:
    """Current weather of a city."""
    return "sunny"


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(server.http_app(path="/mcp"), log_level="error", access_log=False)
    uvicorn.Server(config).run([listener])
