"""The CNNs of the package timm as graphs, and the script that writes the shipped tables of them.

    python -m tools.timm_models

derives again what is shipped, from the root of a checkout with timm 0.6.12 and torch on the meta device: no
weights, no network. timm is Apache-2.0, https://github.com/huggingface/pytorch-image-models. Version 0.6.12
is the last whose names are those of its published benchmarks (results/benchmark-train-*.csv).
"""

import gzip
import importlib
import lzma
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from trainlaw.datasets.cnns.architectures import built_architecture
from trainlaw.datasets.cnns.graph import Cnn
from trainlaw.datasets.cnns.readers.torch_reader import read_torch
from trainlaw.datasets.cnns.zoo import PREFIX, TIMM_COUNTS_FILE, timm_table
from trainlaw.formulas.errors import InputError, MissingDependencyError, optional_package
from trainlaw.formulas.files.text_files import csv_text

from tools.architecture_lines import architecture_lines, without_names
from tools.checksums import write_data_files
from tools.cnn_counts import count_row

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
# Pixels beyond a benchmarked size, where lines of an architecture must give the layers of torch, too.
_ODD_PX, _EVEN_PX = 97, 32


@cache
def timm_package() -> ModuleType:
    """Return timm; raises MissingDependencyError without it, InputError for another version than ours."""
    torch = optional_package("torch", "profile")
    stubs: dict[str, Any] = {}
    for name in _NOT_NEEDED:
        if name.partition(".")[0] not in sys.modules:
            stubs[name] = mock.MagicMock(__path__=[], __spec__=None, __version__="9.0", name=name)
    if "torchvision.ops.misc" in stubs:
        # timm asks whether a module is one of these.
        stubs["torchvision.ops.misc"].FrozenBatchNorm2d = type("FrozenBatchNorm2d", (torch.nn.Module,), {})
    try:
        with mock.patch.dict(sys.modules, {**stubs, _BROKEN: ModuleType(_BROKEN)}):
            timm = importlib.import_module("timm")
            loaded = {name: module for name, module in sys.modules.items() if name.startswith("timm")}
        # Leaving the patch removes what was imported meanwhile.
        sys.modules.update(loaded)
    except ImportError as error:
        raise MissingDependencyError(f"timm cannot be imported ({error}): pip install timm==0.6.12") from None
    if timm.__version__ != TIMM_VERSION:
        raise InputError(f"expected timm {TIMM_VERSION}, got {timm.__version__}")
    return timm


def read_timm(name: str, input_size_px: int) -> Cnn:
    """Return timm's CNN of a name, with 1000 classes, for square images of a side (pixels).

    What its layers do in ways that a graph of layers cannot hold is counted as `_FORWARD` says. Raises as
    `timm_package`, and InputError for what cannot be followed.
    """
    base, family = kinship(name)
    with _followable():
        cnn = read_torch(_module(name), (3, input_size_px, input_size_px), name)
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
    linspace = torch.linspace
    with (
        torch.device("meta"),
        # Rates of stochastic depth are read as numbers while a CNN is built.
        mock.patch.object(torch, "linspace", lambda *a, **k: linspace(*a, **{**k, "device": "cpu"})),
    ):
        if name == "convnext_nano_hnf":
            options = {"depths": (2, 2, 8, 2), "dims": (80, 160, 320, 640)}
            convnext = sys.modules["timm.models.convnext"]
            return convnext._create_convnext(
                "convnext_nano_ols", head_norm_first=True, conv_mlp=True, **options
            )
        return timm.create_model(_RENAMED.get(name, name))


@contextmanager
def _followable() -> Iterator[None]:
    """timm's layers with forward passes that `read_torch` can follow."""
    timm_package()
    torch = optional_package("torch", "profile")
    with ExitStack() as stack:
        # torch computes shapes of a normalisation on the meta device slowly: most of the time of a reading.
        stack.enter_context(mock.patch.object(torch, "batch_norm", lambda x, *_: torch.empty_like(x)))
        for module, names, forward in _FORWARD:
            for name in names:
                layer = getattr(sys.modules[f"timm.models.layers.{module}"], name)
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
        conv = sys.modules["timm.models.layers.cond_conv2d"].conv2d_same
    return conv(x, layer.weight[0].view(layer.weight_shape), None, groups=layer.groups, **options)


def _inplace_norm(layer: Any, x: Any) -> Any:
    """A batch normalisation and a leaky ReLU in one kernel (arXiv:1712.02616)."""
    functional = _functional()
    x = functional.batch_norm(x, None, None, layer.weight, layer.bias, True)
    return functional.leaky_relu(x) if layer.act_name == "leaky_relu" else x


# Module of timm.models.layers, classes, and the forward pass that they are counted as.
_FORWARD: tuple[tuple[str, tuple[str, ...], Callable[..., Any]], ...] = (
    ("cond_conv2d", ("CondConv2d",), _conditional_conv),
    ("evo_norm", ("EvoNorm2dS0", "EvoNorm2dS0a"), _evolved_norm("group")),
    ("evo_norm", ("EvoNorm2dB0",), _evolved_norm("batch")),
    ("filter_response_norm", ("FilterResponseNormTlu2d",), _filter_response_norm),
    ("global_context", ("GlobalContext",), _global_context),
    ("inplace_abn", ("InplaceAbn",), _inplace_norm),
)

# Weights of other origin: the same layers under a prefix.
_ORIGINS = re.compile(r"^(tf|gluon|ssl|swsl|ig|tv|legacy|ens_adv|adv|dm)_")
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
        (r"mobilenetv3", "mobilenet_v3", "mobilenet"),
        (r"(?:se)?mnasnet", "mnasnet", "mnasnet"),
        (r"spnasnet", "spnasnet", "mnasnet"),
        (r"nf_regnet", "nf_regnet", "regnet"),
        (r"regnet[xy]", "regnet", "regnet"),
        (r"regnet([zv])", r"regnet_\1", "regnet"),
        (r"vgg(\d+)", r"vgg\1", "vgg"),
        (r"inception_resnet", "inception_resnet", "inception_resnet"),
        (r"inception_v(\d)", r"inception_v\1", "inception"),
        (r"cs3", "cs3net", "cspnet"),
        (r"cspdarknet53", "cspdarknet53", "darknet"),
        (r"cspres", "cspresnet", "cspnet"),
        (r"darknet(?:aa)?(\d+)", r"darknet\1", "darknet"),
        (r"pnasnet", "pnasnet", "nasnet"),
        (r"nasnet", "nasnet", "nasnet"),
        (r"rexnet", "rexnet", "rexnet"),
        (r"fbnetc", "fbnet_c", "fbnet"),
        (r"(?:eca_)?nfnet", "nfnet", "nfnet"),
        (r"(?:ese_)?vovnet", "vovnet", "vovnet"),
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
    """Return the content of the shipped files by their name, for CNNs of timm at input sizes in pixels."""
    rows: list[dict[str, object]] = []
    architectures: dict[str, dict[str, list[int]]] = {}
    for name, size in sorted(keys):
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
        TIMM_COUNTS_FILE: gzip.compress(csv_text(list(rows[0]), rows).encode(), 9, mtime=0),
        "cnns_timm_layers.txt.xz": lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME),
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


def main() -> None:
    """Write the shipped tables, derived again."""
    table = timm_table()
    names = (str(name).removeprefix(PREFIX) for name in table["cnn"])
    keys = zip(names, (int(size) for size in table["input_size_px"]), strict=True)
    write_data_files(derived_tables(keys), Path("datasets/data"))


if __name__ == "__main__":
    main()
