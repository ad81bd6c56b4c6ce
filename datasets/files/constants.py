"""Columns of one value for all rows, which take no memory, and frames detached from their source."""

import numpy as np
import pandas as pd

#: Since then, frames that share columns copy one before they change it.
COPIES_ON_WRITE = int(pd.__version__.split(".", maxsplit=1)[0]) >= 3


def constant(value: object, index: pd.Index) -> pd.Series:
    """Return a column with the same value in each row; it cannot be changed in place.

    >>> constant("none", pd.RangeIndex(1_000_000)).nunique()
    1
    """
    kind = object if isinstance(value, str) or value is None else np.asarray(value).dtype
    values = np.broadcast_to(np.array(value, dtype=kind), len(index))
    return pd.Series(values, index=index, dtype=kind, copy=False)


def detached(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same rows, numbered from 0, in a frame that later changes of the source do not reach."""
    index = frame.index
    is_numbered = isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1) and not index.name
    numbered = frame if is_numbered else frame.reset_index(drop=True)
    return numbered.copy(deep=not COPIES_ON_WRITE)
