"""Functions that the contract files of the tests name."""

from typing import Annotated

import gerbang as g
from gerbang.contract.document import Argument


async def forecast(
    city: Annotated[str, Argument("control", resource="place")], days: int = 3
) -> dict[str, object]:
    """Forecast for a city.

    Args:
        city: Name of the city.
    """
    return {"city": city, "days": days}


def pay(account: str, amount: int, tenant: str, key: str, context: g.CallContext) -> dict[str, object]:
    """Pays."""
    return {"to": account, "amount": amount, "tenant": tenant, "key": key, "user": context.principal.user}


@g.tool(name="decorated.v1", risk="compute")
def decorated(text: str) -> str:
    """Says it again."""
    return text


NOT_A_FUNCTION = 3
