"""The context window: old results are shortened first, visibly, and the total is always true."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gerbang.limits import CHARS_PER_TOKEN
from gerbang.loop.context import KEEP_CHARS, LEFT_OUT, LEFT_OUT_ARGUMENTS, Transcript, weight
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


def test_short_results_are_not_worth_shortening_but_are_left_out_in_the_end() -> None:
    got = transcript([tool(KEEP_CHARS + 80) for _ in range(10)], 2_100)
    assert got.fit()
    left_out = [message.content != "r" * (KEEP_CHARS + 80) for message in got.messages]
    assert left_out == [True] * 5 + [False] * 5
    assert not transcript([tool(KEEP_CHARS + 80) for _ in range(10)], 600).fit()


def calling(*sizes: int) -> Message:
    return Message(
        "assistant", "", tuple(ToolCall(str(at), "a", "x" * size) for at, size in enumerate(sizes))
    )


def test_the_order_in_which_things_go() -> None:
    def left(chars: int) -> list[str]:
        got = transcript([Message("user", "q"), calling(2_000), tool(2_000), calling(1_000, 10)], chars)
        for size in (2_000, 5):
            got.append(tool(size), effect="happened")
        got.fit(keep_last=2)
        assert got.size <= got.limit
        return [
            message.tool_calls[0].arguments if message.tool_calls else message.content
            for message in got.messages
        ]

    whole = ["q", "x" * 2_000, "r" * 2_000, "x" * 1_000, "r" * 2_000, "rrrrr"]
    assert left(8_000) == whole
    old = left(6_000)
    assert old[2].endswith("2000 characters in all]")
    assert [*old[:2], *old[3:]] == [*whole[:2], *whole[3:]]
    assert left(4_500)[1] == LEFT_OUT_ARGUMENTS
    assert left(4_500)[3:] == whole[3:]
    assert left(2_500)[4].endswith("2000 characters in all]")
    gone = left(1_400)
    assert (gone[2], gone[3]) == (LEFT_OUT.format(effect="on record"), "x" * 1_000)
    gone = left(1_350)
    assert gone[4:] == [LEFT_OUT.format(effect="happened"), "rrrrr"]
    assert left(500)[3] == LEFT_OUT_ARGUMENTS


ROOM: list[tuple[int, list[int], bool, set[int]]] = [
    (3_000, [100], True, set()),
    (3_000, [2_600], True, set()),
    (3_000, [2_900], True, {0}),
    (3_000, [10, 2_900, 20], True, {1}),
    (3_000, [1_500, 1_600], True, {1}),
    (3_000, [2_000, 2_900, 3_000], True, {1, 2}),
    (200, [0, 0], True, {0, 1}),
    (3_000, [10, 10], False, set()),
    (200, [0, 0], False, {0, 1}),
]


@pytest.mark.parametrize(("chars", "sizes", "apart", "refused"), ROOM)
def test_calls_for_which_there_is_no_room(
    chars: int, sizes: list[int], apart: bool, refused: set[int]
) -> None:
    got = transcript([Message("user", "q"), calling(5_000), tool(5_000)], chars)
    got.append(calling(*sizes))
    before = list(got.messages)
    assert got.no_room_for(sizes, apart=apart) == refused
    assert got.messages == before
    for place in range(len(sizes)):
        got.append(tool(5_000 if place not in refused else 250), effect="happened")
    if len(refused) < len(sizes):  # what is let through can be told of, its arguments whole
        assert got.fit(keep_last=len(sizes))
        kept = [call.arguments for call in got.messages[3].tool_calls]
        assert all(kept[place] == "x" * sizes[place] for place in range(len(sizes))) or refused


def test_the_text_of_calls_that_are_not_run_may_go() -> None:
    got = transcript([Message("user", "q"), Message("assistant", "t" * 5_000)], 900)
    got.give_up_last()
    got.give_up_last()
    got.append(tool(100))
    assert got.fit()
    assert got.messages[1].content.startswith("t" * KEEP_CHARS + "… [shortened")


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
    assert len(looked) <= 6 * 300  # twice: to shorten it, and to leave it out


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
        assert (now.role, [call.name for call in now.tool_calls]) == (
            then.role,
            [call.name for call in then.tool_calls],
        )
        for call, was in zip(now.tool_calls, then.tool_calls, strict=True):
            assert call.arguments in (was.arguments, LEFT_OUT_ARGUMENTS)
        assert now.content == then.content or (
            (
                then.role == "tool"
                and (now.content.startswith(then.content[:KEEP_CHARS]) and "shortened to fit" in now.content)
            )
            or now.content == LEFT_OUT.format(effect="on record")
        )
