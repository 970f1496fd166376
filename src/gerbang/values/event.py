"""An audit event on its way into a run's chain, and what is written only when it is read."""

from typing import Any

from msgspec import Struct


class Said(Struct, frozen=True, gc=False):
    """What an event or an answer says, not written yet.

    It holds nothing that could still change: written later it says the same. A store that keeps its records
    on disk writes it at once, the one in memory when somebody reads it.
    """

    @property
    def facts(self) -> Any:
        """The members, as far as they are made by now."""
        return self

    def written(self) -> bytes:
        """Return the JSON: of an event its redacted body."""
        raise NotImplementedError


class NewEvent(Struct, frozen=True, gc=False):
    """An audit event before the store gives it its place in the run's chain."""

    run_id: str
    kind: str
    said: bytes | Said

    @property
    def body(self) -> bytes:
        """The body as redacted JSON. Written each time that it is asked for."""
        return self.said if type(self.said) is bytes else self.said.written()  # type: ignore[union-attr]

    def settled(self) -> "NewEvent":
        """Return the event with its body written."""
        return self if type(self.said) is bytes else NewEvent(self.run_id, self.kind, self.body)
