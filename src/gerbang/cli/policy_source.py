"""The policy that a command is about: a shipped one, a file or folder of rules, or another engine's."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec import Struct

from gerbang.compose.policy import CASES, SHIPPED, Policy, policy_files, shipped_path
from gerbang.errors import PolicyError, UsageError
from gerbang.ports import Policy as PolicyPort

PolicyName = Annotated[
    str,
    typer.Argument(
        metavar="POLICY",
        help=f"A file or folder of rules, one of {', '.join(SHIPPED)}, rego:PATH or opa:URL.",
    ),
]
_RULES: Final = (".yaml", ".yml")
_ENGINES: Final = ("rego", "opa")


class Source(Struct, frozen=True):
    """A policy with its name. `path` is the file or folder of rules, None for another engine's policy."""

    name: str
    path: Path | None
    policy: PolicyPort

    def compiled(self) -> Policy:
        """Return the policy as rules. Raises UsageError when another engine decides."""
        if not isinstance(self.policy, Policy):
            raise UsageError(f"{self.name} is not a policy of rules; only rules can be explained and linted.")
        return self.policy


def path_of(name: str) -> Path:
    """Return the file or folder of a policy by its path or shipped name. Raises PolicyError."""
    path = Path(name).expanduser()
    if name in SHIPPED and not path.exists():
        return shipped_path(name)
    if not path.exists():
        raise PolicyError(
            f"There is no policy {name!r}. Give a file, a folder, or one of: {', '.join(SHIPPED)}."
        )
    return path


def is_engine(name: str) -> bool:
    """Tell whether the name is of a policy that another engine decides."""
    return name.partition(":")[0] in _ENGINES or name.endswith(".rego")


@contextlib.contextmanager
def opened(name: str) -> Iterator[Source]:
    """Load the policy of that name. Raises PolicyError and ConfigError."""
    if is_engine(name):
        engine = Policy.open(name)
        try:
            yield Source(name, None, engine)
        finally:
            close = getattr(engine, "close", None)
            if close is not None:  # a server needs none: nothing was left open
                close()
        return
    path = path_of(name)
    yield Source(name, path, Policy.load(path))


def case_files(path: Path) -> list[Path]:
    """Return the files of cases that lie beside a policy: in its folder, or under its name."""
    if path.is_dir():
        return sorted(item for item in path.iterdir() if item.name.endswith(CASES))
    beside = path.with_name(path.stem + CASES)
    return [beside] if beside.exists() else []


def policy_of_cases(path: Path) -> Path:
    """Return the policy that lies beside a file of cases. Raises UsageError when there is none."""
    stem = path.name.removesuffix(CASES)
    for ending in _RULES:
        beside = path.with_name(stem + ending)
        if beside.exists():
            return beside
    with contextlib.suppress(PolicyError):
        if policy_files(path.parent):
            return path.parent
    raise UsageError(f"There is no policy {stem}.yaml beside {path.name}. Name one with --policy.")
