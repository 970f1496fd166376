"""Budgets of model tokens: of one run in its own counter, of actors, tenants and teams in the store."""

from gerbang.ports import Store
from gerbang.runtime.session import RunSession
from gerbang.runtime.writing import write
from gerbang.values.limit import Limit
from gerbang.values.record import Batch, Spend


async def over_tokens(store: Store, session: RunSession) -> bool:
    """Tell whether a budget is used up, so that the model may not be asked. Raises StoreError."""
    for limit in session.token_limits:
        key = _key(limit, session)
        if key is not None and await store.spent(key, limit.window_s) >= (limit.tokens or 0):
            return True
    return False


async def spend_tokens(store: Store, session: RunSession, tokens: int) -> None:
    """Count what an answer has cost in the store, also where it was more than was left. Raises StoreError."""
    keys = [(_key(limit, session), limit.window_s) for limit in session.token_limits]
    spends = tuple(Spend(key, window, float("inf"), tokens) for key, window in keys if key is not None)
    if spends and tokens:
        await write(store, Batch(spends=spends))


def _key(limit: Limit, session: RunSession) -> str | None:
    return limit.key(session.principal, session.run_id, "")
