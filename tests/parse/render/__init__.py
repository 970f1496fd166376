"""Tests of writing calls, results and prompts."""
