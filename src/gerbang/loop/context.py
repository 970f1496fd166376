"""The model's context window, kept by shortening, visibly, before a server cuts silently.

Old results go first, then the arguments of old calls, then the newest results; where that is not enough, a
result is left out and a line in its place says so. What a new call needs beside all that is asked beforehand.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gerbang.limits import CHARS_PER_TOKEN
from gerbang.values.message import Message

KEEP_CHARS = 200
RESULT_ROOM: Final = 120
"""Characters that a result takes when it is left out, with its frame."""
LEFT_OUT: Final = "[BUDGET_CONTEXT: left out, there is no room for it in the context; effect: {effect}]"
LEFT_OUT_ARGUMENTS: Final = '{"left_out":"to fit the context window"}'
_OVERHEAD = 16
_NOTE_CHARS = 80
_UNTOLD: Final = "on record"
_LEAST: Final = len(LEFT_OUT.format(effect=_UNTOLD))


def weight(message: Message) -> int:
    """Return the size of a message in characters, with a little for its frame."""
    size = len(message.content) + _OVERHEAD
    for call in message.tool_calls:
        size += len(call.name) + len(call.arguments) + _OVERHEAD
    return size


class Transcript:
    """The growing conversation of a run with a running total of its size: appending always costs the same."""

    def __init__(self, messages: list[Message], *, window_tokens: int, reserve_tokens: int) -> None:
        self.messages = messages
        self.size = sum(map(weight, messages))
        self.limit = max(0, window_tokens - reserve_tokens) * CHARS_PER_TOKEN
        self.shortened = 0
        self._results = deque(index for index, message in enumerate(messages) if message.role == "tool")
        self._cut: deque[int] = deque()  # results that are as short as they get before they are left out
        self._calls = deque(index for index, message in enumerate(messages) if message.tool_calls)
        self._effects: dict[int, str] = {}

    def append(self, message: Message, *, result: bool = False, effect: str = "") -> None:
        """Add a message at the end. `result` marks one that holds results of tools, whatever its role;
        `effect` is what became of the effects, for the line that takes its place when it is left out.
        """
        index = len(self.messages)
        if result or message.role == "tool":
            self._results.append(index)
            if effect:
                self._effects[index] = effect
        if message.tool_calls:
            self._calls.append(index)
        self.messages.append(message)
        self.size += weight(message)

    @property
    def half_full(self) -> bool:
        """True when results may have to be left out before long."""
        return 2 * self.size > self.limit

    def tight(self, calls: int) -> bool:
        """Tell whether so many calls have room only when something is shortened, if they have."""
        return self.size + RESULT_ROOM * calls > self.limit

    def give_up_last(self) -> None:
        """Let the text of the last message be shortened as a result is: nothing of it is run."""
        if self._results and self._results[-1] == len(self.messages) - 1:
            return
        self._results.append(len(self.messages) - 1)

    def no_room_for(self, sizes: Sequence[int], *, apart: bool = True) -> set[int]:
        """Return the calls of the last message, by their place, for which there is no room left.

        There is none when the call and the least that its result takes do not fit with all else shortened.
        `sizes` are the characters of their arguments; the largest are given up first. `apart` False: they
        stand in one text, and all of them go.
        """
        messages, last = self.messages, len(self.messages) - 1
        spare = sum(_spare(messages[index]) for index in (*self._results, *self._cut))
        spare += sum(_spare_arguments(messages[index]) for index in self._calls if index != last)
        over = self.size - spare + RESULT_ROOM * len(sizes) - self.limit
        if over <= 0 or not apart:
            return set(range(len(sizes))) if over > 0 else set()
        refused: set[int] = set()
        for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
            if over <= 0:
                break
            refused.add(place)
            over -= max(0, sizes[place] - len(LEFT_OUT_ARGUMENTS))
        return refused

    def fit(self, keep_last: int = 1) -> bool:
        """Shorten the conversation, oldest first, until it fits. Returns False when it cannot.

        The last `keep_last` messages are touched only when nothing else is left to shorten.
        """
        if self.size <= self.limit:
            return True
        old, end = len(self.messages) - keep_last, len(self.messages)
        self._shorten(old)
        self._leave_out_arguments(old - 1)
        self._shorten(end)
        self._leave_out(end)
        self._leave_out_arguments(end)
        return self.size <= self.limit

    def _shorten(self, end: int) -> None:
        while self._results and self._results[0] < end and self.size > self.limit:
            index = self._results.popleft()
            self._cut.append(index)
            message = self.messages[index]
            if len(message.content) <= KEEP_CHARS + _NOTE_CHARS:
                continue
            cut = message.content[:KEEP_CHARS]
            note = f"… [shortened to fit the context window, {len(message.content)} characters in all]"
            self._put(index, replace(message, content=cut + note))

    def _leave_out(self, end: int) -> None:
        while self._cut and self._cut[0] < end and self.size > self.limit:
            index = self._cut.popleft()
            said = LEFT_OUT.format(effect=self._effects.pop(index, _UNTOLD))
            if _spare(self.messages[index]):
                self._put(index, replace(self.messages[index], content=said))

    def _leave_out_arguments(self, end: int) -> None:
        while self._calls and self._calls[0] < end and self.size > self.limit:
            index = self._calls.popleft()
            message = self.messages[index]
            if _spare_arguments(message):
                calls = tuple(
                    replace(call, arguments=LEFT_OUT_ARGUMENTS)
                    if len(call.arguments) > len(LEFT_OUT_ARGUMENTS)
                    else call
                    for call in message.tool_calls
                )
                self._put(index, replace(message, tool_calls=calls))

    def _put(self, index: int, message: Message) -> None:
        """Put a shorter message in the place of another."""
        self.size -= weight(self.messages[index]) - weight(message)
        self.messages[index] = message
        self.shortened += 1


def _spare(message: Message) -> int:
    """Return the characters that leaving a result out saves."""
    return max(0, len(message.content) - _LEAST)


def _spare_arguments(message: Message) -> int:
    """Return the characters that leaving out the arguments of its calls saves."""
    least = len(LEFT_OUT_ARGUMENTS)
    return sum(max(0, len(call.arguments) - least) for call in message.tool_calls)
