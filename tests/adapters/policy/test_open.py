"""`Policy.open`: one address for every kind of policy, the same handling of all."""

import asyncio
from pathlib import Path

import pytest

import gerbang as g
from gerbang.compose.policy import Policy
from gerbang.errors import ConfigError, PolicyError

from .bundles import HARD, call, rego, write
from .opa_server import OpaServer

RULES = "version: 1\nrules:\n  - {id: all, match: {risk: compute}, decision: allow, reason: OK}\n"


def test_every_kind_by_its_address(tmp_path: Path) -> None:
    server = OpaServer(HARD.replace("forever(1)", "false"))
    folder = write(tmp_path / "folder", {"a.rego": HARD})
    rules = write(tmp_path, {"rules.yaml": RULES}) / "rules.yaml"
    file = rego(tmp_path, HARD)
    addresses = [
        f"rules:{rules}",
        f"{rules}",
        f"rego:{folder}",
        f"rego:{file}",
        f"{file}",
        f"opa:{server.url('gerbang/decision')}",
    ]

    async def decided(address: str) -> tuple[str, ...]:
        async with Policy.open(address) as policy:
            assert policy.version.startswith("sha256:")
            return policy.decide(call()).reasons

    try:
        for address in addresses:
            assert asyncio.run(decided(address)) == ("OK",), address
    finally:
        server.close()


@pytest.mark.parametrize(
    "address", ["", "rules:", "nowhere.yaml", "rego:nowhere", "nowhere.rego", "cedar:x", "opa:x"]
)
def test_addresses_that_lead_nowhere(address: str) -> None:
    with pytest.raises((PolicyError, ConfigError)):
        Policy.open(address)


def test_a_gateway_decides_by_rego(tmp_path: Path) -> None:
    @g.tool(name="box.open.v1", risk="compute")
    async def open_box(kind: str) -> str:
        """Open a box."""
        return f"opened {kind}"

    async def calls() -> list[tuple[str, str]]:
        async with (
            Policy.open(f"rego:{rego(tmp_path, HARD)}", timeout_s=0.4) as policy,
            g.Gateway(tools=[open_box], policy=policy, store="memory:") as gate,
        ):
            found = [gate.decide("box.open.v1", {"kind": "plain"}).reasons[0]]
            results = [await gate.call("box.open.v1", {"kind": kind}) for kind in ("plain", "hang", "other")]
        codes = [(one.status, one.error.error_code if one.error else "") for one in results]
        return [("dry", found[0]), *codes]

    assert asyncio.run(calls()) == [("dry", "OK"), ("ok", ""), ("error", "POLICY_TIMEOUT"), ("error", "NO")]
