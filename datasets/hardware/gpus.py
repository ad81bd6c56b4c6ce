"""GPUs and many-core processors: their specifications, and strict lookup by the names that drivers print."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from math import isnan, nan

import pandas as pd
from trainlaw.datasets.files.columns import shipped_schema
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.datasets.hardware.hosts import usual_host
from trainlaw.datasets.hardware.instances import Instance, instances, instances_by_name
from trainlaw.datasets.hardware.precisions import framework_default
from trainlaw.datasets.naming import (
    LONGEST_NAME,
    NameIndex,
    NameMeaning,
    further_gpu_names,
    naming_rules,
)
from trainlaw.formulas.errors import UnknownNameError, check_name, shown

_MOST_VARIANTS = 10  # that one name stands for, such as A100; more is no family of a GPU
# Product lines, which people leave out ("3090"), and endings that they leave out, too ("RTX 6000").
_LINE = re.compile(r"^(?:quadro|rtx|gtx|radeon|pro|rx|instinct|arc)(?=(?:pro|rtx|rx|instinct)?[a-z]{0,2}\d)")
_ENDING = re.compile(r"ada(?:generation)?$")
#: Link of a GPU without a known one.
NO_LINK = "pcie3-x16"


def name_key(text: str) -> str:
    """Return the name of a GPU in lower case, without vendor words and separators.

    >>> name_key("NVIDIA GeForce RTX 3090"), name_key("Tesla V100-SXM2-16GB")
    ('rtx3090', 'v100sxm2_16gb')
    """
    return _rules().key(text)


def hard_stop(text: str) -> str:
    """Return the word of `text` that marks a different product from the plain GPU (laptop, MIG, ...), or "".

    >>> hard_stop("NVIDIA GeForce RTX 4090 Laptop GPU")
    'laptop'
    """
    matches = (pattern.search(text.lower()) for pattern, _ in _rules().rules["stop"])
    return next((match.group().split()[0] for match in matches if match), "")


def split_memory(text: str) -> tuple[str, float | None]:
    """Return `text` in lower case without its memory size, and that size in bytes (None when none is named).

    "16GB" on a data sheet and "16384 MiB" from a driver both give 16e9: GPUs are sold by that number.

    >>> split_memory("RTX 3090, 24576 MiB")
    ('rtx 3090,  ', 24000000000.0)
    """
    rest, size = _rules().without_size(text.lower())
    return rest, None if size is None else 1e9 * size


@cache
def _rules() -> NameIndex:
    return NameIndex("GPU", naming_rules("GPU"))


FIRST_WITH_TF32 = 8.0  # compute capability of NVIDIA's Ampere


@dataclass(frozen=True)
class Gpu:
    """Specifications of one GPU (of one die for dual-die boards); nan or "" where unknown.

    Attributes
    ----------
    gpu, vendor, chip, generation, device : str
        Name, maker, chip, architecture, and "GPU" or "CPU".
    year : float
        Year of release.
    gpu_group : str
        Chip and number of multiprocessors, the group held out in validation.
    sm_count, core_count : float
        Multiprocessors, and fp32 lanes of all of them.
    base_clock_hz, boost_clock_hz : float
        Clocks in Hz.
    peak_fp32_flop_per_s, peak_tf32_flop_per_s, peak_fp16_flop_per_s, peak_bf16_flop_per_s : float
        Dense peak rates at the boost clock, in FLOP/s; fp16 accumulates in fp32, so tensor cores that halve
        their rate for it count half.
    tensor_fp16_flop_per_s, tensor_accumulation : float, str
        Rate of the tensor cores in FLOP/s, and the precision in which they accumulate at that rate.
    memory_bytes, bandwidth_byte_per_s : float
        Size in bytes and bandwidth in B/s of the memory.
    l2_bytes, l1_bytes_per_sm, last_level_cache_bytes : float
        Level 2 cache, level 1 cache of each multiprocessor, and the cache beyond level 2 (0: none), in bytes.
    tdp_w : float
        Power limit in W.
    compute_capability, memory_type : str
        As the vendor states them.
    host_link, gpu_link : str
        Names of links.
    peer_access : float
        1 where GPUs copy to each other directly.
    comparable_fp32_flop_per_s, fp32_counting : float, str
        FLOP/s by the data sheet, of lanes that do one fp32 operation per clock at any load.
    simt_fp16_flop_per_s : float
        fp16 outside tensor cores, in FLOP/s.
    has_fast_fp16, shares_host_memory : float
        0 where training in fp16 gains nothing; 1 where the memory is the host's.
    aliases : tuple of str
        Further names, as drivers print them.
    source, sources, remark : str, mapping, str
        Source of all values, sources of single values by column, and a note.
    """

    gpu: str
    vendor: str = ""
    chip: str = ""
    generation: str = ""
    device: str = "GPU"
    year: float = nan
    gpu_group: str = ""
    sm_count: float = nan
    core_count: float = nan
    base_clock_hz: float = nan
    boost_clock_hz: float = nan
    peak_fp32_flop_per_s: float = nan
    peak_tf32_flop_per_s: float = nan
    peak_fp16_flop_per_s: float = nan
    peak_bf16_flop_per_s: float = nan
    tensor_fp16_flop_per_s: float = nan
    tensor_accumulation: str = ""
    memory_bytes: float = nan
    bandwidth_byte_per_s: float = nan
    l2_bytes: float = nan
    l1_bytes_per_sm: float = nan
    tdp_w: float = nan
    compute_capability: str = ""
    host_link: str = ""
    gpu_link: str = ""
    peer_access: float = nan
    comparable_fp32_flop_per_s: float = nan
    fp32_counting: str = ""
    simt_fp16_flop_per_s: float = nan
    has_fast_fp16: float = nan
    last_level_cache_bytes: float = nan
    memory_type: str = ""
    shares_host_memory: float = nan
    aliases: tuple[str, ...] = ()
    source: str = ""
    remark: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_amd(self) -> float:
        """1 for a GPU of AMD, whose libraries of kernels differ from those of NVIDIA; 0 for others."""
        return float(self.vendor == "AMD")

    @property
    def is_other_maker(self) -> float:
        """1 for a GPU of a known maker other than NVIDIA; 0 for others."""
        return float(self.vendor not in ("", "NVIDIA"))

    @property
    def usual_link(self) -> str:
        """Name of the link to the other GPUs of a node: the GPU's, else the host's, else `NO_LINK`."""
        return self.gpu_link or self.host_link or NO_LINK

    @property
    def usual_launch_s(self) -> float:
        """Time in s in which the usual host of the GPU launches the kernels of one layer: see `hosts.csv`."""
        return usual_host(self.gpu, self.year, self.generation).launch_s

    @property
    def capability(self) -> float:
        """NVIDIA's compute capability as a number; nan where it is not known."""
        text = self.compute_capability
        return float(text) if text.replace(".", "", 1).isdecimal() else nan

    @property
    def default_precision(self) -> str:
        """Precision of PyTorch where nothing else is set: "default" on NVIDIA's Ampere and later, else fp32.

        >>> find_gpu("V100-SXM2-16GB").default_precision, find_gpu("RTX 3090").default_precision
        ('fp32', 'default')
        """
        return self.precision_by_default()

    def precision_by_default(self, framework: str = "pytorch", version: str = "") -> str:
        """Return the precision of a framework and version where nothing else is set; fp32 without TF32.

        A GPU of unknown maker and compute capability has TF32 if its tf32 rate exceeds its fp32 rate.

        >>> find_gpu("RTX 3090").precision_by_default("tensorflow", "2.4")
        'tf32'
        """
        seems_newer = not self.vendor and self.peak_tf32_flop_per_s > self.peak_fp32_flop_per_s
        has_tf32 = seems_newer if isnan(self.capability) else self.capability >= FIRST_WITH_TF32
        return framework_default(framework, version) if has_tf32 else "fp32"

    def source_of(self, column: str) -> str:
        """Return the source of the value in a column; "unknown" where the value or its source is unknown.

        Raises UnknownNameError for a column that is not a specification.

        >>> find_gpu("T4").source_of("peak_fp16_flop_per_s")
        'derived: tensor_fp16_flop_per_s'
        """
        check_name("specification of a GPU", column, FACT_COLUMNS)
        value = getattr(self, column)
        known = not isnan(value) if isinstance(value, float) else bool(value)
        return (self.sources.get(column, self.source) if known else "") or "unknown"

    def number(self, column: str) -> float:
        """Return a number of the GPU as features use it, in the column's unit; nan where unknown.

        An unknown base clock counts as the boost clock: a GPU whose maker states none keeps its clock. An
        unknown comparable rate counts as the peak rate in fp32, an unknown last-level cache as none.

        >>> Gpu("mine", boost_clock_hz=1.5e9).number("base_clock_hz")
        1500000000.0
        """
        if column == "base_clock_hz" and isnan(self.base_clock_hz):
            return self.boost_clock_hz
        if column == "comparable_fp32_flop_per_s" and isnan(self.comparable_fp32_flop_per_s):
            return self.peak_fp32_flop_per_s
        if column == "last_level_cache_bytes" and isnan(self.last_level_cache_bytes):
            return 0.0
        return float(getattr(self, column))


