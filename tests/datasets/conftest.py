"""Shared pieces: a small valid file of runs, and settings of the property tests."""

import pytest
from hypothesis import settings

settings.register_profile("datasets", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("datasets")


@pytest.fixture
def write(tmp_path):
    """Writes text or bytes to a file and returns its path."""

    def written(content, name="runs.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written
