"""Loading policies: the shipped ones by name, others from a file or a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gerbang.compose.policy_zones import zone
from gerbang.errors import PolicyError, UsageError
from gerbang.policy import rules
from gerbang.policy.bundle import compile_rules, load_bundle
from gerbang.policy.input import PolicyInput
from gerbang.policy.rules import RulesPolicy
from gerbang.ports import Secrets
from gerbang.values import Decision

if TYPE_CHECKING:
    from gerbang.adapters.policy.opa import OpaPolicy
    from gerbang.adapters.policy.rego import RegoPolicy
    from gerbang.compose.policy_watch import WatchedPolicy
    from gerbang.compose.policy_watch_rego import WatchedRego

SHIPPED: Final = ("strict", "read-only", "developer-workstation", "voice")
SHIPPED_REGO: Final = ("repository-agent",)
"""Shipped policies that are written in Rego."""
CASES: Final = ".cases.yaml"
"""How the names of files of cases end. They lie beside a policy and are no part of it."""
_FOLDER: Final = Path(rules.__file__).parent / "shipped"
_MAX_FILES: Final = 1_000


class Policy:
    """A loaded policy. Make one with `default`, `shipped`, `load` or `from_rules`."""

    def __init__(self, compiled: RulesPolicy) -> None:
        if not isinstance(compiled, RulesPolicy):
            raise UsageError(
                f"Make a policy with Policy.shipped, load, open or from_rules, not of {compiled!r:.80}."
            )
        self.rules = compiled

    @classmethod
    def default(cls) -> "Policy":
        """Return the shipped policy `strict`: reads run, changes ask, the rest is denied."""
        return cls.shipped("strict")

    @classmethod
    def shipped(cls, name: str) -> "Policy":
        """Return a shipped policy of rules by name. Raises PolicyError with the known names.

        `open` knows those in Rego as well.
        """
        return cls(load_bundle(policy_texts(shipped_path(name)), zone))

    @classmethod
    def load(cls, path: str | Path) -> "Policy":
        """Return the policy of a YAML file, or of all `*.yaml` files of a folder as one.

        Files whose names end in `.cases.yaml` are left out. Raises PolicyError, with file, line and column
        where something is wrong, and when there is nothing to read.
        """
        return cls(load_bundle(policy_texts(Path(path)), zone))

    @classmethod
    def open(
        cls,
        address: str,
        *,
        secrets: Secrets | None = None,
        token_name: str | None = None,
        facts: tuple[str, ...] = (),
        timeout_s: float = 1.0,
    ) -> "Policy | RegoPolicy | OpaPolicy":
        """Return the policy at `rules:PATH`, `rego:PATH` or `opa:URL`. Close it with `aclose`.

        A name alone is a shipped policy, or a path: Rego when it is a `.rego` file or a folder of them, else
        rules. Rego needs the extra `rego`. `token_name` is the secret for the server's bearer token, `facts`
        the facts that its rules read; `timeout_s` bounds one decision of the two. Raises PolicyError and
        ConfigError.
        """
        kind, colon, rest = address.partition(":")
        if kind in ("rego", "opa") and colon:
            from gerbang.adapters.policy.address import open_engine

            return open_engine(
                address, secrets=secrets, token_name=token_name, facts=facts, timeout_s=timeout_s
            )
        path = Path(rest if kind == "rules" and colon else address).expanduser()
        if address in (*SHIPPED, *SHIPPED_REGO) and not path.exists():
            path = shipped_path(address)
        if kind != "rules" and is_rego(path):
            return cls.open(f"rego:{path}", timeout_s=timeout_s)
        return cls.load(path)

    @classmethod
    def watch(cls, path: str | Path, **options: Any) -> "WatchedPolicy | WatchedRego":
        """Return a policy that follows its file or folder, of rules or Rego, while it is in use.

        `options` are those of `gerbang.compose.policy_watch.Watched`: `on_swap`, `on_bad`, `poll_s`.
        Raises PolicyError when it does not load now.
        """
        from gerbang.compose.policy_watch import WatchedPolicy  # it imports this module

        if is_rego(Path(path)):
            from gerbang.compose.policy_watch_rego import WatchedRego

            return WatchedRego(path, **options)
        return WatchedPolicy(path, **options)

    @classmethod
    def from_rules(
        cls, rules: list[dict[str, Any]], defaults: dict[str, str] | None = None, **more: Any
    ) -> "Policy":
        """Return a policy of rules written in Python, the same as in YAML. `more` are its other fields."""
        written = {"version": 1, "rules": rules, "defaults": defaults or {}, **more}
        return cls(compile_rules(written, "policy", zone))

    @property
    def version(self) -> str:
        """Digest of the policy."""
        return self.rules.version

    @property
    def asks(self) -> frozenset[str]:
        """The parts of the policy document that rules look at."""
        return self.rules.asks

    def needs(self, tool: str) -> tuple[str, ...]:
        """Return the names of the facts that have to be resolved before a call of the tool is decided."""
        return self.rules.needs(tool)

    def decide(self, document: PolicyInput) -> Decision:
        """Return the decision for one call, floors included."""
        return self.rules.decide(document)

    async def aclose(self) -> None:
        """Do nothing: rules hold nothing open. Policies of other engines do."""

    async def __aenter__(self) -> "Policy":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def shipped_path(name: str) -> Path:
    """Return the file of a shipped policy. Raises PolicyError with the known names."""
    if name in SHIPPED_REGO:
        return _FOLDER / f"{name}.rego"
    if name not in SHIPPED:
        raise PolicyError(f"There is no shipped policy {name!r}. Use one of: {', '.join(SHIPPED)}.")
    return _FOLDER / f"{name}.yaml"


def is_rego(path: Path) -> bool:
    """Tell whether a path is of Rego: a `.rego` file, or a folder that has some and no rules."""
    if not path.is_dir():
        return path.suffix == ".rego"
    endings = {item.suffix for item in path.iterdir() if not item.name.endswith(CASES)}
    return ".rego" in endings and endings.isdisjoint({".yaml", ".yml"})


def policy_files(path: Path) -> list[Path]:
    """Return the files of a policy: the file itself, or the `*.yaml` files of a folder, cases left out."""
    if not path.is_dir():
        return [path]
    found = sorted(item for item in path.iterdir() if item.suffix in (".yaml", ".yml") and item.is_file())
    found = [item for item in found if not item.name.endswith(CASES)]
    if not found or len(found) > _MAX_FILES:
        raise PolicyError(
            f"{path}: the policy cannot be read: the folder holds {len(found)} files of rules (*.yaml); "
            f"it takes 1 to {_MAX_FILES}."
        )
    return found


def policy_texts(path: Path) -> dict[str, str]:
    """Return the texts of a policy by the names of their files. Raises PolicyError."""
    try:
        if path.is_dir():
            return {item.name: item.read_text("utf-8") for item in policy_files(path)}
        name = path.name if path.parent == _FOLDER else str(path)  # a shipped one goes by its name alone
        return {name: path.read_text("utf-8")}
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path}: the policy cannot be read: {_why(error)}. Check the path.") from None


def _why(error: OSError | UnicodeDecodeError) -> str:
    """Return the reason alone: the system's own words would name the path a second time."""
    return (
        "it is not UTF-8 text"
        if isinstance(error, UnicodeDecodeError)
        else error.strerror or "no reason given"
    )
