"""Operators of one's own, beside the command `collect`."""
import pathlib
import sys

from ._errors import AssayError

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
    function that returns when its work is done. A GPU needs PyTorch, the CPU does not.

    Returns a dictionary, all times in ms of one call: median_ms, low_ms and high_ms (the 95 % interval
    of the median), mean_ms, samples, ..."""
    helper = _helper()
    _check_needs(helper, device)
    with helper.benchmark_with_power(device, function, num_warmups=num_warmups, num_runs=num_runs,
                                     repeat_n=repeat_n):
        return dict(helper.session.timing)


def _check_needs(helper, device):
    """Raises what is not there to time on a device. What the function itself lacks is its own error."""
    if not str(device).startswith("cpu"):
        _check_pytorch(device)
    try:
        helper._library()
    except ImportError as error:
        raise AssayError(f"collect.measure: {error}") from None


def _check_pytorch(device):
    try:
        import torch
    except ImportError as error:
        raise AssayError(f"collect.measure on {device} needs PyTorch for CUDA ({error}); "
                         'device="cpu" does without it') from None
    if not torch.cuda.is_available():
        raise AssayError(f"collect.measure on {device}: PyTorch finds no GPU here; "
                         'device="cpu" does without it')


def add_to(command):
    """Makes `helper` and `measure` attributes of the command's function."""
    command.helper = _helper()
    command.measure = measure
    return command
