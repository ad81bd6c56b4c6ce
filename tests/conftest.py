"""What all tests share."""

import pytest
from hypothesis import settings

# A busy machine must not fail a property that holds: what is checked is values, not speed.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


def pytest_configure(config: pytest.Config) -> None:
    """With several workers the tests of a file stay together: what they share is made once."""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadfile"
