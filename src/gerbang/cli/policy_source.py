"""The policy that a command is about: a shipped one, a file or folder of rules, or another engine's."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer
from msgspec import Struct

from gerbang.compose.policy import CASES, SHIPPED, SHIPPED_REGO, Policy, is_rego, policy_files, shipped_path
from gerbang.errors import PolicyError, UsageError
from gerbang.ports import Policy as PolicyPort

NAMES: Final = (*SHIPPED, *SHIPPED_REGO)
"""The shipped policies."""
PolicyName = Annotated[
    str,
    typer.Argument(
        metavar="POLICY",
        help=f"A file or folder of rules or Rego, one of {', '.join(NAMES)}, rego:PATH or opa:URL.",
    ),
]
_ENDINGS: Final = (".yaml", ".yml", ".rego")
_ENGINES: Final = ("rego", "opa")


class Source(Struct, frozen=True):
    """A policy with its name. `path` is the file or folder of rules, None for another engine's policy."""

    name: str
    path: Path | None
    policy: PolicyPort

    def compiled(self) -> Policy:
        """Return the policy as rules. Raises UsageError when another engine decides."""
        if not isinstance(self.policy, Policy):
            raise UsageError(
                f"{self.name} is not a policy of rules; only rules can be explained rule by rule."
            )
        return self.policy


def path_of(name: str) -> Path:
    """Return the file or folder of a policy by its path or shipped name. Raises PolicyError."""
    path = Path(name).expanduser()
    if name in NAMES and not path.exists():
        return shipped_path(name)
    if not name or not path.exists():
        raise PolicyError(
            f"There is no policy {name!r}. Give a file, a folder, or one of: {', '.join(NAMES)}."
        )
    return path


def is_engine(name: str) -> bool:
    """Tell whether the name is of a policy that another engine decides."""
    if name.partition(":")[0] in _ENGINES or name in SHIPPED_REGO:
        return True
    return is_rego(Path(name).expanduser())


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
    for ending in _ENDINGS:
        beside = path.with_name(stem + ending)
        if beside.exists():
            return beside
    with contextlib.suppress(PolicyError):
        if policy_files(path.parent):
            return path.parent
    raise UsageError(f"There is no policy {stem}.yaml beside {path.name}. Name one with --policy.")
