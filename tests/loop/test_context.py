"""The context window: old results are shortened first, visibly, and the total is always true."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gerbang.limits import CHARS_PER_TOKEN
from gerbang.loop.context import KEEP_CHARS, Transcript, weight
from gerbang.values.message import Message, Role, ToolCall


def tool(size: int) -> Message:
    return Message("tool", "r" * size, tool_call_id="c", name="a")


def transcript(messages: list[Message], chars: int) -> Transcript:
    return Transcript(messages, window_tokens=chars // CHARS_PER_TOKEN, reserve_tokens=0)


def test_what_fits_is_left_alone() -> None:
    messages = [Message("user", "hi"), tool(5_000)]
    got = transcript(list(messages), 9_000)
    assert got.fit()
    assert got.messages == messages
    assert got.shortened == 0


def test_the_oldest_result_is_shortened_first_and_says_so() -> None:
    got = transcript([Message("user", "q"), tool(2_000), tool(2_000), tool(2_000)], 4_700)
    assert got.fit()
    assert got.messages[1].content == (
        "r" * KEEP_CHARS + "… [shortened to fit the context window, 2000 characters in all]"
    )
    assert [len(message.content) for message in got.messages[2:]] == [2_000, 2_000]
    assert (got.shortened, got.messages[1].tool_call_id, got.messages[1].name) == (1, "c", "a")


def test_the_last_result_goes_last() -> None:
    got = transcript([tool(2_000), tool(2_000)], 600)
    assert not got.fit() or got.size <= got.limit
    assert all(len(message.content) < 300 for message in got.messages)
    got = transcript([tool(2_000), tool(2_000)], 2_700)
    assert got.fit()
    assert [len(message.content) < 300 for message in got.messages] == [True, False]


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_nothing_but_results_is_ever_shortened(role: Role) -> None:
    got = transcript([Message(role, "x" * 5_000)], 300)
    assert not got.fit()
    assert got.messages == [Message(role, "x" * 5_000)]


def test_the_reserve_is_kept_free() -> None:
    got = Transcript([], window_tokens=100, reserve_tokens=40)
    assert got.limit == 60 * CHARS_PER_TOKEN
    assert Transcript([], window_tokens=10, reserve_tokens=40).limit == 0


def test_short_results_are_not_worth_it() -> None:
    got = transcript([tool(KEEP_CHARS + 80) for _ in range(10)], 600)
    assert not got.fit()
    assert got.shortened == 0


def test_each_message_is_looked_at_once() -> None:
    """Flat in history: after a fit that shortened everything, the next looks at new messages only."""
    looked: list[int] = []

    class Watched(list[Message]):
        def __getitem__(self, index):  # type: ignore[no-untyped-def]
            looked.append(index)
            return super().__getitem__(index)

    got = transcript([], 1_000)
    got.messages = Watched()
    for _ in range(300):
        got.append(tool(600))
        got.fit()
    assert len(looked) <= 2 * 300 + 300


messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.text(max_size=20).map(lambda text: text * 60),
    st.lists(
        st.builds(ToolCall, st.text(max_size=3), st.text(max_size=9), st.text(max_size=90)), max_size=2
    ).map(tuple),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(messages, max_size=8), st.lists(messages, max_size=8), st.integers(0, 4_000), st.integers(0, 3)
)
def test_the_total_is_always_the_recount(
    first: list[Message], later: list[Message], chars: int, keep_last: int
) -> None:
    got = transcript(list(first), chars)
    for message in [None, *later]:
        if message is not None:
            got.append(message)
        fits = got.fit(keep_last)
        assert got.size == sum(map(weight, got.messages))
        assert fits is (got.size <= got.limit)
    whole = [*first, *later]
    assert len(got.messages) == len(whole)
    for now, then in zip(got.messages, whole, strict=True):
        assert (now.role, now.tool_calls) == (then.role, then.tool_calls)
        assert now.content == then.content or (
            then.role == "tool"
            and now.content.startswith(then.content[:KEEP_CHARS])
            and "shortened to fit" in now.content
        )
