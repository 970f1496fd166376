"""Contracts: making them, finding them, and checking a proposal against one (layers 1 and 2)."""
