"""Which GPUs and numbers the options of a command select: "16GB", "24h", "1,2,4", a vendor, limits."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import inf

from trainlaw.datasets import Gpu, GpuCatalog
from trainlaw.datasets.hardware.gpus import find_instance
from trainlaw.datasets.hardware.hypothetical import is_hypothetical, wanted_gpu
from trainlaw.datasets.hardware.instances import Instance
from trainlaw.formulas import InputError, UnknownNameError
from trainlaw.formulas.errors import shown, unknown_name

_MEMORY = re.compile(r"(\d{1,6}(?:\.\d{1,3})?) ?(?:gb|gib)?", re.ASCII | re.IGNORECASE)
_HOURS = re.compile(
    r"(\d{1,7}(?:\.\d{1,6})?) ?(?:(h|hours?)|(d|days?)|(w|weeks?)|(min|m|minutes?))", re.ASCII | re.IGNORECASE
)
_HOURS_PER_UNIT = (1.0, 24.0, 168.0, 1 / 60)


@dataclass(frozen=True)
class GpuSelection:
    """GPUs by name (empty: all), vendor (empty: any) and the limits of memory in bytes and power in W."""

    names: tuple[str, ...] = ()
    vendor: str = ""
    min_memory_bytes: float = 0.0
    max_memory_bytes: float = inf
    max_power_w: float = inf

    def of(self, catalog: GpuCatalog) -> list[Gpu]:
        """Return the GPUs of a catalog whose peak rate and bandwidth are known and that are selected.

        A GPU whose memory or power is not known is within no limit on it. Raises UnknownNameError for an
        unknown GPU or vendor, InputError where no GPU is left.
        """
        gpus = named_gpus(self.names, catalog) or rated_gpus(catalog)
        vendors = {
            gpu.vendor.lower(): gpu.vendor for gpu in catalog.gpus if gpu.vendor and gpu.device == "GPU"
        }
        if self.vendor and self.vendor.lower() not in vendors:
            raise unknown_name("vendor", self.vendor, sorted(vendors.values()))
        found = [gpu for gpu in gpus if self._admits(gpu)]
        if not found:
            raise InputError("no GPU is within these limits; `trainlaw gpus list` shows memory and vendors")
        return found

    def _admits(self, gpu: Gpu) -> bool:
        known = self.vendor.lower() in ("", gpu.vendor.lower())
        has_limit = self.min_memory_bytes > 0 or self.max_memory_bytes < inf
        fits = not has_limit or self.min_memory_bytes <= gpu.memory_bytes <= self.max_memory_bytes
        return known and fits and (self.max_power_w == inf or gpu.tdp_w <= self.max_power_w)


def contains(search: str, texts: Iterable[str]) -> bool:
    """Return whether one of the texts contains `search`, or matches it as a pattern with * or ?.

    >>> contains("rtx 30*", ["RTX 3090"]), contains("30", ["RTX 3090"]), contains("30*", ["RTX 3090"])
    (True, True, False)
    """
    wanted = search.lower()
    if "*" in wanted or "?" in wanted:
        return any(fnmatchcase(text.lower(), wanted) for text in texts)
    return any(wanted in text.lower() for text in texts)


ALL_GPUS = GpuSelection()


def selection_of(
    names: Sequence[str] = (),
    vendor: str = "",
    min_memory: str = "",
    max_memory: str = "",
    max_power_w: float | None = None,
) -> GpuSelection:
    """Return the selection of the options of a command; memory as text such as "16GB", empty for no limit."""
    return GpuSelection(
        tuple(names),
        vendor,
        parse_memory(min_memory, "--min-memory") if min_memory else 0.0,
        parse_memory(max_memory, "--max-memory") if max_memory else inf,
        inf if max_power_w is None else max_power_w,
    )


def named_gpus(texts: Sequence[str], catalog: GpuCatalog, counted: bool = False) -> list[Gpu]:
    """Return the GPUs that texts name, each a GPU, several ("T4,V100"), or all that begin so ("A100").

    counted : as for `GpuCatalog.find`. Raises UnknownNameError as `GpuCatalog.find`.
    """
    found: dict[str, Gpu] = {}
    for name in listed_gpus(texts, catalog):
        try:
            named: Sequence[Gpu] = (wanted_gpu(name, catalog, counted),)
        except UnknownNameError:
            named = catalog.variants(name, counted)
            if not named:
                raise
        found |= {gpu.gpu: gpu for gpu in named}
    return list(found.values())


def listed_gpus(texts: Sequence[str], catalog: GpuCatalog) -> list[str]:
    """Return the names in texts, each a GPU of the catalog, whose name may have a comma, or `names_of`."""
    known = {gpu.gpu for gpu in catalog.gpus}
    return [name for text in texts for name in ((text,) if text in known else names_of((text,)))]


def names_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names in texts, several of which are separated by commas; a changed GPU is one name.

    >>> names_of(["T4, V100", "T4 with 2x peak, 2x bandwidth"])
    ('T4', 'V100', 'T4 with 2x peak, 2x bandwidth')
    """
    return tuple(name for text in texts for name in ((text,) if is_hypothetical(text) else parse_names(text)))


