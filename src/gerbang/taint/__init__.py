"""Taint: what comes out of a tool is data, and says where it came from."""