# Of tables of GPUs; units, limits and meanings.
GPU_COLUMNS = shipped_schema("gpus")
#: Numbers that the table of GPUs states.
STATED_NUMBERS = tuple(fact.name for fact in fields(Gpu) if fact.type is float)
#: All numbers that features may use.
NUMBER_COLUMNS = (*STATED_NUMBERS, "is_amd", "is_other_maker", "usual_launch_s")
TEXT_COLUMNS = tuple(fact.name for fact in fields(Gpu) if fact.type is str)
# Columns with a source: not the names, the sources themselves and the remarks.
FACT_COLUMNS = tuple(
    fact.name for fact in fields(Gpu) if fact.name not in ("gpu", "aliases", "source", "sources", "remark")
)
_COLUMNS = tuple(fact.name for fact in fields(Gpu) if fact.name != "sources")


@dataclass(frozen=True)
class GpuCatalog:
    """A set of GPUs, looked up by the names that software prints for them.

    Attributes
    ----------
    gpus : tuple of Gpu
        The GPUs; no two share a name or an alias.
    """

    gpus: tuple[Gpu, ...]

    @cached_property
    def _by_name(self) -> dict[str, Gpu]:
        return {gpu.gpu: gpu for gpu in self.gpus}

    @cached_property
    def names(self) -> NameIndex:
        """What texts mean among these GPUs and the instances of clouds that have them."""
        rules, loose, keys = _rules(), dict[str, dict[str, None]](), dict[str, list[str]]()
        rented = {
            one.instance: (one.gpu, one.gpus_per_node) for one in instances() if one.gpu in self._by_name
        }
        called = [(text, name) for text, name in further_gpu_names() if name in self._by_name]
        called += [(name, gpu.gpu) for gpu in self.gpus for name in (*gpu.aliases, gpu.gpu)]
        for text, name in called:
            keys[rules.key(text)] = [name]
            for key in _loose_keys(rules.key(rules.without_size(text.lower())[0])):
                loose.setdefault(key, {})[name] = None
        for name in rented:
            keys.setdefault(rules.key(name), [name])
            # "p4d" asks which of the family of p4d.24xlarge.
            family = rules.key(name.partition(".")[0]) if "." in name else ""
            if family and family not in keys:
                loose.setdefault(family, {})[name] = None
        return NameIndex(
            "GPU",
            naming_rules("GPU"),
            exact={name: name for name in (*rented, *self._by_name)},
            keys=keys,
            loose={key: [*names] for key, names in loose.items()},
            sizes={gpu.gpu: gpu.memory_bytes / 1e9 for gpu in self.gpus},
            instances=rented,
        )

    def namesakes(self, name: str) -> tuple[str, ...]:
        """Return the names of the GPUs that differ from a known one only in the size of their memory."""
        return tuple(self.names.loose.get(name_key(split_memory(name)[0]), ()))

    def meaning(self, text: str) -> NameMeaning:
        """Return what a text means: a GPU, how many of them, an instance of a cloud, or a question."""
        return NameMeaning(text, (text,), 1, "", "") if text in self._by_name else self.names.meaning(text)

    def find(self, text: str, counted: bool = False) -> Gpu:
        """Return the GPU that `text` names, as torch, nvidia-smi, the data sheet or people write it.

        "3090" is the RTX 3090, "P100 12GB" the only P100 of that size, "g4dn.xlarge" the T4 that it has.
        counted : whether a text may say how many GPUs, "8x T4", which `meaning` has.

        Raises UnknownNameError, with near names, when no GPU or more than one has that name.

        >>> built_in_gpus().find("Tesla V100-SXM2-16GB").gpu
        'V100-SXM2-16GB'
        """
        meaning = self.meaning(text)
        if meaning.n_gpus > 1 and not (counted or meaning.instance):
            number, names = meaning.n_gpus, " or ".join(map(repr, meaning.candidates[:4]))
            advice = f"did you mean {names} with --gpus {number} (in Python n_gpus={number})?"
            raise UnknownNameError(f"{shown(text)} is a number of GPUs: {advice}", meaning.candidates)
        if meaning.name:
            return self._by_name[meaning.name]
        if not name_key(text) or len(text) > LONGEST_NAME:
            raise UnknownNameError(f"expected the name of a GPU, got {shown(text)}")
        raise UnknownNameError(self.names.question(text, meaning), meaning.candidates)

    def variants(self, text: str, counted: bool = False) -> tuple[Gpu, ...]:
        """Return the GPUs that a text may mean, such as "A100"; none where it is a name, or an unknown one.

        >>> [gpu.gpu for gpu in built_in_gpus().variants("V100 SXM2")]
        ['V100-SXM2-16GB', 'V100-SXM2-32GB']
        """
        meaning = self.meaning(text)
        is_asked = not meaning.name and (meaning.n_gpus == 1 or (counted and meaning.n_gpus > 1))
        known = [self._by_name[name] for name in meaning.candidates if is_asked and name in self._by_name]
        return tuple(known) if 2 <= len(known) <= _MOST_VARIANTS else ()

    def frame(self) -> pd.DataFrame:
        """Return the GPUs as a table, one row per GPU, columns as the fields of `Gpu` except `sources`."""
        table = pd.DataFrame([{name: getattr(gpu, name) for name in _COLUMNS} for gpu in self.gpus])
        return table.assign(aliases=[";".join(gpu.aliases) for gpu in self.gpus])

    def with_gpus(self, gpus: Iterable[Gpu]) -> "GpuCatalog":
        """Return a catalog that also holds those GPUs that this one does not, in place of others so named."""
        # `in` compares identity first: comparing all fields of a hundred GPUs takes a hundredth of a second.
        new = {gpu.gpu: gpu for gpu in gpus if gpu not in (self._by_name.get(gpu.gpu),)}
        return GpuCatalog((*(gpu for gpu in self.gpus if gpu.gpu not in new), *new.values())) if new else self


