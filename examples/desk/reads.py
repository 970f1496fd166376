"""Bodies of the reading tools."""

import gerbang as g

REFUNDS: dict[tuple[str, int], str] = {}


async def weather(city: str) -> dict[str, object]:
    return {"celsius": 31, "sky": "clear"}


async def read_file(repository: str, path: str) -> dict[str, object]:
    return {"text": f"# {repository}\n", "version": "a1"}


async def find_refund(order: str, cents: int) -> dict[str, object]:
    refund = REFUNDS.get((order, cents))
    if refund is None:
        raise g.ToolError("There is no such refund.", code="NOT_FOUND", error_type="semantic_error")
    return {"refund": refund}
