"""The CNNs of the package timm as graphs, and the script that writes the shipped tables of them.

    python -m tools.timm_models [NAME@PIXELS ...]

derives again what is shipped, and further CNNs, from the root of a checkout with timm and torch on the meta
device: no weights, no network. timm is Apache-2.0, https://github.com/huggingface/pytorch-image-models. With
timm 0.6.12, the last whose names are those of its benchmarks of training (results/benchmark-train-*.csv), it
writes the tables of those CNNs; with timm 1.0.22 those of the CNNs that only its benchmarks of forward passes
have (results/benchmark-infer-*.csv).
"""

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from trainlaw.datasets.cnns.architectures import built_architecture, shipped_architectures
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.readers.torch_reader import read_torch
from trainlaw.datasets.cnns.zoo import LATER_TIMM_COUNTS_FILE, PREFIX, TIMM_COUNTS_FILE, build, timm_table
from trainlaw.formulas.errors import InputError, MissingDependencyError, optional_package
from trainlaw.formulas.files.text_files import csv_text

from tools.architecture_lines import architecture_lines, without_names
from tools.checksums import packed, write_data_files
from tools.cnn_counts import count_row

# Files of counts and layers by the version that they are derived with.
TIMM_FILES = {
    "0.6.12": (TIMM_COUNTS_FILE, "cnns_timm_layers.txt.xz"),
    "1.0.22": (LATER_TIMM_COUNTS_FILE, "cnns_timm1_layers.txt.xz"),
}
TIMM_VERSION = "0.6.12"
# What timm imports for data loading and drawing, which building a CNN does not need; one of its transformers
# cannot be imported on Python 3.11.
_NOT_NEEDED = (
    *("PIL", "PIL.Image", "PIL.ImageChops", "PIL.ImageEnhance", "PIL.ImageFilter", "PIL.ImageOps"),
    *("torchvision", "torchvision.datasets", "torchvision.models", "torchvision.models.feature_extraction"),
    *("torchvision.ops", "torchvision.ops.misc", "torchvision.transforms"),
    "torchvision.transforms.functional",
)
_BROKEN = "timm.models.maxxvit"
# End of the name of a CNN whose parallel branches are merged into one convolution, as for inference.
MERGED = "_merged"
# Pixels beyond a benchmarked size, where lines of an architecture must give the layers of torch, too.
_ODD_PX, _EVEN_PX = 97, 32


@cache
def timm_package() -> ModuleType:
    """Return timm; raises MissingDependencyError without it, InputError for another version than ours.

    On the meta device, numbers that a CNN's sizes are computed from have to be on the CPU.
    """
    torch = optional_package("torch", "profile")
    stubs: dict[str, Any] = {}
    for name in _NOT_NEEDED:
        if name.partition(".")[0] not in sys.modules:
            stubs[name] = mock.MagicMock(__path__=[], __spec__=None, __version__="9.0", name=name)
    if "torchvision.ops.misc" in stubs:
        # timm asks whether a module is one of these.
        stubs["torchvision.ops.misc"].FrozenBatchNorm2d = type("FrozenBatchNorm2d", (torch.nn.Module,), {})
    try:
        version = metadata.version("timm")
        broken = {_BROKEN: ModuleType(_BROKEN)} if version == TIMM_VERSION else {}
        with mock.patch.dict(sys.modules, {**stubs, **broken}):
            timm = importlib.import_module("timm")
            loaded = {name: module for name, module in sys.modules.items() if name not in {**stubs, **broken}}
        # Leaving the patch removes what was imported meanwhile, parts of torch among them.
        sys.modules.update(loaded)
    except ImportError as error:
        raise MissingDependencyError(f"timm cannot be imported ({error}): pip install timm==0.6.12") from None
    if version not in TIMM_FILES:
        raise InputError(f"expected timm {' or '.join(TIMM_FILES)}, got {version}")
    return timm


def _layers() -> str:
    """The module of timm's layers."""
    return "timm.models.layers" if metadata.version("timm") == TIMM_VERSION else "timm.layers"