def _loose_keys(key: str) -> list[str]:
    """Return the key of a name without memory, and what people shorten it to: "rtx3090" is "3090", too."""
    found, short = {key, _ENDING.sub("", key)}, _ENDING.sub("", key)
    while (shorter := _LINE.sub("", short)) != short:
        found.add(short := shorter)
    return sorted(found)


def gpu_from_row(row: Mapping[str, object]) -> Gpu:
    """Return the GPU in one table row: numbers or nan, texts or "", aliases separated by semicolons."""
    numbers = {name: float(row.get(name, nan)) for name in STATED_NUMBERS}  # type: ignore[arg-type]
    texts = {name: str(row[name]) if isinstance(row.get(name), str) else "" for name in TEXT_COLUMNS}
    aliases = row.get("aliases")
    texts["device"] = texts["device"] or "GPU"
    split = tuple(part for part in aliases.split(";") if part) if isinstance(aliases, str) else ()
    return Gpu(**numbers, **texts, aliases=split)  # type: ignore[arg-type]


@cache
def built_in_gpus() -> GpuCatalog:
    """Return the shipped catalog.

    Returns
    -------
    GpuCatalog
        All shipped GPUs, with a source per value.
    """
    gpus = [gpu_from_row(row) for row in read_data_rows("gpus.csv")]
    sources = _sources(gpu.gpu for gpu in gpus)
    return GpuCatalog(tuple(replace(gpu, sources=sources[gpu.gpu]) for gpu in gpus))


