"""torch.ops.assay: schemas, what they mutate, and what comes out of them. The kernels are those of
libassay_allreduce_torch.so, registered through PyTorch's stable C functions."""
import ctypes
import pathlib

import torch

from . import _shapes
from ._library import FOLDER, AllReduceError, Library, Strategy

# `comm` is Communicator.number. A residual that is given is replaced by the sum of it and the message.
_RESIDUAL = "Tensor input, Tensor(a!)? residual, Tensor gamma"
SCHEMAS = {
    "all_reduce": "(Tensor input, int comm) -> Tensor",
    "all_reduce_": "(Tensor(a!) input, int comm) -> ()",
    "all_reduce_out": "(Tensor input, Tensor(a!) output, int comm) -> ()",
    "reduce_scatter": "(Tensor input, int comm) -> Tensor",
    "reduce_scatter_out": "(Tensor input, Tensor(a!) output, int comm) -> ()",
    "all_gather": "(Tensor input, int comm) -> Tensor",
    "all_gather_out": "(Tensor input, Tensor(a!) output, int comm) -> ()",
    "all_reduce_rms_norm":
        f"({_RESIDUAL}, float epsilon, int comm, float weight_bias=0.) -> Tensor",
    "all_reduce_rms_norm_quant_fp8":
        f"({_RESIDUAL}, Tensor scale, float epsilon, int comm, float weight_bias=0.) -> Tensor",
    "all_reduce_rms_norm_quant_fp8_dynamic":
        f"({_RESIDUAL}, float epsilon, int comm, float weight_bias=0., int group_size=0)"
        " -> (Tensor, Tensor)",
    "all_reduce_rms_norm_quant_nvfp4":
        f"({_RESIDUAL}, Tensor scale, float epsilon, int comm, float weight_bias=0.,"
        " int scale_layout=0) -> (Tensor, Tensor)",
}

# Of each communicator's number, for tracing.
world_sizes = {}


def _fake_all_reduce(input, comm):
    return input.new_empty(input.shape)


def _fake_nothing(*arguments):
    return None


def _fake_reduce_scatter(input, comm):
    return input.new_empty(_shapes.reduce_scatter(input.shape, world_sizes[comm]))


def _fake_all_gather(input, comm):
    return input.new_empty(_shapes.all_gather(input.shape, world_sizes[comm]))


def _fake_norm(input, residual, gamma, epsilon, comm, weight_bias=0.0):
    return input.new_empty(input.shape)


def _fake_fp8(input, residual, gamma, scale, epsilon, comm, weight_bias=0.0):
    return input.new_empty(input.shape, dtype=torch.float8_e4m3fn)


def _fake_fp8_dynamic(input, residual, gamma, epsilon, comm, weight_bias=0.0, group_size=0):
    return (input.new_empty(input.shape, dtype=torch.float8_e4m3fn),
            input.new_empty(_shapes.fp8_scales(input.shape, group_size), dtype=torch.float32))


def _fake_nvfp4(input, residual, gamma, scale, epsilon, comm, weight_bias=0.0, scale_layout=0):
    return (input.new_empty(_shapes.nvfp4_quantized(input.shape), dtype=torch.uint8),
            input.new_empty(_shapes.nvfp4_scales(input.shape, scale_layout),
                            dtype=torch.float8_e4m3fn))


FAKES = {
    "all_reduce": _fake_all_reduce,
    "all_reduce_": _fake_nothing,
    "all_reduce_out": _fake_nothing,
    "reduce_scatter": _fake_reduce_scatter,
    "reduce_scatter_out": _fake_nothing,
    "all_gather": _fake_all_gather,
    "all_gather_out": _fake_nothing,
    "all_reduce_rms_norm": _fake_norm,
    "all_reduce_rms_norm_quant_fp8": _fake_fp8,
    "all_reduce_rms_norm_quant_fp8_dynamic": _fake_fp8_dynamic,
    "all_reduce_rms_norm_quant_nvfp4": _fake_nvfp4,
}


def _tags():
    """The kernels want contiguous tensors: compiled code must keep the strides of the trace."""
    exact = getattr(torch.Tag, "needs_exact_strides", torch.Tag.needs_fixed_stride_order)
    return [exact, torch.Tag.pt2_compliant_tag]


def _define():
    library = torch.library.Library("assay", "DEF")
    for name, schema in SCHEMAS.items():
        library.define(name + schema, tags=_tags())
        torch.library.register_fake(f"assay::{name}", FAKES[name], lib=library)
    return library


class Kernels:
    """libassay_allreduce_torch.so, whose kernels PyTorch knows from here on."""

    def __init__(self, library):
        self.shared_object = ctypes.CDLL(str(FOLDER / "libassay_allreduce_torch.so"))
        folder = pathlib.Path(torch.__file__).parent / "lib"
        torch_libraries = [ctypes.CDLL(str(folder / f"libtorch_{device}.so"))
                           for device in ("cpu", "cuda")]
        handles = [each._handle for each in (*torch_libraries, library.shared_object)]
        register = self.shared_object.assay_torch_register
        register.argtypes = [ctypes.c_void_p] * 3
        register.restype = ctypes.c_char_p
        problem = register(*handles)
        if problem is not None:
            raise AllReduceError(f"PyTorch {torch.__version__}: {problem.decode()}")
        self._add = self.shared_object.assay_torch_add
        self._add.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
        self._remove = self.shared_object.assay_torch_remove
        self._remove.restype = None

    def add(self, comm, strategy, device, world_size):
        """The number of a connected communicator, for the operators' `comm`."""
        number = self._add(comm, Strategy(strategy), device, world_size)
        if number < 0:
            raise AllReduceError("this process has made too many communicators")
        world_sizes[number] = world_size
        return number

    def remove(self, number):
        """Its calls are errors from here on."""
        self._remove(number)


if torch.version.cuda is None:
    raise ImportError(f"assay_allreduce needs a PyTorch for CUDA; this one is {torch.__version__}")
definitions = _define()
library = Library()
kernels = Kernels(library)
