"""The effect ledger: what is known about each call's effect, as one table, and the keys that name calls."""
