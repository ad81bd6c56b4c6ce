"""What all tests share."""

from hypothesis import settings

# A busy machine must not fail a property that holds: what is checked is values, not speed.
settings.register_profile("house", deadline=None)
settings.load_profile("house")
