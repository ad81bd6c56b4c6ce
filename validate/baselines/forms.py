"""The closed forms among the baselines, each a line of text (see `fitted_form`)."""

from collections.abc import Iterable
from functools import partial

from trainlaw.validate.baselines.fitted_form import BalancedForm, FittedForm


def _sum(names: str, first: int = 0) -> str:
    """Return the sum of the named times, each with a constant, from c<first> on."""
    return " + ".join(f"c{place} * {name}" for place, name in enumerate(names.split(), start=first))


# Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
# The maximum has local minima, so the search starts balanced, memory-bound and scaled.
_E = 2.718281828459045
roofline = partial(
    FittedForm,
    "roofline",
    "max(c0 * total_compute_s, c1 * activation_memory_s) + c2 * layer_launch_s + c3 * iteration_overhead_s",
    starts=((1.0, 1.0, 1.0, 1.0), (_E, _E**3, _E, _E), (_E, _E**2, _E**2, 1.0)),
    deviation=float("inf"),
    weighted=False,
)

# Effective rates: the base clock over the boost clock, and whether an SM has more than 128 cores (Kepler).
_COMPUTE_RATE = "clock_ratio^-k0 * exp(k1 * wide_sm)"
_MEMORY_RATE = "exp(k2 * wide_sm)"
# The im2col volume stands for an efficiency that seems to depend on the layer.
cf9 = partial(
    FittedForm,
    "closed form",
    f"({_sum('conv_other_compute_s im2col_compute_s conv_weight_compute_s')}) * {_COMPUTE_RATE}"
    f" + ({_sum('conv_output_memory_s batchnorm_memory_s depthwise_output_memory_s parameter_memory_s', 3)})"
    f" * {_MEMORY_RATE} + {_sum('layer_launch_s iteration_overhead_s', 7)}",
)

# A formula's skeleton filled in by hand: what occupies the GPU, or the host's launches, then the input copy.
# The host runs ahead of the GPU, so the longer of both counts, and the power of 4 rounds the corner. Faster
# chips reach less of their peak (k0); peaks are stated at the boost clock (k1); work outside tensor cores
# goes at the fp32 rate and depends on on-chip memory (k2); AMD's libraries move more bytes (k3); kernels
# take a time each (k4). Exponents are what round physics suggests, constants guesses from hardware and
# algorithms: 3 x 3 convolutions at half the products (Winograd), a few passes over each tensor.
_GPU = (
    "((c0 * other_matrix_s * matrix_flop_per_s / peak_flop_per_s + c1 * conv3x3_compute_s"
    " + c2 * im2col_compute_s + c3 * conv_weight_compute_s)"
    " * (peak_flop_per_s / matrix_flop_per_s * matrix_number)^k0 * clock_ratio^k1"
    " + (c4 * im2col_compute_s + c5 * grouped_conv_compute_s"
    " + c6 * is_channels_last * grouped_conv_compute_s) * tensor_ratio * cache_per_lane^k2"
    " + (c7 * conv_output_cached_s + c8 * elementwise_cached_s + c9 * depthwise_output_cached_s"
    " + c10 * parameter_memory_s) * exp(k3 * is_amd) + c11 * conv_kernel_s * clock_number^k4)"
)
hand_form = partial(
    BalancedForm,
    "hand form",
    f"({_GPU}^4 + (c12 * host_s)^4)^0.25 + c13 * input_copy_s",
    starts=(
        (*(1, 0.5, 10, 500, 20, 1, 5, 10, 5, 50, 5, 2, 1, 1), *(0.3, -0.5, -0.8, 0.6931471805599453, -1)),
    ),
)

perfect_scaling = partial(FittedForm, "perfect scaling", "single_gpu_time_s")

