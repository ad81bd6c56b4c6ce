"""GPUs and many-core processors: their specifications, and strict lookup by the names that drivers print."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import SequenceMatcher
from functools import cache, cached_property
from math import isnan, nan

import pandas as pd
from trainlaw.datasets.files.columns import shipped_schema
from trainlaw.datasets.files.mapping import joined_name
from trainlaw.datasets.files.storage import read_data_rows
from trainlaw.datasets.hardware.instances import family_of, find_instance, instances
from trainlaw.formulas.errors import UnknownNameError, check_name, shown

# Words that name the vendor, not the product; "Quadro", "RTX" and "Radeon" are part of the product name.
_VENDOR_WORDS = re.compile(
    r"\((?:r|tm|c)\)|[®™©]|\b(?:nvidia|amd|intel|geforce|tesla|corporation|graphics|gpu|processor|cpu)\b"
    # Where it is rented.
    r"|\b(?:colab|kaggle|aws|azure|gcp|lambda|runpod|paperspace|coreweave|sagemaker|vast\.ai)\b"
)
# Several of one GPU: 4x V100, 8xH100, T4 x2.
_COUNTED = re.compile(
    r"\s*(\d{1,3})\s*[x\u00d7*]\s*([^\W\d].*)|(.*\d\w*)\s+[x\u00d7*]\s*(\d{1,3})\s*", re.IGNORECASE
)
_LISTING = re.compile(r"^\s*gpu\s*\d+\s*:|\(uuid:[^)]*\)")
_NO_GPU = re.compile(
    r"\b(tpu|trainium|trn\d|inferentia|inf\d|gaudi|ipu|cerebras)",
    re.IGNORECASE,
)
_MOST_VARIANTS = 10  # that one name stands for, such as A100; more is no family of a GPU
_HARD_STOPS = re.compile(r"laptop|notebook|mobile|max-?q|max q|\bmig\b|\bgrid\b|vgpu|virtual")
_MEMORY = re.compile(r"(?<![a-z0-9.])(\d{1,6}(?:\.\d+)?)\s*(gib|gb|mib|mb|g)(?![a-z0-9])")
# Product lines, which people leave out ("3090"), and endings that they leave out, too ("RTX 6000").
_LINE = re.compile(r"^(?:quadrortx|quadro|rtx|gtx|radeonrx|radeonpro|radeon|rx|instinct|arc)(?=[a-z]{0,2}\d)")
_ENDING = re.compile(r"ada(?:generation)?$")
#: Link of a GPU without a known one.
NO_LINK = "pcie3-x16"
#: Time in s that a host needs to launch the kernels of one layer, where not stated: see `usual_launch_s`.
USUAL_LAUNCH_S, RECENT_LAUNCH_S = 120e-6, 40e-6
_FIRST_RECENT_YEAR = 2025  # hosts of the data set h100 and later ones launch in 27 to 40 us
# With 40 us the error of an RTX 5000 Ada Laptop falls from 41 to 25 %, that of a desktop with an RTX 4060 Ti
# rises from 20 to 30 %.
_FIRST_RECENT_LAPTOP = 2023
_RECENT = frozenset({"Blackwell 2.0", "CDNA 4", "RDNA 4.0"})
_BYTES_PER_UNIT = {"gib": 1e9, "gb": 1e9, "g": 1e9, "mib": 1e9 / 1024, "mb": 1e9 / 1024}


def name_key(text: str) -> str:
    """Return the name of a GPU in lower case, without vendor words and separators.

    >>> name_key("NVIDIA GeForce RTX 3090"), name_key("Tesla V100-SXM2-16GB")
    ('rtx3090', 'v100sxm2_16gb')
    """
    bare = _VENDOR_WORDS.sub(" ", _LISTING.sub(" ", text.lower()))
    return joined_name(re.sub(r"\(\s*\)", " ", bare))


def hard_stop(text: str) -> str:
    """Return the word of `text` that marks a different product from the plain GPU (laptop, MIG, ...), or "".

    >>> hard_stop("NVIDIA GeForce RTX 4090 Laptop GPU")
    'laptop'
    """
    match = _HARD_STOPS.search(text.lower())
    return match.group() if match else ""


def without_hard_stop(text: str) -> str:
    """Return `text` without such words, in lower case: the plain GPU that it may resemble."""
    return _HARD_STOPS.sub(" ", text.lower())


def split_memory(text: str) -> tuple[str, float | None]:
    """Return `text` without its memory size, and that size in bytes (None when none is named).

    "16GB" on a data sheet and "16384 MiB" from a driver both give 16e9: GPUs are sold by that number.

    >>> split_memory("NVIDIA GeForce RTX 3090, 24576 MiB")
    ('NVIDIA GeForce RTX 3090, ', 24000000000.0)
    """
    lowered = text.lower()
    match = _MEMORY.search(lowered)
    if match is None or len(lowered) != len(text):
        return text, None
    size = float(match.group(1)) * _BYTES_PER_UNIT[match.group(2)]
    return (text[: match.start()] + text[match.end() :]).replace("()", ""), size


MAX_NAME_LENGTH = 200  # of a text that is looked up; a line of nvidia-smi -L has 90
FIRST_WITH_TF32 = 8.0  # compute capability of NVIDIA's Ampere
# A driver reports a little less than the sold size: 15,360 MiB on a 16 GB T4 with error correction.
_MEMORY_TOLERANCE = 0.08
# Names that resemble a text less are no suggestions.
_LEAST_LIKENESS = 0.5


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
    def is_other_vendor(self) -> float:
        """1 for a GPU of a known maker other than NVIDIA and AMD, as Intel and Apple; 0 for others."""
        return float(self.vendor not in ("", "NVIDIA", "AMD"))

    @property
    def usual_link(self) -> str:
        """Name of the link to the other GPUs of a node: the GPU's, else the host's, else `NO_LINK`."""
        return self.gpu_link or self.host_link or NO_LINK

    @property
    def usual_launch_s(self) -> float:
        """Time in s in which hosts of the GPU's years usually launch the kernels of one layer.

        These values have the least error, by eager PyTorch: over small batches on GPUs of 2016 to 2023, whose
        hosts need 95 to 170 us by year, and on GPUs of 2025, whose hosts need 27 to 36 us; laptops since 2023
        are as fast.
        """
        first = _FIRST_RECENT_LAPTOP if "Laptop" in self.gpu else _FIRST_RECENT_YEAR
        is_recent = self.year >= first or (isnan(self.year) and self.generation in _RECENT)
        return RECENT_LAUNCH_S if is_recent else USUAL_LAUNCH_S

    @property
    def capability(self) -> float:
        """NVIDIA's compute capability as a number; nan where it is not known."""
        text = self.compute_capability
        return float(text) if text.replace(".", "", 1).isdecimal() else nan

    @property
    def default_precision(self) -> str:
        """Precision of PyTorch where nothing else is set: "default" on NVIDIA's Ampere and later, else fp32.

        A GPU of unknown maker and compute capability counts as such if its tf32 rate exceeds its fp32 rate.

        >>> find_gpu("V100-SXM2-16GB").default_precision, find_gpu("RTX 3090").default_precision
        ('fp32', 'default')
        """
        seems_newer = not self.vendor and self.peak_tf32_flop_per_s > self.peak_fp32_flop_per_s
        has_tf32 = seems_newer if isnan(self.capability) else self.capability >= FIRST_WITH_TF32
        return "default" if has_tf32 else "fp32"

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
NUMBER_COLUMNS = (*STATED_NUMBERS, "is_amd", "is_other_vendor", "usual_launch_s")
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
    def _by_key(self) -> dict[str, Gpu]:
        return {name_key(name): gpu for gpu in self.gpus for name in (*gpu.aliases, gpu.gpu)}

    @cached_property
    def _by_key_without_memory(self) -> dict[str, tuple[Gpu, ...]]:
        found: dict[str, tuple[Gpu, ...]] = {}
        for gpu in self.gpus:
            for key in {name_key(split_memory(name)[0]) for name in (*gpu.aliases, gpu.gpu)}:
                found[key] = (*found.get(key, ()), gpu)
        return found

    @cached_property
    def _by_bare_key(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {}
        for key, gpus in self._by_key_without_memory.items():
            found.setdefault(_bare(key), {}).update((gpu.gpu, None) for gpu in gpus)
        return {bare: tuple(names) for bare, names in found.items()}

    def _without_line(self, text: str) -> tuple[str, ...]:
        """Return names of GPUs that `text` names without their product line or its beginning."""
        key = name_key(text)
        if not key[:1].isdigit() and _bare(key) == key and not key[-1:].isdigit():
            return ()
        names = self._by_bare_key.get(_bare(key), ())
        if _bare(key) == key:
            return names
        ours = {name: _ENDING.sub("", name_key(split_memory(name)[0])) for name in names}
        return tuple(name for name in names if ours[name].endswith(key))

    def namesakes(self, name: str) -> tuple[str, ...]:
        """Return the names of the GPUs that differ from a known one only in the size of their memory."""
        key = name_key(split_memory(name)[0])
        return tuple(gpu.gpu for gpu in self._by_key_without_memory.get(key, ()))

    def find(self, text: str) -> Gpu:
        """Return the GPU that `text` names, as torch, nvidia-smi, the data sheet or people write it.

        "3090" is the RTX 3090, "P100 12GB" the only P100 of that size, "g4dn.xlarge" the T4 that it has.

        Raises UnknownNameError, with near names, when no GPU or more than one has that name.

        >>> built_in_gpus().find("Tesla V100-SXM2-16GB").gpu
        'V100-SXM2-16GB'
        """
        if text in self._by_name:
            return self._by_name[text]
        if not name_key(text) or len(text) > MAX_NAME_LENGTH:
            raise UnknownNameError(f"expected the name of a GPU, got {shown(text)}")
        if name_key(text) in self._by_key:
            return self._by_key[name_key(text)]
        instance = find_instance(text)
        if instance and instance.gpu in self._by_name:
            return self._by_name[instance.gpu]
        if hard_stop(text):
            reason = f"no {hard_stop(text)} variant is known, and it differs from the plain GPU"
            raise self._unknown(text, reason, self.near_names(text))
        rest, memory_bytes = split_memory(text)
        # "V100-SXM2-16GB, 16384 MiB" says the same twice.
        shorter, again = split_memory(rest)
        if memory_bytes and again and _is_near(again, memory_bytes):
            rest = shorter
        candidates = self._by_key_without_memory.get(name_key(rest), ())
        bare = () if candidates else self._without_line(rest)
        if memory_bytes is None:
            if len(bare) == 1:
                return self._by_name[bare[0]]
            names = [gpu.gpu for gpu in candidates] or list(bare)
            reason = "several GPUs have that name" if len(names) > 1 else ""
            raise self._unknown(text, reason, names or self.near_names(text))
        named = [gpu.gpu for gpu in candidates] or list(bare) or self._continuing(rest)
        same = [name for name in named if _is_near(self._by_name[name].memory_bytes, memory_bytes)]
        if len(same) == 1:
            return self._by_name[same[0]]
        raise self._unknown(
            text, "no single GPU has that name and memory", same or named or self.near_names(rest)
        )

    def variants(self, text: str) -> tuple[Gpu, ...]:
        """Return the GPUs of which a text is the common beginning, such as "A100"; none where it is a name.

        >>> [gpu.gpu for gpu in built_in_gpus().variants("V100 SXM2")]
        ['V100-SXM2-16GB', 'V100-SXM2-32GB']
        """
        names = self._continuing(text) if re.search(r"\d", text) and not hard_stop(text) else []
        return tuple(self._by_name[name] for name in names) if 2 <= len(names) <= _MOST_VARIANTS else ()

    def spellings(self) -> dict[str, str]:
        """Return further texts that name a GPU and no other, each with that GPU: "4090", "g4dn.xlarge"."""
        bare = {key: names[0] for key, names in self._by_bare_key.items() if len(names) == 1}
        short = {key: gpus[0].gpu for key, gpus in self._by_key_without_memory.items() if len(gpus) == 1}
        aliases = {alias: gpu.gpu for gpu in self.gpus for alias in gpu.aliases}
        of_clouds = {one.instance: one.gpu for one in instances() if one.gpu in self._by_name}
        # Keys come from sets: sorted, a page has the same bytes in every process.
        return dict(sorted({**bare, **short, **aliases, **of_clouds}.items()))

    def _unknown(self, text: str, reason: str, names: list[str]) -> UnknownNameError:
        if _NO_GPU.search(text):
            return UnknownNameError(
                f"{shown(text)} is no GPU, and only GPUs are modelled: list them with `trainlaw gpus list`"
            )
        if counted := _COUNTED.fullmatch(text):
            first, gpu, other, last = counted.groups()
            number, name = first or last, (gpu or other).strip()
            if name in self._by_name or self.near_names(name):
                advice = f"did you mean {name!r} with --gpus {number} (in Python n_gpus={number})?"
                return UnknownNameError(f"{shown(text)} is a number of GPUs: {advice}", [name])
        advice = "did you mean " + " or ".join(repr(name) for name in names) + "?" if names else ""
        listed = "list them with `trainlaw gpus list`; describe yours with --gpu-file FILE"
        said = "; ".join(part for part in (reason, advice or listed) if part)
        return UnknownNameError(f"unknown GPU {shown(text)}: {said}", names)

    def near_names(self, text: str) -> list[str]:
        """Return names of GPUs that resemble `text`, nearest first: suggestions, not an answer.

        Where names continue `text` ("A100" in "A100-SXM4-40GB"), those are returned, up to eight; else
        instances of a cloud whose family it is ("p4d"), or the GPU that one of its words names.
        """
        words = [self._by_key[name_key(word)].gpu for word in text.split() if name_key(word) in self._by_key]
        if longer := self._continuing(text) or family_of(text) or words:
            return longer[:8]
        key = name_key(without_hard_stop(text))[:MAX_NAME_LENGTH]
        score: dict[str, float] = {}
        for other, gpu in self._by_key.items():
            score[gpu.gpu] = max(score.get(gpu.gpu, 0.0), _likeness(key, other))
        near = sorted(score, key=lambda name: (-score[name], name))[:3]
        return [name for name in near if score[name] > _LEAST_LIKENESS]

    def _continuing(self, text: str) -> list[str]:
        key = name_key(without_hard_stop(text))[:MAX_NAME_LENGTH]
        return sorted({gpu.gpu for other, gpu in self._by_key.items() if _continues(key, other)})

    def frame(self) -> pd.DataFrame:
        """Return the GPUs as a table, one row per GPU, columns as the fields of `Gpu` except `sources`."""
        table = pd.DataFrame([{name: getattr(gpu, name) for name in _COLUMNS} for gpu in self.gpus])
        return table.assign(aliases=[";".join(gpu.aliases) for gpu in self.gpus])

    def with_gpus(self, gpus: Iterable[Gpu]) -> "GpuCatalog":
        """Return a catalog that also holds those GPUs that this one does not, each as `with_gpu`."""
        known, catalog = {gpu.gpu: gpu for gpu in self.gpus}, self
        for gpu in gpus:
            # Identity first: comparing all fields of a hundred GPUs takes a hundredth of a second.
            if known.get(gpu.gpu) is not gpu:
                catalog = catalog.with_gpu(gpu)
        return catalog

    def with_gpu(self, gpu: Gpu) -> "GpuCatalog":
        """Return a catalog that also holds `gpu`, replacing a GPU of the same name."""
        return GpuCatalog((*(other for other in self.gpus if other.gpu != gpu.gpu), gpu))


def _is_near(size: float, other: float) -> bool:
    return abs(size - other) <= _MEMORY_TOLERANCE * max(size, other)


def _bare(key: str) -> str:
    """Return the key of a name without its product line: "rtx3090" is "3090"."""
    return _ENDING.sub("", _LINE.sub("", key))


def _continues(key: str, other: str) -> bool:
    return bool(key) and other.startswith(key) and not other[len(key) :][:1].isdigit()


def _likeness(key: str, other: str) -> float:
    """Return how much two keys resemble each other; 0 where a bound says that it is too little."""
    contained = 0.2 if key in other or other in key else 0.0
    matcher = SequenceMatcher(None, key, other)
    return matcher.ratio() + contained if matcher.quick_ratio() + contained > _LEAST_LIKENESS else 0.0


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


def gpu_table() -> pd.DataFrame:
    """Return the shipped GPUs as a table.

    Returns
    -------
    DataFrame
        One row per GPU, columns as the fields of `Gpu` (a new frame).
    """
    return built_in_gpus().frame()


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
