"""Names of the columns that the importer knows: those of the runs schema, and further ones."""

from trainlaw.datasets.measurements.runs import RUN_COLUMNS

#: Columns of the runs schema.
SCHEMA = tuple(column.name for column in RUN_COLUMNS)
#: Columns that the importer knows in addition to those of the runs schema.
TIME, RATE = "time", "throughput"
BATCH, GLOBAL_BATCH, GPUS_PER_NODE = "batch", "global_batch", "gpus_per_node"
BATCHES = (BATCH, "batch_per_gpu", GLOBAL_BATCH)
MODE, DATASET, DATE, ACCUMULATION = "mode", "dataset", "date", "accumulation"
FLAG = "flag:"  # a column that says yes or no to one precision or layout
UNIT = "unit"  # a column with the unit of each row
CHECK = "check"  # a second measure of the same run
EPOCH_TIME = "epoch time"  # of a number of iterations that other columns state
IMAGES_PER_EPOCH, ITERATIONS, EPOCHS = "images_per_epoch", "iterations", "epochs"
STEP = "step"  # number of a step whose time a row holds
OTHER_TIME = "other time"  # of a phase, inference or a spread
IGNORED = "ignored"

#: Columns that are measured times or throughputs.
MEASURES = (TIME, RATE)
MEASURED = (*MEASURES, EPOCH_TIME)
UNSPECIFIC = ("", IGNORED, OTHER_TIME)
OF_EPOCHS = frozenset((ITERATIONS, IMAGES_PER_EPOCH, DATASET))