def read_timm(name: str, input_size_px: int) -> Cnn:
    """Return timm's CNN of a name, with 1000 classes, for square images of a side (pixels).

    What its layers do in ways that a graph of layers cannot hold is counted as `_FORWARD` says. Raises as
    `timm_package`, and InputError for what cannot be followed.
    """
    base, family = kinship(name)
    with _followable():
        module = _module(name.removesuffix(MERGED))
        if name.endswith(MERGED):
            module = _merged(module)
        cnn = read_torch(module, (3, input_size_px, input_size_px), name)
    return replace(cnn, name=PREFIX + name, base=base, family=family)


# Names of the benchmarks that version 0.6.12 no longer has, and what builds the same layers. InplaceABN is a
# normalisation and a leaky ReLU in one kernel.
_RENAMED: Mapping[str, str] = {
    "convnext_tiny_hnfd": "convnext_tiny_hnf",
    "cspdarknet53_iabn": "cspdarknet53",
    "cspresnext50_iabn": "cspresnext50",
}


@cache
def _module(name: str) -> Any:
    torch, timm = optional_package("torch", "profile"), timm_package()
    linspace, tensor, regnet = torch.linspace, torch.tensor, sys.modules["timm.models.regnet"]
    generate = regnet.generate_regnet

    def on_cpu(*arguments: Any, **options: Any) -> Any:
        with torch.device("cpu"):
            return generate(*arguments, **options)

    with (
        torch.device("meta"),
        # Rates of stochastic depth and widths of RegNet are read as numbers while a CNN is built.
        mock.patch.object(torch, "linspace", lambda *a, **k: linspace(*a, **{**k, "device": "cpu"})),
        mock.patch.object(torch, "tensor", lambda *a, **k: tensor(*a, **{**k, "device": "cpu"})),
        mock.patch.object(regnet, "generate_regnet", on_cpu),
    ):
        if name == "convnext_nano_hnf":
            options = {"depths": (2, 2, 8, 2), "dims": (80, 160, 320, 640)}
            convnext = sys.modules["timm.models.convnext"]
            return convnext._create_convnext(
                "convnext_nano_ols", head_norm_first=True, conv_mlp=True, **options
            )
        return timm.create_model(_RENAMED.get(name, name))


def _merged(module: Any) -> Any:
    with optional_package("torch", "profile").device("meta"):
        return importlib.import_module("timm.utils.model").reparameterize_model(module)


@contextmanager
def _followable() -> Iterator[None]:
    """timm's layers with forward passes that `read_torch` can follow."""
    timm_package()
    torch = optional_package("torch", "profile")
    with ExitStack() as stack:
        # torch computes shapes of a normalisation on the meta device slowly: most of the time of a reading.
        stack.enter_context(mock.patch.object(torch, "batch_norm", lambda x, *_: torch.empty_like(x)))
        for module, names, forward in _FORWARD:
            place = sys.modules.get(module) or sys.modules.get(f"{_layers()}.{module}")
            for name in names:
                # Some layers are of later versions only.
                if layer := getattr(place, name, None):
                    stack.enter_context(mock.patch.object(layer, "forward", forward))
        yield


def _functional() -> Any:
    return optional_package("torch", "profile").nn.functional


def _evolved_norm(norm: str) -> Callable[[Any, Any], Any]:
    """A gate with a learned slope per channel and a normalisation (EvoNorm, arXiv:2004.02967)."""

    def forward(layer: Any, x: Any) -> Any:
        functional = _functional()
        x = x if layer.v is None else functional.prelu(x, layer.v)
        if norm == "batch":
            return functional.batch_norm(x, None, None, layer.weight, layer.bias, True)
        return functional.group_norm(x, layer.groups, layer.weight, layer.bias)

    return forward


def _filter_response_norm(layer: Any, x: Any) -> Any:
    """A normalisation of each channel and a maximum with a learned threshold (arXiv:1911.09737)."""
    x = _functional().instance_norm(x, None, None, layer.weight, layer.bias)
    return x if layer.tau is None else _functional().prelu(x, layer.tau)


