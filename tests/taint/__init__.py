"""Taint: labels and the frame around data."""
