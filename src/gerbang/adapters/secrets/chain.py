"""Several stores of secrets as one."""

from collections.abc import Sequence

from gerbang.errors import UsageError
from gerbang.ports import SecretStore


class ChainSecrets:
    """Asks each store in turn. A store that cannot be read ends the search: its value might be another."""

    def __init__(self, stores: Sequence[SecretStore]) -> None:
        self._stores = tuple(stores)
        self.immediate = all(store.immediate for store in stores)
        self.writable = any(store.writable for store in stores)
        self.address = ",".join(store.address for store in stores)

    def __repr__(self) -> str:
        return f"<secrets of {self.address}>"

    def get(self, name: str) -> str | None:
        """Return the first value there is. Raises ConfigError when a store before it cannot be read."""
        return next((value for store in self._stores if (value := store.get(name)) is not None), None)

    def unlock(self) -> None:
        """Open every store. Raises ConfigError."""
        for store in self._stores:
            store.unlock()

    def names(self) -> list[str]:
        """Return the names in all stores that can be listed. Raises ConfigError, UsageError when none can."""
        listed = [store for store in self._stores if store.address != "env:"]
        if not listed:
            return self._stores[0].names()
        return sorted({name for store in listed for name in store.names()})

    def set(self, name: str, value: str) -> None:
        """Write to the first store that can be written. Raises UsageError, ConfigError."""
        self._writer().set(name, value)

    def remove(self, name: str) -> bool:
        """Remove from the first store that can be written; False when it has no such name."""
        return self._writer().remove(name)

    def _writer(self) -> SecretStore:
        for store in self._stores:
            if store.writable:
                return store
        raise UsageError(f"None of {self.address} can be written. Add file:PATH or keyring: to the address.")
