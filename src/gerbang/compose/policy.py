"""Loading policies: the shipped ones by name, others from files."""

from pathlib import Path
from typing import Any

from gerbang.errors import PolicyError
from gerbang.policy import rules
from gerbang.policy.input import PolicyInput
from gerbang.policy.rules import RulesPolicy, compile_rules, load_rules
from gerbang.values import Decision

SHIPPED = ("strict", "read-only")


class Policy:
    """A loaded policy. Make one with `default`, `shipped`, `load` or `from_rules`."""

    def __init__(self, compiled: RulesPolicy) -> None:
        self._rules = compiled

    @classmethod
    def default(cls) -> "Policy":
        """Return the shipped policy `strict`: reads run, changes ask, the rest is denied."""
        return cls.shipped("strict")

    @classmethod
    def shipped(cls, name: str) -> "Policy":
        """Return a shipped policy by name. Raises PolicyError with the known names."""
        if name not in SHIPPED:
            raise PolicyError(f"There is no shipped policy {name!r}. Use one of: {', '.join(SHIPPED)}.")
        text = (Path(rules.__file__).parent / "shipped" / f"{name}.yaml").read_text("utf-8")
        return cls(load_rules(text, f"{name}.yaml"))

    @classmethod
    def load(cls, path: str | Path) -> "Policy":
        """Return the policy of a YAML file. Raises PolicyError when it cannot be read or is wrong."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PolicyError(f"{path}: the policy cannot be read: {error}") from None
        return cls(load_rules(text, str(path)))

    @classmethod
    def from_rules(cls, rules: list[dict[str, Any]], defaults: dict[str, str] | None = None) -> "Policy":
        """Return a policy of rules written in Python, the same as in YAML."""
        return cls(compile_rules({"version": 1, "rules": rules, "defaults": defaults or {}}, "policy"))

    @property
    def version(self) -> str:
        """Digest of the policy."""
        return self._rules.version

    def decide(self, document: PolicyInput) -> Decision:
        """Return the decision for one call."""
        return self._rules.decide(document)
