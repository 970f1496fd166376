"""Settings of the parser tests."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of the property tests that `make fuzz` repeats with many more examples."""
    config.addinivalue_line("markers", "fuzz: a property test; `make fuzz` runs it with more examples")
