"""What the header of a column means: words that people use for the columns of the runs schema."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType

from trainlaw.datasets.measurements.runs import RUN_COLUMNS
from trainlaw.datasets.spreadsheets.quantities import Unit, parse_unit

#: Columns that the importer knows in addition to those of the runs schema.
TIME, RATE = "time", "throughput"
BATCH, GLOBAL_BATCH, GPUS_PER_NODE = "batch", "global_batch", "gpus_per_node"
MODE, DATASET, DATE, ACCUMULATION = "mode", "dataset", "date", "accumulation"
FLAG = "flag:"  # a column that says yes or no to one precision or layout
UNIT = "unit"  # a column with the unit of each row
CHECK = "check"  # a throughput next to the time that is read
OTHER_TIME = "other time"  # of an epoch, a phase, inference or a spread
IGNORED = "ignored"

#: Columns that are measured times or throughputs.
MEASURES = (TIME, RATE)

# Words without separators; a word in the second tuple counts only where none of the first is a column.
_WORDS: Mapping[str, tuple[str, str]] = {
    "gpu": (
        "gpu gpuname gpumodel gputype gputyp graphicscard videocard grafikkarte gpudevice devicename "
        "acceleratorname acceleratormodel acceleratormodelname acceleratortype gpuproduct "
        "gpuchip accelerator",
        "card device hardware hw chip system processor machine host server instance instancetype gerät",
    ),
    "cnn": (
        "cnn model modelname network networkname net arch architecture backbone modell netz netzwerk "
        "cnnmodel neuralnetwork nn neuralnet dnn topology cnnname modelarch netname modelarchitecture",
        "benchmark workload",
    ),
    BATCH: (
        "batch batchsize bs minibatch minibatchsize mb batchsz batchgröße batchgroesse stapelgröße "
        "imagesbatch imagesperbatch nbatch bsize batchdim bsz samplesperbatch imgsperbatch",
        "",
    ),
    "batch_per_gpu": (
        "batchpergpu batchsizepergpu pergpubatch pergpubatchsize localbatch localbatchsize batchgpu "
        "batchperdevice batchsizeperdevice perdevicebatchsize perdevicebatch devicebatchsize lbs bsgpu "
        "bspergpu batchsizegpu imagespergpu batchprogpu microbatch microbatchsize batchperworker mbs "
        "perdevicetrainbatchsize gpubatchsize pergpubs batchpergpu batchperaccelerator",
        "",
    ),
    GLOBAL_BATCH: (
        "globalbatch globalbatchsize totalbatch totalbatchsize effectivebatch effectivebatchsize gbs "
        "overallbatchsize batchglobal batchtotal batchsizeglobal batchsizetotal globalbs totalbs "
        "gesamtbatch",
        "",
    ),
    "n_gpus": (
        "ngpu ngpus gpus gpucount gpunum numbergpus numgpus anzahlgpus gpuanzahl worldsize naccelerators "
        "accelerators ndevices devices numaccelerators gpusused numberaccelerators acceleratorcount "
        "devicecount ngpusused totalgpus gpustotal totalaccelerators numberdevices anzahlgpu nranks",
        "ranks nprocs worldsize",
    ),
    GPUS_PER_NODE: (
        "gpuspernode gpusnode gpupernode gpusperhost ngpuspernode nprocpernode acceleratorspernode "
        "devicespernode nprocpernode",
        "",
    ),
    "n_nodes": ("nodes nnodes numnodes numbernodes nodecount hosts nhosts knoten anzahlknoten machines", ""),
    "precision": (
        "precision dtype datatype mathmode numberformat genauigkeit präzision numericprecision "
        "trainingprecision computeprecision floatprecision mathprecision prec numerics numericformat "
        "floatingpoint",
        "",
    ),
    "input_size_px": (
        "inputsize imagesize imgsize resolution inputres inputresolution inputshape size cropsize px pixels "
        "bildgröße bildgroesse auflösung imsize res crop imageres imageresolution imgres inputdim inputimage "
        "inputimagesize inputpx imgpx sizepx",
        "input shape",
    ),
    "n_classes": ("classes numclasses nclasses numberclasses klassen outputclasses", ""),
    "layout": (
        "layout memoryformat dataformat tensorformat memorylayout datalayout tensorlayout memfmt memformat",
        "format",
    ),
    "stack": ("stack softwarestack softwarepath", ""),
    "compilation": (
        "compilation compile compiler torchcompile jit graphmode compilemode executionmode compiled",
        "",
    ),
    "data": ("datasource inputdata inputpipeline datapipeline datakind", ""),
    "framework": ("framework library backend software fw dlframework lib", ""),
    "framework_version": ("frameworkversion version fwversion torchversion pytorchversion", ""),
    "bench_year": ("year benchyear jahr", ""),
    "link": ("link interconnect gpulink gpuinterconnect intranode nvlink", ""),
    "network": ("fabric networkfabric internode nodeinterconnect", ""),
    "algorithm": ("algorithm allreducealgorithm collective", ""),
    "timed_parts": ("timedparts timedphases", ""),
    MODE: ("mode phase task stage runtype testtype trainorinfer traininginference direction jobtype run", ""),
    DATASET: ("dataset datensatz trainset", ""),
    DATE: ("date datum timestamp measuredon day benchdate testdate", ""),
    UNIT: ("unit units einheit timeunit", ""),
    ACCUMULATION: (
        "accumulation gradaccum gradientaccumulation accumulationsteps gradaccumsteps accumsteps accum "
        "gradientaccumulationsteps accumulategradbatches gradacc",
        "",
    ),
    f"{FLAG}amp": ("amp mixedprecision useamp mixed automp autocast ampenabled gemischt", ""),
    f"{FLAG}fp16": ("fp16 half usefp16 halfprecision float16 isfp16", ""),
    f"{FLAG}bf16": ("bf16 bfloat16 usebf16", ""),
    f"{FLAG}tf32": ("tf32 allowtf32 usetf32", ""),
    f"{FLAG}channels_last": ("channelslast nhwc usechannelslast ischannelslast", ""),
    f"{FLAG}xla": ("xla usexla", ""),
    f"{FLAG}inductor": ("inductor", ""),
    TIME: (
        "time steptime itertime iterationtime timeperstep timeperiteration timeperiter timeperbatch "
        "batchtime latency iterationszeit zeit zeitproiteration zeitproschritt zeititeration stepduration "
        "iterduration timestep timeiter timeiteration timebatch steplatency iterationlatency schrittzeit "
        "perstep periter periteration timeit timemedian mediantime perbatch timeperit",
        "duration runtime elapsed dauer laufzeit elapsedtime timing result measurement wert value ergebnis",
    ),
    RATE: (
        "throughput speed trainspeed rate durchsatz imagerate samplerate perf performance "
        "geschwindigkeit trainthroughput imagethroughput processingrate samplesthroughput",
        "score",
    ),
    IGNORED: (
        "loss accuracy acc top1 top5 params paramcount parameters flops gflops gmacs macts macs memory mem "
        "memorygb gpumemory gpumem vram peakmemory maxmemory power energy temperature temp utilization util "
        "gpuutil gpuutilization gpuid gpuindex deviceid index id nr no row comment comments note notes "
        "remark remarks kommentar bemerkung bemerkungen anmerkung user operator notiz speedup "
        "efficiency epochs epoch numworkers workers dataloaderworkers seed driver driverversion cuda "
        "cudaversion cudnn os hostname cpu ram price cost nimages iterations steps iters numsteps numiters "
        "warmup repeats optimizer lr learningrate submitter availability status rank layers depth weights "
        "relative clock",
        "",
    ),
}
_SPREAD = frozenset(
    "std stdev stddev sd err error deviation variance var cv iqr ci min max minimum maximum best worst p5 "
    "p10 p25 p75 p90 p95 p99 fastest slowest streuung abweichung".split()
)
_AVERAGE = frozenset("mean avg average median p50 mittel mittelwert mittlere durchschnitt typical".split())
_OTHER = frozenset(
    "epoch epochs epoche total gesamt wall wallclock walltime inference infer eval evaluation test testing "
    "validation val forward fwd backward bwd optimizer opt data loading load loader comm communication "
    "allreduce warmup compile startup first h2d io preprocessing train_to accuracy queue inferenz".split()
)
_FILLERS = frozenset(
    "the of used in my our train training trained measured observed actual final for to is use per_run "
    "reported gemessen gemessene".split()
)
# What headers say next to a unit, and which GPUs a throughput is of.
_AROUND_UNITS = frozenset("images samples image sample in t iter iteration step it ti dt x per gpu".split())
_SCOPES = frozenset("total overall aggregate global gesamt per gpu device all gpus image sample pro".split())
_PER_IMAGE = re.compile(r"(?:per|pro|/)[\s_]*(?:img|image|sample|example|bild|frame)")
_PER_GPU = re.compile(r"(?:per|pro|/|each)[\s_-]*(?:gpu|device|accelerator|die)|single[\s_-]gpu")
_OF_ALL = re.compile(r"\b(?:total|overall|aggregate|global|gesamt|all[\s_-]gpus)\b")
_EXACT = frozenset(column.name for column in RUN_COLUMNS)
_LONGEST_HEADER = 300  # characters; what is longer is no header, and searching it takes long
_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]")


@dataclass(frozen=True)
class Meaning:
    """What a header means.

    target : column of the runs schema or a name of this file, "" where none is known. unit : as the header
    states it. is_exact : whether the header is the name in the schema. is_weak : whether another column of
    the same target is more likely. is_average : whether a time is said to be a mean or median.
    """

    target: str
    unit: Unit | None = None
    is_exact: bool = False
    is_weak: bool = False
    is_average: bool = False


def read_heading(text: str) -> Meaning:
    """Return what a header means.

    >>> read_heading("Step time [ms]").unit.text, read_heading("Batch size (per GPU)").target
    ('ms', 'batch_per_gpu')
    >>> read_heading("train_samples_per_sec").target, read_heading("GPU util %").target
    ('throughput', 'ignored')
    """
    if text in _EXACT:
        return Meaning(text, parse_unit("s") if text == "time_s" else None, is_exact=True)
    name, stated = without_unit(text)
    tokens, unit = _plain_words(name), _specified(stated, name)
    if (unit is not None or _is_measure(tokens)) and (left := _not_measured(tokens, unit)):
        return Meaning(left, unit)
    unsaid = _AVERAGE | (_SCOPES if unit is not None else frozenset())
    joined = "".join(word for word in tokens if word not in unsaid)
    target, is_average = _target_of(joined), bool(_AVERAGE & set(tokens))
    if unit is None:
        return Meaning(target, None, is_weak=joined in _weak(), is_average=is_average)
    measure = RATE if unit.is_rate else TIME
    if target not in (*MEASURES, ""):
        # "Batch (ms)" is the time of a batch where nothing else is a time.
        return Meaning(measure, unit, is_weak=True)
    known = bool(target) or not joined or set(tokens) <= _AROUND_UNITS
    return Meaning(measure if known else "", unit, is_average=is_average)


def _is_measure(tokens: list[str]) -> bool:
    """Return whether words without a unit name a time or throughput, perhaps of something else."""
    plain = "".join(word for word in tokens if word not in _SPREAD | _OTHER | _AVERAGE)
    return _target_of(plain) in MEASURES


def _not_measured(tokens: list[str], unit: Unit | None) -> str:
    """Return what a time or throughput is that is none of a training iteration; "" for one that is."""
    if _SPREAD & set(tokens):
        return IGNORED
    # The total throughput is that of all GPUs, the total time that of all iterations.
    other = _OTHER - {"total", "gesamt"} if unit is not None and unit.is_rate else _OTHER
    return OTHER_TIME if other & set(tokens) else ""


def without_unit(text: str) -> tuple[str, Unit | None]:
    """Return a header without the unit that it states in brackets, at its end or as a whole, and the unit.

    >>> without_unit("fp32 (img/s)")[0].strip(), without_unit("Tesla T4")
    ('fp32', ('Tesla T4', None))
    """
    if len(text) > _LONGEST_HEADER:
        return text, None
    for bracket in _BRACKETS.finditer(text):
        inside = bracket[1].strip()
        if unit := parse_unit(inside):
            return text[: bracket.start()] + " " + text[bracket.end() :], unit
    tokens = [word for word in re.split(r"[\s_\-,:]+", text.strip()) if word]
    plain = [word for word in tokens if word.lower() not in _FILLERS | _AVERAGE]
    for length in range(len(plain), 0, -1):
        # "time s" has a unit at its end; "s" alone has one, too.
        unit = parse_unit(" ".join(plain[-length:])) or parse_unit(" ".join(plain[:length]))
        if unit is None:
            continue
        is_last = parse_unit(" ".join(plain[-length:])) is not None
        rest = plain[:-length] if is_last else plain[length:]
        return " ".join([*rest, *(word for word in tokens if word.lower() in _AVERAGE)]), unit
    return text, None


def _specified(unit: Unit | None, name: str) -> Unit | None:
    """Return a unit with what the rest of its header adds: per image, per GPU, of all GPUs."""
    if unit is None:
        return None
    text = name.lower()
    if unit.counted == "iteration" and not unit.is_rate and _PER_IMAGE.search(text):
        unit = replace(unit, counted="image")
    if unit.counted == "image" and unit.is_rate and unit.per_gpu is None:
        per_gpu = True if _PER_GPU.search(text) else False if _OF_ALL.search(text) else None
        return replace(unit, per_gpu=per_gpu)
    return unit


def _plain_words(text: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text)
    spaced = re.sub(
        r"#|\bno\.|\bnum(?:ber)?\b(?:\s+of\b)?|\bnum_|\bnr\.|\banzahl\b(?!\w)", " n ", spaced, flags=re.I
    )
    tokens = [word for word in re.findall(r"[^\W_]+", spaced.lower()) if word not in _FILLERS]
    return [word for word in tokens if word not in ("px", "pixel", "pixels")] or tokens


@cache
def _by_word() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for rank in (0, 1):
        for target, tokens in _WORDS.items():
            for word in tokens[rank].split():
                found.setdefault(word, target)
    return MappingProxyType(found)


@cache
def _weak() -> frozenset[str]:
    strong = {word for tokens, _ in _WORDS.values() for word in tokens.split()}
    return frozenset(word for _, tokens in _WORDS.values() for word in tokens.split()) - strong


def _target_of(joined: str) -> str:
    if joined in _by_word():
        return _by_word()[joined]
    exact = {name.replace("_", ""): name for name in _EXACT}
    return exact.get(joined, "")


def near_target(text: str) -> str:
    """Return the column that a header nearly names ("precison"), "" where none is near."""
    joined = "".join(_plain_words(without_unit(text)[0]))
    # "time for 100 iterations" is no time of one.
    if len(joined) < 4 or any(map(str.isdigit, joined)):
        return ""
    near = get_close_matches(joined, _by_word(), n=1, cutoff=0.86)
    target = _by_word()[near[0]] if near else ""
    return "" if target == IGNORED else target
