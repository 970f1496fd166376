"""The model's context window, kept by shortening old tool results, visibly, before a server cuts silently."""

from collections import deque

from msgspec.structs import replace

from gerbang.limits import CHARS_PER_TOKEN
from gerbang.values.message import Message

KEEP_CHARS = 200
_OVERHEAD = 16


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

    def append(self, message: Message, *, result: bool = False) -> None:
        """Add a message at the end. `result` marks one that holds results of tools, whatever its role."""
        if result or message.role == "tool":
            self._results.append(len(self.messages))
        self.messages.append(message)
        self.size += weight(message)

    def fit(self, keep_last: int = 1) -> bool:
        """Shorten tool results, oldest first, until the conversation fits. Returns False when it cannot.

        The last `keep_last` messages are touched only when nothing else is left to shorten.
        """
        if self.size <= self.limit:
            return True
        self._shorten(len(self.messages) - keep_last)
        if self.size > self.limit:
            self._shorten(len(self.messages))
        return self.size <= self.limit

    def _shorten(self, end: int) -> None:
        while self._results and self._results[0] < end and self.size > self.limit:
            index = self._results.popleft()
            message = self.messages[index]
            if len(message.content) <= KEEP_CHARS + 80:
                continue
            cut = message.content[:KEEP_CHARS]
            note = f"… [shortened to fit the context window, {len(message.content)} characters in all]"
            self.messages[index] = replace(message, content=cut + note)
            self.size -= len(message.content) - len(self.messages[index].content)
            self.shortened += 1
