"""Tools that are descriptions of HTTP requests: python examples/http_tools.py [MODEL]"""

import asyncio
import json
import sys

from aiohttp import web

import gerbang as g
from gerbang.testing import ScriptedModel

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CALLS = [("weather", {"city": "Rio/RJ"}), ("weather", {"city": "Atlantis"})]


async def answer(request: web.BaseRequest) -> web.Response:
    print(request.method, request.raw_path)
    known = request.raw_path == "/weather/Rio%2FRJ"
    return web.json_response({"celsius": 21}) if known else web.Response(status=404, text="no city")


async def main() -> None:
    server = web.ServerRunner(web.Server(answer))
    await server.setup()
    await web.TCPSite(server, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{server.addresses[0][1]}/weather/{{city}}"
    tool = {"name": "weather", "description": "Weather.", "parameters": CITY, "url": url, "method": "GET"}
    with open("tools.json", "w") as file:  # noqa: ASYNC230 - a few bytes, before anything runs
        json.dump([tool], file)
    model = sys.argv[1] if sys.argv[1:] else ScriptedModel([CALLS, "It is 21 degrees."])
    async with g.Gateway(g.load_tools("tools.json"), policy=g.Policy.shipped("voice")) as gate:
        result = await g.Agent(model, gate, profile="voice").run("How warm is it in Rio, and in Atlantis?")
    print(*(call.for_model for call in result.calls), result.answer, sep="\n")
    await server.cleanup()


asyncio.run(main())
