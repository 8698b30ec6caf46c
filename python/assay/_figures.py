"""The figures of an all-reduce benchmark, beside the commands of `assay.allreduce`."""
import os
import pathlib
import tempfile

from ._errors import UsageError
from ._library import c_path, c_text, library
from ._run import result_of


def _visualize(name, df, fusion_op, save_path):
    path = None if save_path is None else c_path(save_path)
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        file = _file_of(df, pathlib.Path(folder) / "benchmark.csv")
        return result_of(lambda _call, handle: getattr(library(), name)(
            c_path(file), c_text("fusion_op", str(fusion_op)), path, handle), is_long=False)


def _file_of(df, scratch):
    """The benchmark's file: `df` itself where it is one, else what it writes."""
    if isinstance(df, (str, os.PathLike)):
        return df
    if hasattr(df, "write_csv"):
        df.write_csv(scratch)
    elif hasattr(df, "to_csv"):
        df.to_csv(scratch, index=False)
    else:
        raise UsageError("a benchmark is a CSV file, or a data frame with to_csv or write_csv, not "
                        + type(df).__name__)
    return scratch


def visualize_2d_heatmap(df, fusion_op="NONE", save_path=None):
    """Draws the times of each strategy, hidden sizes over token counts, with one logarithmic colour bar.

    df: a benchmark of one TP size, data type and way to launch, as `assay allreduce bench` and
    TensorRT-LLM's microbenchmark write it: its CSV file, or a data frame of pandas or polars.
    save_path: a .png (also without an ending) or .svg, which must be named.

    Raises UsageError for a fusion that there is not, AssayError where nothing can be drawn. Returns a
    Result, whose warnings tell which rows were left out."""
    return _visualize("assay_visualize_2d_heatmap", df, fusion_op, save_path)


def visualize_2d_best_strategy(df, fusion_op="NONE", save_path=None):
    """Draws the fastest strategy of each cell, never AUTO; arguments and errors are those of
    visualize_2d_heatmap(). Returns the table of best strategies: num_tokens, hidden_size,
    best_strategy, best_time (us)."""
    return _visualize("assay_visualize_2d_best_strategy", df, fusion_op, save_path).table


def visualize_strategy_difference_heatmaps(df, fusion_op="NONE", save_path=None):
    """Draws by how many percent each strategy is slower than the fastest; arguments, errors and result
    are those of visualize_2d_heatmap()."""
    return _visualize("assay_visualize_strategy_difference_heatmaps", df, fusion_op, save_path)


def add_to(group):
    """Makes the functions attributes of assay.allreduce."""
    for function in (visualize_2d_heatmap, visualize_2d_best_strategy,
                     visualize_strategy_difference_heatmaps):
        setattr(group, function.__name__, function)
    return group