# Stragglers grow with log2 n; ring and its steps as in Patarasuk, Yuan, "Bandwidth optimal all-reduce
# algorithms for clusters of workstations", JPDC 69(2), 2009. 3.3219 is log2(10) / log(10).
_LOG2 = 1.4426950408889634
ring_scaling = partial(
    FittedForm,
    "ring scaling",
    f"single_gpu_time_s * (1 + c0 * {_LOG2} * log(n_gpus)) + c1 * ring_transfer_s + c2 * ring_steps * 0.0001",
    starts=((0.01, 1.0, 0.1),),
    deviation=float("inf"),
)

_COMPUTING = f"single_gpu_time_s * (1 + {_LOG2} * (c0 * log(gpus_per_node) + c1 * log(n_nodes)))"
# Links faster than 60 GB/s, any PCIe slot or two-GPU bridge, connect all GPUs of a node directly; a third
# of the cost of a relay remains with peer access.
_COMMUNICATING = (
    "((c4 + c5 * (1 - peer_access)) * node_ring_s"
    " + c6 * step(60000000000 - link_byte_per_s) * (0.3 + 0.7 * step(0.999 - peer_access))"
    " * max(gpus_per_node - 2, 0) * gradient_bytes / link_byte_per_s"
    " + c7 * network_ring_s * (1 + is_parameter_server * (c8 - 1))"
    f" + 0.000001 * gradient_tensors * {_LOG2} * (c9 * log(gpus_per_node * n_nodes) + c10 * log(n_nodes)))"
)
_COPYING = (
    "c11 * (gpus_per_node - 1) * gradient_bytes / link_byte_per_s + 0.000001 * c12 * n_layers * gpus_per_node"
)
_SHOWN = f"({_COMMUNICATING} - c3 * {_COMPUTING})"
# Stragglers, a fixed time [ms], and communication: rings within and across nodes, relays, a parameter
# server, a latency per gradient tensor [us]. A share of it hides behind the backward pass, smoothed over 5 %
# of the iteration so that the fit has derivatives; the copies of DataParallel do not hide. Round figures.
mg13 = partial(
    FittedForm,
    "MG13",
    f"{_COMPUTING} + 0.001 * c2 + is_data_parallel * ({_COMMUNICATING} + {_COPYING})"
    f" + (1 - is_data_parallel) * 0.5 * ({_SHOWN} + sqrt({_SHOWN}^2 + (0.05 * {_COMPUTING})^2))",
    starts=((0.01, 0.01, 1.0, 0.1, 1.0, 1.0, 0.3, 1.0, 1.0, 30.0, 30.0, 1.0, 30.0),),
    deviation=2.0,
)

_BYTES = ("input_memory_s", "output_memory_s", "weight_memory_s")
# A matrix product that saturates in its three sides, 2MNK/P (1 + K0/K)(1 + N0/N)(1 + M0/M), written out.
_PRODUCT = ("compute_s", "output_compute_s", "im2col_compute_s", "weight_compute_s")


def _of_a_layer(compute: Iterable[str], join: str) -> str:
    """Return the time of a layer, with separate constants by layer kind and for training."""
    blocks = [f"{conv} * {train}" for conv in ("is_conv", "(1 - is_conv)") for train in _PASSES]
    times = [*compute, *_BYTES, "launch_s"]
    constants = iter(range(len(blocks) * len(times)))
    sums = [
        " + ".join(f"c{next(constants)} * ({block} * {name})" for name in group for block in blocks)
        for group in (compute, _BYTES, ("launch_s",))
    ]
    work, moved, launches = sums
    return (
        f"{join}".format(a=f"({work}) * {_COMPUTE_RATE}", b=f"({moved}) * {_MEMORY_RATE}") + f" + {launches}"
    )


_PASSES = ("step(n_passes - 1.5)", "step(1.5 - n_passes)")
# The longer of the time of the MACs and of the bytes, plus a launch.
layer_roofline = partial(
    FittedForm, "roofline of a layer", _of_a_layer(("compute_s",), "max({a}, {b})"), deviation=4.0
)
# A saturating matrix product, its bytes and a launch.
layer_matrix_product = partial(
    FittedForm, "matrix product", _of_a_layer(_PRODUCT, "{a} + {b}"), deviation=4.0
)
