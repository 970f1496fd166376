"""Counters of one run. Counted before the call, so that a batch cannot overdraw them."""

from gerbang.values import CallError
from gerbang.values.sentences import said


class Budget:
    """What a run may still do. `None` means no limit; `deadline` is a monotonic time in seconds.

    `cost` is in cost units of the contracts, `tokens` counts what the model read and wrote.
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_repeats: int | None = None,
        deadline: float | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self.cost = 0.0
        self.tokens = 0
        self.max_calls = max_calls
        self.max_repeats = max_repeats
        self.deadline = deadline
        self.calls = 0
        self._by_tool: dict[str, int] = {}
        self._by_call: dict[str, int] = {}
        self._refused: dict[str, CallError] = {}
        self._turned_away: set[str] = set()

    @property
    def bounded(self) -> bool:
        """True when anything but repetition has a limit."""
        return not (self.max_calls is None is self.deadline and self.max_cost is None is self.max_tokens)

    def calls_of(self, tool: str) -> int:
        """Return how often the tool was called so far in this run."""
        return self._by_tool.get(tool, 0)

    def remaining(self, now: float) -> float | None:
        """Return the seconds left, or None without a deadline."""
        return None if self.deadline is None else self.deadline - now

    def take(self, tool: str, fingerprint: str, now: float, cost: float = 0.0) -> CallError | None:
        """Count one call, or return why it may not be made; that counts nothing."""
        if self._refused and fingerprint in self._refused:
            return self._refused[fingerprint]
        if self.deadline is not None and now >= self.deadline:
            return said("budget_exceeded", "BUDGET_TIME")
        if self.max_calls is not None and self.calls >= self.max_calls:
            return said("budget_exceeded", "BUDGET_CALLS", {"limit": self.max_calls})
        if self.max_cost is not None and self.cost + cost > self.max_cost:
            return said("budget_exceeded", "BUDGET_COST")
        if self.max_repeats is not None:
            times = self._by_call.get(fingerprint, 0)
            if times >= self.max_repeats:
                return said("budget_exceeded", "REPEATED_CALL", {"times": times})
            self._by_call[fingerprint] = times + 1
        self.calls += 1
        self.cost += cost
        self._by_tool[tool] = self._by_tool.get(tool, 0) + 1
        return None

    def give_back(self, tool: str, fingerprint: str, cost: float) -> None:
        """Take a counted call back: it is to be counted anew."""
        if self.max_repeats is not None:
            self._by_call[fingerprint] -= 1
        self._by_tool[tool] -= 1
        self.calls -= 1
        self.cost -= cost

    def recall(self, tool: str, fingerprint: str, cost: float) -> None:
        """Count a call that the run made before this process took it up."""
        self._by_call[fingerprint] = self._by_call.get(fingerprint, 0) + 1
        self._by_tool[tool] = self._by_tool.get(tool, 0) + 1
        self.calls += 1
        self.cost += cost

    def out_of_tokens(self) -> bool:
        """Tell whether the model may not be asked again."""
        return self.max_tokens is not None and self.tokens >= self.max_tokens

    def refuse_again(self, fingerprint: str, error: CallError) -> None:
        """Remember a person's refusal: the same call is refused again without asking."""
        self._refused[fingerprint] = error

    def turn_away(self, fingerprint: str) -> None:
        """Remember that the target turned a call away for now which only a person may send again."""
        self._turned_away.add(fingerprint)

    def turned_away(self, fingerprint: str) -> bool:
        """Tell whether it takes a person to make the same call again."""
        return fingerprint in self._turned_away

    def refused(self, fingerprint: str) -> CallError | None:
        """Return the remembered refusal of the same call."""
        return self._refused.get(fingerprint)
