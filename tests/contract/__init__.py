"""Contracts: definitions, names, schemas, coercion, layer 1 and the nearest names."""