def rented_instances(texts: Sequence[str]) -> tuple[Instance, ...]:
    """Return the instances of clouds among the names in texts.

    >>> [one.gpus_per_node for one in rented_instances(["T4, p4d.24xlarge"])]
    [8]
    """
    return tuple(filter(None, map(find_instance, names_of(texts))))


def rated_gpus(catalog: GpuCatalog) -> list[Gpu]:
    """Return the GPUs and processors whose peak rate and bandwidth are known."""
    return [gpu for gpu in catalog.gpus if gpu.peak_fp32_flop_per_s > 0 and gpu.bandwidth_byte_per_s > 0]


def parse_memory(text: str, option: str) -> float:
    """Return the bytes of a memory size such as "16GB", as GPUs are sold; InputError for any other text.

    >>> parse_memory("16GB", "--min-memory"), parse_memory("24", "--min-memory")
    (16000000000.0, 24000000000.0)
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise InputError(f"expected {option} as a size such as 16GB, got {shown(text)}")
    return float(match[1]) * 1e9


def parse_hours(text: str, option: str) -> float:
    """Return the hours of a time such as "24h", "2 days" or "90min"; InputError for any other text.

    >>> parse_hours("24h", "--within"), parse_hours("1.5 days", "--within")
    (24.0, 36.0)
    """
    match = _HOURS.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise InputError(f"expected {option} as a time such as 24h, 2d or 90min, got {shown(text)}")
    (factor,) = (hours for hours, unit in zip(_HOURS_PER_UNIT, match.groups()[1:], strict=True) if unit)
    return float(match[1]) * factor


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """Return the numbers of a list such as "8,32", rising; InputError, naming the option, for anything else.

    >>> whole_numbers("32, 8", "--batch"), whole_numbers("", "--batch")
    ((8, 32), ())
    """
    parts = parse_names(text)
    if not all(part.isdecimal() and len(part) < 9 and int(part) for part in parts):
        raise InputError(
            f"{option}: expected whole numbers separated by commas, such as 8,32, got {shown(text)}"
        )
    return tuple(sorted({int(part) for part in parts}))


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names of a list such as "fp32,amp"; none for no text.

    >>> parse_names("fp32, amp"), parse_names("")
    (('fp32', 'amp'), ())
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def pairs_of(option: str, texts: Iterable[str] | None, form: str) -> dict[str, str]:
    """Return texts such as "gpu=T4" as pairs; InputError, naming option and form, for one of another form.

    >>> pairs_of("--set", ["gpu=T4"], "OURS=VALUE")
    {'gpu': 'T4'}
    """
    found = {}
    for text in texts or ():
        name, mark, value = text.partition("=")
        if not (name and mark and value):
            raise InputError(f"{option}: expected {form}, got {shown(text)}")
        found[name] = value
    return found
