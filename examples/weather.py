"""One tool, one question, with the embedded model. Run it: python examples/weather.py"""

import asyncio
from contextlib import aclosing

import gerbang as g


@g.tool(name="weather.get_current.v1", risk="read_external")
async def get_weather(city: str) -> dict[str, object]:
    """Current weather for a city. Use for weather now, not for forecasts. Returns degrees Celsius."""
    return {"city": city, "celsius": 21}


async def main() -> None:
    async with (
        g.Gateway(tools=[get_weather], store="memory:") as gate,
        aclosing(g.Agent(model="embedded:", gateway=gate)) as agent,
    ):
        result = await agent.run("What is the weather in Paris?")
        print(result.answer)
        for call in result.calls:
            if call.decision is not None:
                print(call.tool, call.decision.decision, *call.decision.reasons)


asyncio.run(main())
