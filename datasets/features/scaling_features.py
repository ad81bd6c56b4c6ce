"""Features of formulas evolved on runs of several GPUs: the time on one GPU, and what communication adds.

Gradients are reduced in one of four ways, each with features that are 0 for the others: in buckets, which
travel during the backward pass; tensor by tensor; through parameter servers; or by torch's DataParallel,
which copies the CNN from one GPU of a node to the others in each iteration. They have the precision of the
run: on the same GPUs half-precision runs transfer them in half the time. One GPU communicates nothing: 0 s.

The ring is that of Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations", JPDC 69(2), 2009. Buckets of 25 MB are the default of torch's DistributedDataParallel. Where
GPUs cannot access each other's memory, data pass through that of the host, at about 4 GB/s whatever the link.
"""

from trainlaw.datasets.features.feature import Feature, features_of

#: The measured time of the same configuration on one GPU, seconds; nan where it was not measured.
SINGLE_GPU_TIME = "single_gpu_time_s"
SCALING_FEATURES: tuple[Feature, ...] = tuple(features_of("scaling").values())
