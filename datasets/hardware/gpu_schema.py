"""The GPU schema: one row per GPU, the unit in each column name, empty where unknown."""

from trainlaw.datasets.files.columns import Column, Optional, Range, table_schema

_RATE: Range = {"unit": "FLOP/s", "low": 1e9, "high": 1e18}
_CLOCK: Range = {"unit": "Hz", "low": 1e7, "high": 1e11}
_MEMORY: Range = {"unit": "B", "low": 1e7, "high": 1e14}
_BANDWIDTH: Range = {"unit": "B/s", "low": 1e8, "high": 1e15}
_UNKNOWN: Optional = {"default": "", "may_be_empty": True}

GPU_COLUMNS: tuple[Column, ...] = (
    Column("gpu", "text", "name of the GPU, with its memory size where GPUs differ only by that"),
    Column("vendor", "text", "manufacturer", **_UNKNOWN),
    Column("chip", "text", "chip", **_UNKNOWN),
    Column("generation", "text", "architecture", **_UNKNOWN),
    Column("device", "text", "GPU or CPU", allowed=("GPU", "CPU"), default="GPU", may_be_empty=True),
    Column("year", "integer", "year of release", "", 1990, 2100, **_UNKNOWN),
    Column(
        "gpu_group",
        "text",
        "GPUs that are held out together: same chip and number of multiprocessors",
        **_UNKNOWN,
    ),
    Column("sm_count", "integer", "multiprocessors, compute units or cores", "", 1, 1e5),
    Column("core_count", "integer", "fp32 lanes", "", 1, 1e7),
    Column("base_clock_hz", "number", "base clock", **_CLOCK, **_UNKNOWN),
    Column("boost_clock_hz", "number", "boost clock", **_CLOCK),
    Column("peak_fp32_flop_per_s", "number", "peak fp32 rate without tensor cores", **_RATE),
    Column(
        "peak_tf32_flop_per_s", "number", "peak tf32 rate, dense; empty: the fp32 rate", **_RATE, **_UNKNOWN
    ),
    Column(
        "peak_fp16_flop_per_s",
        "number",
        "peak fp16 rate, dense, accumulated in fp32; empty: the fp32 rate",
        **_RATE,
        **_UNKNOWN,
    ),
    Column(
        "peak_bf16_flop_per_s",
        "number",
        "peak bf16 rate, dense, accumulated in fp32; empty: the fp16 rate",
        **_RATE,
        **_UNKNOWN,
    ),
    Column("tensor_fp16_flop_per_s", "number", "dense fp16 tensor rate as sold", **_RATE, **_UNKNOWN),
    Column(
        "tensor_accumulation",
        "text",
        "precision in which tensor cores accumulate, and at which rate",
        **_UNKNOWN,
    ),
    Column("memory_bytes", "number", "memory as sold, 1e9 bytes a GB", **_MEMORY),
    Column("bandwidth_byte_per_s", "number", "memory bandwidth", **_BANDWIDTH),
    Column("l2_bytes", "number", "level 2 cache (processors: level 3)", "B", 1e4, 1e11, **_UNKNOWN),
    Column("l1_bytes_per_sm", "number", "level 1 cache of one multiprocessor", "B", 1e3, 1e9, **_UNKNOWN),
    Column("tdp_w", "number", "thermal design power, the default power limit", "W", 1, 1e5, **_UNKNOWN),
    Column("compute_capability", "text", "CUDA compute capability", **_UNKNOWN),
    Column("host_link", "text", "link to the host, as in the link table", **_UNKNOWN),
    Column("gpu_link", "text", "link to other GPUs, as in the link table", **_UNKNOWN),
    Column("peer_access", "number", "1 where GPUs copy to each other directly", "", 0, 1, **_UNKNOWN),
    Column(
        "comparable_fp32_flop_per_s",
        "number",
        "fp32 rate of lanes that do one operation per clock whatever else runs; empty: unknown",
        **_RATE,
        **_UNKNOWN,
    ),
    Column("fp32_counting", "text", "what the peak fp32 rate of the data sheet counts", **_UNKNOWN),
    Column("simt_fp16_flop_per_s", "number", "fp16 rate outside tensor cores", **_RATE, **_UNKNOWN),
    Column("has_fast_fp16", "number", "0 where fp16 training is no faster than fp32", "", 0, 1, **_UNKNOWN),
    Column(
        "last_level_cache_bytes",
        "number",
        "cache beyond level 2, such as Infinity Cache; 0: none",
        "B",
        0,
        1e11,
        **_UNKNOWN,
    ),
    Column("memory_type", "text", "kind of memory, such as HBM2e or GDDR6X", **_UNKNOWN),
    Column("shares_host_memory", "number", "1 where the memory is the host's", "", 0, 1, **_UNKNOWN),
    Column("aliases", "text", "other names that software prints, separated by semicolons", **_UNKNOWN),
    Column("source", "text", "source of the figures", **_UNKNOWN),
    Column("remark", "text", "further notes", **_UNKNOWN),
)


def gpu_table_schema() -> dict[str, object]:
    """Return the GPU schema as a Frictionless Table Schema, ready for JSON."""
    return table_schema(GPU_COLUMNS, "trainlaw GPUs")
