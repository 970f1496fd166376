"""The tool of the HTTP benchmark."""

import gerbang as g


@g.tool(name="weather.get_current.v1", risk="read_internal")
async def get_weather(city: str, days: int) -> str:
    """Current weather of a city."""
    return "sunny"


TOOLS = [get_weather]