def _sources(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the sources that differ from the row's, by GPU and column; later lines override earlier ones."""
    sources: dict[str, dict[str, str]] = {name: {} for name in names}
    for line in read_data_rows("gpu_sources.csv"):
        gpus = sources if line["gpus"] == "*" else line["gpus"].split(";")
        for name in gpus:
            sources[name] |= dict.fromkeys(line["columns"].split(";"), line["source"])
    return sources


def find_gpu(text: str) -> Gpu:
    """Return the shipped GPU of a name.

    Parameters
    ----------
    text : str
        The name as torch, nvidia-smi or a data sheet prints it; case and vendor words do not matter.

    Returns
    -------
    Gpu

    Raises
    ------
    UnknownNameError
        No GPU or more than one has that name; the message suggests near names.

    Examples
    --------
    >>> find_gpu("NVIDIA GeForce RTX 3090").memory_bytes
    24000000000.0
    """
    return built_in_gpus().find(text)


def find_instance(text: str) -> Instance | None:
    """Return the instance of a cloud that a text names in any spelling, None where none has that name.

    >>> find_instance("Standard_NC6s_v3").gpu, find_instance("T4")
    ('V100-PCIE-16GB', None)
    """
    return instances_by_name().get(built_in_gpus().meaning(text).instance)
