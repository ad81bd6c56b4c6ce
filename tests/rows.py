"""Tests of many rows, each of which takes less than a test does."""

import inspect
from collections.abc import Callable, Iterable


def each_row(names: str | tuple[str, ...], rows: Iterable) -> Callable:
    """Run a test with each row in place of arguments, as `pytest.mark.parametrize`, in one test for all."""

    of_row = (names,) if isinstance(names, str) else names

    def decorated(test: Callable) -> Callable:
        def run(**fixtures: object) -> None:
            faults = []
            for row in rows:
                values = dict(zip(of_row, (row,) if isinstance(names, str) else row, strict=True))
                try:
                    test(**values, **fixtures)
                except Exception as error:
                    error.add_note(f"of the row {values!r:.500}")
                    faults.append(error)
            if faults:
                raise ExceptionGroup(f"{len(faults)} rows fail", faults)

        given = inspect.signature(test).parameters.values()
        fixtures = [parameter for parameter in given if parameter.name not in of_row]
        run.__signature__ = inspect.Signature(fixtures)
        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        run.pytestmark = getattr(test, "pytestmark", [])
        return run

    return decorated
