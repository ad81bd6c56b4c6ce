"""Names that a package exports but loads at their first use, so that importing the package stays quick."""

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose names are loaded at their first use.

    package : full name of the package. homes : the names that each file defines, separated by spaces; files
    relative to the package. No file may have the name of what it defines: an imported file is an attribute
    of its package.

    >>> lazy_names("trainlaw.formulas", {"algebra.units": "Unit SECOND"})("Unit").__name__
    'Unit'
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return load
