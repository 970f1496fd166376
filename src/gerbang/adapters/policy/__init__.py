"""Policies that other engines decide: Rego in a worker process, or a server with OPA's data API."""
