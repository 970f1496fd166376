"""Gerbang as a service: HTTP, WebSocket and server-sent events before one gateway.

Needs the extra `server`. Nothing here is imported before `gerbang serve` asks for it.
"""
