"""Prints the gate's CPU for one call, in microseconds, without HTTP. Usage: http_gate.py CALLS."""

import asyncio
import sys
import time

from http_tool import TOOLS

import gerbang as g


async def main(calls: int) -> float:
    async with g.Gateway(TOOLS) as gate:
        for count in (calls // 10, calls):
            began = time.process_time()
            for _ in range(count):
                await gate.call("weather.get_current.v1", {"city": "Paris", "days": 3})
            spent = (time.process_time() - began) / count
    return spent * 1e6


if __name__ == "__main__":
    print(asyncio.run(main(int(sys.argv[1]))))
