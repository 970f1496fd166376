"""What the parser needs to know of a catalogue's tools, worked out once for all runs."""

from weakref import WeakKeyDictionary

from gerbang import parse
from gerbang.contract.catalogue import Catalogue

_READY: "WeakKeyDictionary[Catalogue, parse.Offered]" = WeakKeyDictionary()


def offered(catalogue: Catalogue) -> parse.Offered:
    """Return what the parser knows of the catalogue's tools; worked out once for all runs."""
    found = _READY.get(catalogue)
    if found is None:
        found = _READY[catalogue] = parse.Offered(catalogue.schemas)
    return found
