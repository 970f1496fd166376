"""Limits on calls, cost and tokens that hold over runs and processes: rates and budgets by actor, tenant…"""

from collections.abc import Iterable
from typing import Any, Final, Literal

from msgspec import Struct

from gerbang.errors import ConfigError
from gerbang.values.canonical import digest
from gerbang.values.contract import Contract
from gerbang.values.principal import Principal
from gerbang.values.record import Spend, Take

By = Literal["tool", "actor", "tenant", "team", "run"]
BY: Final = ("tool", "actor", "tenant", "team", "run")


class Limit(Struct, frozen=True, gc=False):
    """A bound on what one `by` may do: one tool (of one tenant), actor, tenant, team or run.

    A rate: at most `calls` in `per_s` seconds, `burst` of them at once (GCRA). A budget: at most `cost` cost
    units, `tokens` model tokens or `calls` calls (without `per_s`) in each window of `window_s` seconds, or
    ever when that is None. `tool` narrows it to one tool, or to those under `github.*`. Raises ConfigError.
    """

    by: By
    calls: int | None = None
    per_s: float | None = None
    burst: int | None = None
    cost: float | None = None
    tokens: int | None = None
    window_s: float | None = None
    tool: str | None = None

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise ConfigError(f"A limit is by one of {', '.join(BY)}, not {self.by!r}.")
        if sum(value is not None for value in (self.calls, self.cost, self.tokens)) != 1:
            raise ConfigError("A limit counts exactly one of calls, cost and tokens.")
        for name in ("calls", "per_s", "burst", "cost", "tokens", "window_s"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and value > 0):
                raise ConfigError(f"{name} of a limit is a number above 0, not {value!r}.")
        if self.per_s is not None and (self.calls is None or self.window_s is not None):
            raise ConfigError("per_s makes a rate of calls; a budget has window_s instead.")
        if self.burst is not None and self.per_s is None:
            raise ConfigError("burst belongs to a rate (calls and per_s).")

    def covers(self, tool: str) -> bool:
        """Tell whether calls of this tool are counted."""
        if self.tool is None or self.tool == tool:
            return True
        return self.tool.endswith(".*") and tool.startswith(self.tool[:-1])

    def key(self, who: Principal, run_id: str, tool: str) -> str | None:
        """Return the name under which the store counts, None when this actor has no such thing."""
        name = {
            "tool": tool,
            "actor": who.user,
            "tenant": "",
            "team": who.team,
            "run": run_id,
        }[self.by]
        if name is None:
            return None
        counted = "rate" if self.per_s is not None else "calls" if self.calls is not None else "cost"
        counted = "tokens" if self.tokens is not None else counted
        what = [self.calls, self.per_s, self.burst, self.cost, self.tokens, self.window_s, self.tool]
        return f"{self.by}.{counted}:{digest([who.tenant, name, what])[7:39]}"

    def draw(self, contract: Contract, who: Principal, run_id: str) -> Take | Spend | None:
        """Return what one call takes from this limit. Nothing for tokens: models spend those."""
        key = self.key(who, run_id, contract.name)
        if key is None or self.tokens is not None:
            return None
        if self.per_s is not None and self.calls is not None:
            return Take(key, self.per_s / self.calls, self.burst or self.calls)
        if self.calls is not None:
            return Spend(key, self.window_s, self.calls, 1)
        return Spend(key, self.window_s, self.cost or 0.0, contract.cost_units)


class Limits(Struct, frozen=True):
    """All limits of a gateway."""

    limits: tuple[Limit, ...] = ()
    tokens: tuple[Limit, ...] = ()
    """Those that count tokens."""

    @classmethod
    def made(cls, limits: Any) -> "Limits":
        """Return them. Raises ConfigError for what is no Limit."""
        given = tuple(limits) if isinstance(limits, Iterable) else (limits,)
        for one in given:
            if not isinstance(one, Limit):
                raise ConfigError(f"limits takes gerbang.Limit objects, not {one!r:.80}.")
        return cls(given, tuple(one for one in given if one.tokens is not None))

    def of(self, contract: Contract) -> tuple[Limit, ...]:
        """Return those that count the calls of a contract."""
        return tuple(one for one in self.limits if one.tokens is None and one.covers(contract.name))
