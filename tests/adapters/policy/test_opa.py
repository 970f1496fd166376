"""The external server: real HTTP, the same decisions as the worker's, and whatever goes wrong is a denial."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from gerbang.adapters.policy.address import open_engine
from gerbang.adapters.policy.opa import OpaPolicy
from gerbang.errors import ConfigError
from gerbang.values import Decision

from .bundles import ALLOW, call, document
from .opa_server import OpaServer

POLICY = f"""package gerbang

decision := {ALLOW} if input.arguments.kind == "plain"

decision := {{"decision": "ask", "reasons": ["BIG"], "rule": "big"}} if input.arguments.kind == "big"
"""
TOKEN = "s3cret-t0ken"


class Kept(dict[str, str]):
    """Secrets in memory."""


def opened(url: str, *, timeout_s: float = 30, **more: Any) -> OpaPolicy:
    """Open the policy behind `url`, with patience for a busy machine."""
    return OpaPolicy.open(url, timeout_s=timeout_s, **more)


@pytest.fixture(scope="module")
def server() -> Iterator[OpaServer]:
    """A server that wants no token."""
    running = OpaServer(POLICY)
    yield running
    running.close()


def ask(policy: OpaPolicy, kind: str = "plain", *, risk: str = "compute") -> Decision:
    """Decide with an event loop and without one; both must agree."""
    given = document(risk=risk, arguments={"kind": kind})

    async def both() -> Decision:
        async with policy:
            return await policy.decide_async(given)

    blocking = policy.decide(given)
    assert asyncio.run(both()) == blocking
    return blocking


def reasons(policy: OpaPolicy, kind: str = "plain") -> tuple[str, ...]:
    """Return the reasons of a decision."""
    return ask(policy, kind).reasons


def test_decisions_arrive(server: OpaServer) -> None:
    url = server.url("gerbang/decision")
    assert ask(opened(url)).decision == "allow"
    big = ask(opened(url), "big")
    assert (big.decision, big.reasons, big.rule) == ("ask", ("BIG",), "big")
    assert reasons(opened(url), "other") == ("POLICY_UNDEFINED",)
    assert reasons(opened(server.url("gerbang/nothing"))) == ("POLICY_UNDEFINED",)
    floor = ask(opened(url), risk="destructive")
    assert (floor.decision, floor.reasons) == ("ask", ("FLOOR_DESTRUCTIVE", "OK"))


def test_the_server_sees_the_whole_document(server: OpaServer) -> None:
    given = document(
        "mail.send.v1", "external_communication", arguments={"to": "ana@example.org"}, purpose="support"
    )
    opened(server.url("gerbang/decision")).decide(given)
    headers, seen = server.seen[-1]
    assert seen == given.document()
    assert "Authorization" not in headers
    assert "Cookie" not in headers


WRONG = {
    "500": "POLICY_UNAVAILABLE",
    "404": "POLICY_UNAVAILABLE",
    "201": "POLICY_UNAVAILABLE",
    "redirect": "POLICY_UNAVAILABLE",
    "hangup": "POLICY_UNAVAILABLE",
    "html": "POLICY_RESULT",
    "empty": "POLICY_RESULT",
    "list": "POLICY_RESULT",
    "null": "POLICY_RESULT",
    "true": "POLICY_RESULT",
    "lower": "POLICY_RESULT",
    "extra": "POLICY_RESULT",
    "cut": "POLICY_RESULT",
    "huge": "POLICY_RESULT",
    "deep": "POLICY_RESULT",
    "bytes": "POLICY_RESULT",
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_answers_are_denials(server: OpaServer, kind: str) -> None:
    found = ask(opened(server.url(f"trouble/{kind}")))
    assert (found.decision, found.reasons) == ("deny", ("POLICY_ERROR", WRONG[kind]))


@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_slow_answers_are_denials_in_time(server: OpaServer, kind: str) -> None:
    found = ask(opened(server.url(f"trouble/{kind}"), timeout_s=0.2))
    assert (found.decision, found.reasons) == ("deny", ("POLICY_TIMEOUT",))


def test_nobody_listens() -> None:
    gone = OpaServer(POLICY)
    gone.close()
    found = ask(opened(gone.url("gerbang/decision")))
    assert (found.decision, found.reasons) == ("deny", ("POLICY_ERROR", "POLICY_UNAVAILABLE"))


def test_the_token_goes_along() -> None:
    guarded = OpaServer(POLICY, token=TOKEN)
    try:
        url = guarded.url("gerbang/decision")
        assert reasons(opened(url)) == ("POLICY_ERROR", "POLICY_UNAVAILABLE")
        assert reasons(opened(url, secrets=Kept(mine=TOKEN), token_name="mine")) == ("OK",)
        assert reasons(opened(url, secrets=Kept({"opa-token": TOKEN}))) == ("OK",)
        wrong = opened(url, secrets=Kept(mine="other"), token_name="mine")
        assert reasons(wrong) == ("POLICY_ERROR", "POLICY_UNAVAILABLE")
        assert TOKEN not in wrong.tell(call()).detail
    finally:
        guarded.close()


def test_no_token_follows_a_redirect(server: OpaServer) -> None:
    policy = opened(server.url("trouble/redirect"), secrets=Kept(mine=TOKEN), token_name="mine")
    count = len(server.seen)
    assert reasons(policy) == ("POLICY_ERROR", "POLICY_UNAVAILABLE")
    assert len(server.seen) == count + 2  # once for each way of asking, none at the other path


REFUSED = {
    "file:///etc/passwd": "needs an http or https URL",
    "127.0.0.1:8181/v1/data/a": "needs an http or https URL",
    "http:///v1/data/a": "needs an http or https URL",
    "http://127.0.0.1:99999/v1/data/a": "no valid URL",
    "http://me:secret@127.0.0.1/v1/data/a": "takes no user, password",
    "http://127.0.0.1/v1/data/a?token=secret": "takes no user, password",
    "http://127.0.0.1/": "ends in the path of a rule",
    "http://127.0.0.1/v1/query": "ends in the path of a rule",
}


@pytest.mark.parametrize("url", REFUSED)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=REFUSED[url]) as caught:
        opened(url)
    assert "secret@" not in str(caught.value)
    assert "token=secret" not in str(caught.value)


def test_tokens_that_are_refused() -> None:
    url = "http://127.0.0.1:8181/v1/data/a"
    with pytest.raises(ConfigError, match="no secret 'mine'"):
        opened(url, secrets=Kept(), token_name="mine")
    with pytest.raises(ConfigError, match="no secret 'mine'"):
        opened(url, token_name="mine")
    with pytest.raises(ConfigError, match="no usable token") as caught:
        opened(url, secrets=Kept(mine="a\r\nb"), token_name="mine")
    assert "a\r\nb" not in str(caught.value)
    with pytest.raises(ConfigError, match="only over https"):
        opened("http://policy.example.org/v1/data/a", secrets=Kept(mine=TOKEN), token_name="mine")
    opened("http://policy.example.org/v1/data/a", secrets=Kept({"opa-token": TOKEN}))  # not sent
    opened("https://policy.example.org/v1/data/a", secrets=Kept(mine=TOKEN), token_name="mine")


def test_the_version_follows_the_bundles_of_the_server() -> None:
    changing = OpaServer(POLICY)
    try:
        policy = opened(changing.url("gerbang/decision"))
        first, again = policy.decide(call()), policy.decide(call())
        assert first.policy_version == again.policy_version == policy.version
        changing.revision = "r2"
        assert policy.decide(call()).policy_version == policy.version != first.policy_version
    finally:
        changing.close()


def test_many_at_once_and_closing(server: OpaServer) -> None:
    async def many() -> list[Decision]:
        async with opened(server.url("gerbang/decision")) as policy:
            found = await asyncio.gather(*(policy.decide_async(call()) for _ in range(200)))
        return [*found, await policy.decide_async(call())]

    found = asyncio.run(many())
    assert {one.reasons for one in found[:-1]} == {("OK",)}
    assert found[-1].reasons == ("POLICY_ERROR", "POLICY_CLOSED")


def test_the_facts_to_resolve_are_named_by_whoever_opens_it(server: OpaServer) -> None:
    url = server.url("gerbang/decision")
    assert opened(url).needs("box.open.v1") == ()
    assert opened(url, facts=["diff.files_changed"]).needs("box.open.v1") == ("diff.files_changed",)


@pytest.mark.parametrize("address", ["", "rego", "rego:", "opa:", "cedar:x", "REGO:x", "http://127.0.0.1/"])
def test_addresses_that_name_no_engine(address: str) -> None:
    with pytest.raises(ConfigError, match="is no address of a policy engine"):
        open_engine(address)
