"""The effect ledger: its machine and the names of calls."""
