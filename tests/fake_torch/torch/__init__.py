"""Stands in for PyTorch, as far as python/assay_allreduce uses it without running a kernel. Ranks are
threads; torch.ops.assay.NAME keeps what it was called with."""
import contextlib
import types

from . import distributed

__version__ = "2.11.0+fake"
version = types.SimpleNamespace(cuda="13.0")
bfloat16, float16, float32, uint8, float8_e4m3fn = (
    "bfloat16", "float16", "float32", "uint8", "float8_e4m3fn")
Tag = types.SimpleNamespace(needs_exact_strides="exact", needs_fixed_stride_order="order",
                            pt2_compliant_tag="pt2")
schemas, fakes, calls = {}, {}, []
# Of each operator that a library takes over, what does it now.
taken_over = {}
strided, sparse = "strided", "sparse"


class _Library:
    def __init__(self, name_space, kind):
        self.name_space = name_space
        self.kind = kind

    def define(self, schema, *, tags=()):
        assert "exact" in tags and self.kind == "DEF"
        schemas[f"{self.name_space}::{schema.partition('(')[0]}"] = schema


    def impl(self, name, function, key, *, with_keyset=False):
        assert self.kind == "IMPL" and key == "CUDA" and with_keyset
        taken_over[f"{self.name_space}::{name}"] = function


def _get_kernel(name, key):
    assert key == "CUDA" and name not in taken_over
    return types.SimpleNamespace(call_boxed=lambda *arguments: (f"PyTorch's {name}", arguments))


def _register_fake(name, function, *, lib):
    assert lib.name_space == "assay" and name in schemas
    fakes[name] = function


library = types.SimpleNamespace(Library=_Library, register_fake=_register_fake, get_kernel=_get_kernel)


class _Operators:
    def __getattr__(self, name):
        call = lambda *arguments: calls.append((name, arguments)) or f"result of {name}"
        call.default = call
        return call


ops = types.SimpleNamespace(assay=_Operators())


class device:
    def __init__(self, kind, index=None):
        if isinstance(kind, device):
            kind, index = kind.type, kind.index
        self.type, _, number = kind.partition(":")
        self.index = int(number) if number else index

    def __eq__(self, other):
        return (self.type, self.index) == (other.type, other.index)


class Stream:
    cuda_stream = 0

    def __init__(self):
        self.waited_for = []

    def wait_stream(self, other):
        self.waited_for.append(other)


stream = Stream()
cuda = types.SimpleNamespace(
    current_device=lambda: 0, device=lambda where: contextlib.nullcontext(),
    get_device_capability=lambda where: (9, 0), synchronize=lambda where: None,
    current_stream=lambda where: stream, is_current_stream_capturing=lambda: False)
inference_mode = lambda enabled: contextlib.nullcontext()


class Tensor:
    """Sizes and a type, for tracing."""

    device = device("cuda", 0)
    layout, copied = strided, None

    def __init__(self, shape, dtype=bfloat16, contiguous=True, address=64):
        self.shape, self.dtype, self.contiguous, self.address = tuple(shape), dtype, contiguous, address

    def new_empty(self, shape, *, dtype=None):
        return Tensor(shape, dtype or self.dtype)

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def element_size(self):
        return {float32: 4, uint8: 1, float8_e4m3fn: 1}.get(self.dtype, 2)

    def dim(self):
        return len(self.shape)

    def is_contiguous(self):
        return self.contiguous

    def data_ptr(self):
        assert self.address is not None, "a traced tensor has no address"
        return self.address

    def clone(self):
        return Tensor(self.shape, self.dtype)

    def copy_(self, other):
        self.copied = other


class FakeTensor(Tensor):
    """What is traced."""

    def __init__(self, shape):
        super().__init__(shape, address=None)


nn = types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))


def full(shape, value, *, dtype, device):
    return Tensor(shape, dtype)


def empty_like(like):
    return Tensor(like.shape, like.dtype)
