"""Addresses of policies that other engines decide: `rego:PATH` and `opa:URL`."""

from collections.abc import Iterable
from typing import Final

from gerbang.adapters.policy.bundle import DEFAULT_ENTRY
from gerbang.adapters.policy.opa import OpaPolicy
from gerbang.adapters.policy.rego import RegoPolicy
from gerbang.errors import ConfigError
from gerbang.ports import Secrets

KINDS: Final = ("rego", "opa")


def open_engine(
    address: str,
    *,
    secrets: Secrets | None = None,
    token_name: str | None = None,
    entry: str = DEFAULT_ENTRY,
    timeout_s: float = 1.0,
    facts: Iterable[str] = (),
) -> RegoPolicy | OpaPolicy:
    """Return the policy at `address`, `rego:PATH` or `opa:URL`.

    `entry` is the rule of a Rego bundle that decides; `token_name` the secret for the server's bearer token;
    `timeout_s` bounds one decision; `facts` are the facts that the rules of a server read. Raises
    ConfigError for an address that names no policy or an engine that is not installed, and PolicyError for
    a bundle that cannot be used.
    """
    kind, colon, rest = address.partition(":")
    if kind not in KINDS or not colon or not rest:
        raise ConfigError(
            f"{address[:80]!r} is no address of a policy engine. Use rego:PATH or "
            "opa:http://127.0.0.1:8181/v1/data/gerbang/decision."
        )
    if kind == "rego":
        return RegoPolicy.open(rest, entry=entry, timeout_s=timeout_s)
    return OpaPolicy.open(rest, secrets=secrets, token_name=token_name, timeout_s=timeout_s, facts=facts)
