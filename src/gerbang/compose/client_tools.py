"""What a client brings along, and catalogues with its tools beside the own ones."""

from collections import OrderedDict
from typing import Final
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from gerbang.contract.catalogue import Catalogue
from gerbang.contract.client_tools import ClientTool, client_entries
from gerbang.errors import ContractError, UsageError
from gerbang.values.model import Sampling

_KEPT: Final = 64
_ENCODER: Final = msgspec.json.Encoder()


class Client(Struct, frozen=True):
    """A client that a run answers: the tools that it runs itself, and how it wants answers made.

    The history is then the client's too: results in it are shown to the model as data from outside.
    """

    tools: tuple[ClientTool, ...] = ()
    sampling: Sampling = Sampling()


class ClientTools:
    """Remembers the newest catalogues. A client sends its tools with every request, mostly the same."""

    def __init__(self) -> None:
        self._made: WeakKeyDictionary[Catalogue, OrderedDict[bytes, Catalogue]] = WeakKeyDictionary()

    def on(self, catalogue: Catalogue, tools: tuple[ClientTool, ...]) -> Catalogue:
        """Return the catalogue with the client's tools. Raises UsageError for tools that cannot be used."""
        made = self._made.setdefault(catalogue, OrderedDict())
        try:
            key = _ENCODER.encode(tools)
        except (TypeError, ValueError):
            raise UsageError("client_tools are ClientTool objects whose parameters are JSON.") from None
        found = made.get(key)
        if found is None:
            try:
                found = catalogue.extended(client_entries(tools))
            except ContractError as error:
                raise UsageError(str(error)) from None
            made[key] = found
            if len(made) > _KEPT:
                made.popitem(last=False)
        else:
            made.move_to_end(key)
        return found