def _global_context(layer: Any, x: Any) -> Any:
    """A mean weighted by attention over the pixels, which gates or shifts the channels (arXiv:1904.11492)."""
    attention = _functional().softmax(layer.conv_attn(x), dim=-1)
    context = (x * attention).mean(dim=(2, 3), keepdim=True)
    if layer.mlp_scale is not None:
        x = x * layer.gate(layer.mlp_scale(context))
    return x if layer.mlp_add is None else x + layer.mlp_add(context)


def _conditional_conv(layer: Any, x: Any, routing: Any) -> Any:
    """A convolution whose kernel is mixed for each image from several experts' (arXiv:1904.04971).

    The convolution holds the weights of one expert; a dense layer on the routing holds those of the others,
    so that parameters are exact and MACs of the mixing are counted for all experts but one.
    """
    experts, weights = layer.weight.shape
    _functional().linear(routing, layer.weight.new_empty(weights * (experts - 1) // experts, experts))
    options = {"stride": layer.stride, "padding": layer.padding, "dilation": layer.dilation}
    conv = _functional().conv2d
    if layer.dynamic_padding:
        conv = sys.modules[f"{_layers()}.cond_conv2d"].conv2d_same
    return conv(x, layer.weight[0].view(layer.weight_shape), None, groups=layer.groups, **options)


def _inplace_norm(layer: Any, x: Any) -> Any:
    """A batch normalisation and a leaky ReLU in one kernel (arXiv:1712.02616)."""
    functional = _functional()
    x = functional.batch_norm(x, None, None, layer.weight, layer.bias, True)
    return functional.leaky_relu(x) if layer.act_name == "leaky_relu" else x


def _channel_norm(layer: Any, x: Any) -> Any:
    """A normalisation over the channels of a pixel without a shift (arXiv:1910.07467)."""
    return _functional().group_norm(x, 1, layer.weight, None)


def _last_axis_norm(layer: Any, x: Any) -> Any:
    """The same where the channels are last."""
    return _functional().layer_norm(x, x.shape[-1:], layer.weight, None)


def _response_norm(layer: Any, x: Any) -> Any:
    """A normalisation by each channel's norm over the image, and a sum (GRN, arXiv:2301.00808)."""
    gated = x * x.mean(dim=layer.spatial_dim, keepdim=True)
    if layer.channel_dim == 1:
        return x + _functional().group_norm(gated, 1, layer.weight, layer.bias)
    return x + _functional().layer_norm(gated, x.shape[-1:], layer.weight, layer.bias)


def _star_relu(layer: Any, x: Any) -> Any:
    """A squared ReLU with a learned scale and shift (arXiv:2210.13452)."""
    # Of exponents, torch turns 2 into another function.
    return optional_package("torch", "profile").pow(_functional().relu(x), 3) * layer.scale + layer.bias


def _squared_relu(layer: Any, x: Any) -> Any:
    return optional_package("torch", "profile").pow(_functional().relu(x), 3)


def _space_to_depth(layer: Any, x: Any) -> Any:
    """Blocks of pixels as channels, counted as a smaller image and its copies: as many elements."""
    small = _functional().interpolate(x, scale_factor=1 / layer.bs)
    return optional_package("torch", "profile").cat([small] * layer.bs**2, 1)


# Module, in full or of timm's layers, classes, and the forward pass that they are counted as.
_FORWARD: tuple[tuple[str, tuple[str, ...], Callable[..., Any]], ...] = (
    ("cond_conv2d", ("CondConv2d",), _conditional_conv),
    ("evo_norm", ("EvoNorm2dS0", "EvoNorm2dS0a"), _evolved_norm("group")),
    ("evo_norm", ("EvoNorm2dB0",), _evolved_norm("batch")),
    ("filter_response_norm", ("FilterResponseNormTlu2d",), _filter_response_norm),
    ("global_context", ("GlobalContext",), _global_context),
    ("inplace_abn", ("InplaceAbn",), _inplace_norm),
    ("norm", ("RmsNorm2d", "RmsNorm2dFp32", "SimpleNorm2d", "SimpleNorm2dFp32"), _channel_norm),
    ("norm", ("RmsNorm", "RmsNormFp32", "SimpleNorm", "SimpleNormFp32"), _last_axis_norm),
    ("grn", ("GlobalResponseNorm",), _response_norm),
    ("space_to_depth", ("SpaceToDepth",), _space_to_depth),
    ("timm.models.metaformer", ("StarReLU",), _star_relu),
    ("timm.models.metaformer", ("SquaredReLU",), _squared_relu),
)

# Weights of other origin, the same layers under a prefix; small ones of timm's tests.
_ORIGINS = re.compile(r"^(tf|gluon|ssl|swsl|ig|tv|legacy|ens_adv|adv|dm|test)_")
# One row per kind of name, the first that matches counts: pattern, base and family; \1 is the depth.
_KIN = tuple(
    (re.compile(pattern), base, family)
    for pattern, base, family in (
        (r"wide_resnet(\d+)", r"wide_resnet\1", "wide_resnet"),
        (r"nf_(?:se|eca)resnet|(?:se|eca)resnet(?!v2|.*next)", "{attention}_resnet", "{attention}_resnet"),
        (r"(?:se|eca)resnext", "{attention}_resnext", "{attention}_resnext"),
        (r"skresnet", "sk_resnet", "sk_resnet"),
        (r"skresnext", "sk_resnext", "sk_resnext"),
        (r"gcresnet", "gc_resnet", "gc_resnet"),
        (r"gcresnext", "gc_resnext", "gc_resnext"),
        (r"senet", "senet", "se_resnet"),
        (r"resnetrs", "resnet_rs", "resnet"),
        (r"(?:nf_)?resnet(?:v2_|blur|aa)?(\d+)", r"resnet\1", "resnet"),
        (r"resnext(\d+)", r"resnext\1", "resnext"),
        (r"res2ne[x]?t", "res2net", "res2net"),
        (r"resnest", "resnest", "resnest"),
        (r"densenet(?:blur)?(\d+)", r"densenet\1", "densenet"),
        (r"efficientnetv2", "efficientnet_v2", "efficientnet"),
        (r"efficientnet", "efficientnet", "efficientnet"),
        (r"mobilenetv2", "mobilenet", "mobilenet"),
        (r"mobilenetv([345])", r"mobilenet_v\1", "mobilenet"),
        (r"mobilenet(?:v1|_edgetpu)", r"mobilenet_v1", "mobilenet"),
        (r"convnextv2", "convnext_v2", "convnext"),
        (r"inception_next", "inception_next", "convnext"),
        (r"(hgnet|ghostnet|poolformer)v\d", r"\g<0>", r"\1"),
        (r"gc_efficientnetv2", "efficientnet_v2", "efficientnet"),
        (r"(?:se)?mnasnet", "mnasnet", "mnasnet"),
        (r"spnasnet", "spnasnet", "mnasnet"),
        (r"nf_regnet", "nf_regnet", "regnet"),
        (r"regnet[xy]", "regnet", "regnet"),
        (r"regnet([zv])", r"regnet_\1", "regnet"),
        (r"vgg(\d+)", r"vgg\1", "vgg"),
        (r"inception_resnet", "inception_resnet", "inception_resnet"),
        (r"inception_v(\d)", r"inception_v\1", "inception"),
        (r"sedarknet", "sedarknet", "darknet"),
        (r"cs3", "cs3net", "cspnet"),
        (r"cspdarknet53", "cspdarknet53", "darknet"),
        (r"cspres", "cspresnet", "cspnet"),
        (r"darknet(?:aa)?(\d+)", r"darknet\1", "darknet"),
        (r"pnasnet", "pnasnet", "nasnet"),
        (r"nasnet", "nasnet", "nasnet"),
        (r"rexnet", "rexnet", "rexnet"),
        (r"fbnetc", "fbnet_c", "fbnet"),
        (r"(?:eca_)?nfnet", "nfnet", "nfnet"),
        (r"(?:e[cs][ae]_)?vovnet", "vovnet", "vovnet"),
        (r"fbnetv3", "fbnet_v3", "fbnet"),
        (r"([a-z]+)", r"\1", r"\1"),
    )
)


def kinship(name: str) -> tuple[str, str]:
    """Return the base (all variants of an architecture) and the family of timm's CNN of a name.

    >>> kinship("tv_resnet50"), kinship("legacy_seresnext26_32x4d"), kinship("dla60x_c")
    (('resnet50', 'resnet'), ('se_resnext', 'se_resnext'), ('dla', 'dla'))
    """
    stem = _ORIGINS.sub("", name)
    attention = "eca" if "eca" in stem else "se"
    for pattern, base, family in _KIN:
        if match := pattern.match(stem):
            made = [match.expand(text.replace("{attention}", attention)) for text in (base, family)]
            return made[0], made[1]
    raise InputError(f"expected a name that begins with letters, got {name!r}")


def derived_tables(keys: Iterable[tuple[str, int]]) -> Mapping[str, bytes]:
    """Return the content of the shipped files by their name, for CNNs of timm at input sizes in pixels.

    Layers that an earlier version's file has are not written again.
    """
    rows: list[dict[str, object]] = []
    architectures: dict[str, dict[str, list[int]]] = {}
    counts_file, layers_file = TIMM_FILES[metadata.version("timm")]
    first_file = TIMM_FILES[TIMM_VERSION][1]
    earlier = {} if layers_file == first_file else shipped_architectures(first_file)
    for name, size in sorted(keys):
        if not {str(size), "any"}.isdisjoint(earlier.get(PREFIX + name, {})):
            rows.append(count_row(build(PREFIX + name, size)))
            continue
        cnn = read_timm(name, size)
        rows.append(count_row(cnn))
        known = architectures.setdefault("\n".join(architecture_lines(cnn)), {})
        known.setdefault(name, []).append(size)
    blocks: dict[str, list[str]] = {}
    for text, names in architectures.items():
        first = next(iter(names))
        general = _general_text(text, first, names[first][0])
        for name, sizes in names.items():
            scope = "any" if general else "/".join(map(str, sizes))
            blocks.setdefault(general or text, []).append(f"{PREFIX}{name}@{scope}")
    text = "".join(f"# {' '.join(dict.fromkeys(names))}\n{lines}\n" for lines, names in blocks.items())
    return {
        counts_file: packed(counts_file, csv_text(list(rows[0]), rows).encode()),
        layers_file: packed(layers_file, text.encode()),
    }


def _general_text(text: str, name: str, size: int) -> str | None:
    """Return lines that give timm's layers at another size, too, None where there are none.

    At an even size a pooling that keeps its last incomplete window looks like one that does not, so the other
    size is odd where torch can run the CNN there.
    """
    other = _read_elsewhere(name, size)
    if _gives(text, other):
        return text
    found = "\n".join(architecture_lines(other))
    return found if _gives(found, read_timm(name, size)) else None


def _read_elsewhere(name: str, size: int) -> Cnn:
    """Return timm's CNN at another size than the benchmarked one: some fit only multiples of 32 pixels."""
    try:
        return read_timm(name, size + _ODD_PX)
    except InputError:
        return read_timm(name, size + _EVEN_PX)


def _gives(text: str, cnn: Cnn) -> bool:
    """Whether the lines, built at a CNN's size, are its layers."""
    try:
        layers = built_architecture(text.split("\n"), cnn.input_size_px, cnn.n_classes)
    except InputError:
        return False
    return without_names(layers) == without_names(cnn.layers)


def main(further: Iterable[str]) -> None:
    """Write the shipped tables, derived again, with further CNNs, each as name@pixels."""
    timm_package()
    table = timm_table(later=metadata.version("timm") != TIMM_VERSION)
    names = (str(name).removeprefix(PREFIX) for name in table["cnn"])
    keys = set(zip(names, map(int, table["input_size_px"]), strict=True))
    for name, _, size in (text.partition("@") for text in further):
        keys.add((name, int(size)))
    write_data_files(derived_tables(keys), Path("datasets/data"))


if __name__ == "__main__":
    main(sys.argv[1:])
