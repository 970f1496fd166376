"""Tests of the parser: readers here, writing in `render`."""
