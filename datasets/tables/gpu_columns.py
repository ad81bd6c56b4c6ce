"""Rows of a table joined with the facts of their GPU: columns made on demand, never stored."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
from trainlaw.datasets.hardware.gpus import NUMBER_COLUMNS, GpuCatalog
from trainlaw.datasets.hardware.precisions import PRECISIONS
from trainlaw.formulas.errors import unknown_name


class GpuColumns(Mapping[str, np.ndarray]):
    """Columns of a table with the text columns `gpu` and `precision`, and of the GPU of each row.

    Values are float64, shape (n_rows,). `numbers` names the table's own columns, `computed` further ones.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        gpus: GpuCatalog,
        numbers: tuple[str, ...],
        computed: Mapping[str, Callable[["GpuColumns"], np.ndarray]],
    ) -> None:
        """Join `table` with `gpus`.

        Raises UnknownNameError for a GPU or a precision without facts.
        """
        self.table = table
        self.numbers = numbers
        self.computed = {"peak_flop_per_s": _peak, "bytes_per_element": _bytes_per_element, **computed}
        self.gpu_of_row, names = pd.factorize(table["gpu"], use_na_sentinel=False)
        self.gpus = [gpus.find(str(name)) for name in names]

    def __getitem__(self, name: str) -> np.ndarray:
        """Return one column; raises UnknownNameError."""
        if name in self.computed:
            return self.computed[name](self)
        if name in NUMBER_COLUMNS:
            return self.of_gpu(name)
        if name in self.numbers:
            return self.table[name].to_numpy(dtype=np.float64)
        raise unknown_name("column", name, self)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a column of that name, without computing it."""
        return name in self.computed or name in NUMBER_COLUMNS or name in self.numbers

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        return iter(dict.fromkeys((*self.numbers, *self.computed, *NUMBER_COLUMNS)))

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(tuple(iter(self)))

    def of_gpu(self, fact: str) -> np.ndarray:
        """Return a number of the GPU of each row."""
        return np.array([getattr(gpu, fact) for gpu in self.gpus], dtype=np.float64)[self.gpu_of_row]

    def looked_up(self, column: str, value_of: Callable[[str], float]) -> np.ndarray:
        """Return `value_of` each text of a column of the table; it is asked once per different text."""
        codes, texts = pd.factorize(self.table[column], use_na_sentinel=False)
        return np.array([value_of(str(text)) for text in texts], dtype=np.float64)[codes]

    def texts(self, column: str) -> np.ndarray:
        """Return a text of each row, dtype object: of its GPU (`gpu_group`, `generation`) or of the table."""
        if column in ("gpu_group", "generation"):
            return np.array([getattr(gpu, column) for gpu in self.gpus], dtype=object)[self.gpu_of_row]
        return self.table[column].to_numpy(dtype=object)


def _peak(columns: GpuColumns) -> np.ndarray:
    # A code per precision and the peak of each, so that one pass over the rows suffices.
    code = columns.looked_up("precision", _precision_code).astype(np.intp)
    return np.choose(code, [columns.of_gpu(row.peak_column) for row in PRECISIONS.values()])


def _precision_code(text: str) -> float:
    if text not in PRECISIONS:
        raise unknown_name("precision", text, PRECISIONS)
    return list(PRECISIONS).index(text)


def _bytes_per_element(columns: GpuColumns) -> np.ndarray:
    return columns.looked_up("precision", lambda text: PRECISIONS[text].bytes_per_element)
