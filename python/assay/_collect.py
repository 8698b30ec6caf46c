"""Operators of one's own, beside the command `collect`."""
import pathlib
import sys

_FOLDER = pathlib.Path(__file__).resolve().parent


def _helper_folder():
    """Where helper.py lies: in the wheel, or in the source tree and an installation."""
    inside = _FOLDER / "modules"
    return inside if inside.is_dir() else _FOLDER.parent


def _helper():
    """The module that operators of `assay collect --module` import. From now on they find it here."""
    folder = str(_helper_folder())
    if folder not in sys.path:
        sys.path.append(folder)
    import helper
    return helper


def measure(function, device="cuda:0", num_warmups=3, num_runs=6, repeat_n=1):
    """Times a function as `assay collect` times its kernels: warm-ups, then samples until the median is
    certain, in a CUDA graph where the function can be captured. device: "cuda:0", or "cpu" for a
    function that returns when its work is done.

    Returns a dictionary, all times in ms of one call: median_ms, low_ms and high_ms (the 95 % interval
    of the median), mean_ms, samples, ..."""
    helper = _helper()
    with helper.benchmark_with_power(device, function, num_warmups=num_warmups, num_runs=num_runs,
                                     repeat_n=repeat_n):
        return dict(helper.session.timing)


def add_to(command):
    """Makes `helper` and `measure` attributes of the command's function."""
    command.helper = _helper()
    command.measure = measure
    return command
