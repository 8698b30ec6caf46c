"""One rank's side of the all-reduce, connected through torch.distributed."""
import contextlib
import copy
import ctypes
import pathlib
import pickle

import torch
import torch.distributed as dist

from ._library import FOLDER, AllReduceError, DataType, Fusion, Options, ScaleLayout, Strategy
from ._operators import kernels, library

# Overloads themselves, which PyTorch need not look for in each call.
_OPERATORS = torch.ops.assay
# The table that came with the package for the GPU at hand, if there is one.
SHIPPED_TABLE = "shipped"
DATA_TYPES = {torch.bfloat16: DataType.BFLOAT16, torch.float16: DataType.FLOAT16,
               torch.float32: DataType.FLOAT32}


class GroupExchange:
    """Objects of all ranks, in their order, through a process group of any backend."""

    def __init__(self, group=None):
        self.group = group
        self.rank = dist.get_rank(group)
        self.world_size = dist.get_world_size(group)

    def __call__(self, mine):
        everyone = [None] * self.world_size
        # Gloo refuses the tensors that inference mode makes.
        with torch.inference_mode(False):
            dist.all_gather_object(everyone, mine, group=self.group)
        return everyone


class StoreExchange:
    """The same through a torch.distributed.Store. All ranks make theirs in the same order; where they do
    not, communicators of one store have names."""

    def __init__(self, store, rank, world_size, name="assay_allreduce"):
        self.store, self.rank, self.world_size = store, rank, world_size
        # A store keeps what the communicators of before said.
        self.name = f"{name}/{store.add(f'{name}/made/{rank}', 1)}"
        self.round = 0

    def __call__(self, mine):
        self.round += 1
        keys = [f"{self.name}/{self.round}/{rank}" for rank in range(self.world_size)]
        self.store.set(keys[self.rank], pickle.dumps(mine))
        return [pickle.loads(self.store.get(key)) for key in keys]


def _told(error):
    """What other ranks are told of an error; the texts of AllReduceError and OSError say enough."""
    if isinstance(error, (AllReduceError, OSError)):
        return str(error)
    return f"{type(error).__name__}: {error}"


def on_all_ranks(exchange, step):
    """What `step` returned on each rank. What it raised on one rank is raised on all, so that none
    goes on alone and waits for ever. The cause of the error is what this rank raised itself."""
    own = None
    try:
        mine = (step(), None)
    except Exception as error:  # pylint: disable=broad-except
        own = error
        mine = (None, _told(error))
    everyone = exchange(mine)
    for rank, (_, problem) in enumerate(everyone):
        if problem is not None:
            raise AllReduceError(f"rank {rank} of {len(everyone)}: {problem}") from own
    return [value for value, _ in everyone]


def as_gpu(device):
    """A torch.device of an int, a string, a torch.device or None. It asks nothing of CUDA."""
    if isinstance(device, int):
        return torch.device("cuda", device)
    given = torch.device("cuda" if device is None else device)
    if given.type != "cuda":
        raise ValueError(f"{given} is no GPU")
    return given


def gpu(device):
    """The same with its number, which is the current GPU's where `device` has none."""
    given = as_gpu(device)
    return torch.device("cuda", torch.cuda.current_device()) if given.index is None else given


def table_path(table, device):
    """The file of a table, or None."""
    if table != SHIPPED_TABLE:
        return None if table is None else pathlib.Path(table)
    major, minor = torch.cuda.get_device_capability(device)
    path = FOLDER / "tables" / f"sm{major}{minor}.json"
    return path if path.exists() else None


class _Shared:
    """What a communicator and those of with_strategy() have in common: closing one closes all."""

    def __init__(self):
        self.comm = None
        self.numbers = []


class Communicator:
    """The GPUs of a process group, all of one host.

    Making and closing one is collective: every rank of the group does it, at the same time. All ranks
    make the same calls in the same order, on one stream at a time, which other communicators of this
    package share or are ordered with by events. Tensors are contiguous, on
    `device`, of bfloat16, float16 or float32, of a multiple of 8 elements, and begin at a multiple of
    16 bytes; a message of several dimensions is rows of the last one. What the library refuses is an
    AllReduceError here, and a RuntimeError with the same text in the operators.

    group            the process group, of any backend; None: all ranks
    device           this rank's GPU; None: the current one
    strategy         Strategy.AUTO, or the one that all calls take
    table            for AUTO: "shipped", the path of an allreduce_table.json of `assay allreduce
                     codegen`, or None. Without a table AUTO takes NCCL; where it may not
                     (use_nccl=False, deterministic=True) or there is none, ONESHOT up to 256 KiB
                     and with two GPUs, else TWOSHOT_PUSH
    workspace_bytes  memory of each GPU; 0: the library's default, 64 MiB
    max_message_bytes  as reserve() before the first call
    use_nccl         whether NCCL is among the strategies; it makes an NCCL communicator of its own
    deterministic    AUTO takes only strategies that add in rank order: a row's sum then depends
                     neither on the batch around it nor on the run
    deadline_seconds after which a rank that waits for another fails; 0: it waits for ever
    exchange         instead of a group: StoreExchange(store, rank, world_size)
    """

    def __init__(self, group=None, device=None, *, strategy=Strategy.AUTO, table=SHIPPED_TABLE,
                 workspace_bytes=0, max_message_bytes=0, use_nccl=True, deterministic=False,
                 deadline_seconds=0.0, exchange=None):
        self._exchange = GroupExchange(group) if exchange is None else exchange
        self.device = as_gpu(device)
        self.strategy = Strategy(strategy)
        self._shared = _Shared()
        options = Options(workspace_bytes=workspace_bytes, use_nccl=int(use_nccl),
                          deterministic=int(deterministic), deadline_seconds=deadline_seconds)
        try:
            self._connect(lambda: self._create(options, table, max_message_bytes))
            self.number = self._add()
        except BaseException:
            self._destroy()
            raise

    def _create(self, options, table, max_message_bytes):
        self._shared.comm = library.create(self.rank(), self.size(), options)
        path = table_path(table, self.device)
        if path is not None:
            library.call("load_table", self._comm, str(path).encode())
        if max_message_bytes:
            library.call("reserve", self._comm, max_message_bytes)

    def _connect(self, prepare):
        """All ranks prepare their sides, tell each other of them, and join. The GPU stays the current
        one until the end, because a group of NCCL talks through that."""
        def export():
            self.device = gpu(self.device)
            current.enter_context(torch.cuda.device(self.device))
            prepare()
            return library.export(self._comm)
        with contextlib.ExitStack() as current:
            handles = on_all_ranks(self._exchange, export)
            on_all_ranks(self._exchange, lambda: library.connect(self._comm, handles))

    @property
    def _comm(self):
        if self._shared.comm is None:
            raise AllReduceError("the communicator is closed")
        return self._shared.comm

    def _add(self):
        number = kernels.add(self._comm, self.strategy, self.device.index, self.size())
        self._shared.numbers.append(number)
        return number

    def rank(self):
        """This rank's number in the group."""
        return self._exchange.rank

    def size(self):
        """The number of ranks."""
        return self._exchange.world_size

    def with_strategy(self, strategy):
        """The same communicator, whose calls take this strategy. Closing one closes both."""
        other = copy.copy(self)
        other.strategy = Strategy(strategy)
        other.number = other._add()
        return other

    def choose(self, num_tokens, hidden_size, dtype=torch.bfloat16, fusion=Fusion.NONE):
        """The strategy that AUTO takes for such a message."""
        return library.choose(self._comm, fusion, DATA_TYPES[dtype], num_tokens, hidden_size)

    def explain(self, num_tokens, hidden_size, dtype=torch.bfloat16, fusion=Fusion.NONE):
        """The strategy that AUTO takes for such a message, whether the table says so and was measured with
        this kind and number of GPUs, fusion and type (is_measured; is_from_table, is_extrapolated and
        measured_world_size tell what is missing), and the least time that the links need
        (link_limit_us)."""
        return library.explain(self._comm, fusion, DATA_TYPES[dtype], num_tokens, hidden_size)

    def reserve(self, max_message_bytes):
        """Takes memory for messages of up to so many bytes, where the workspace has room for less:
        up to 64 MiB; larger ones go in parts. Collective, while no call runs or is captured. Graphs that
        were captured before stay good. Once it has failed, on whatever rank, calls are refused on all:
        close the communicator then."""
        self._connect(lambda: library.call("reserve", self._comm, max_message_bytes))

    def check(self):
        """Raises once a rank has missed the deadline. Costs nothing; for programs that replay graphs."""
        library.call("check", self._comm)

    def nccl_version(self):
        """NCCL's version, 2.28.7 as 22807; 0 without NCCL."""
        return library.nccl_version(self._comm)

    def all_reduce(self, input, out=None):
        """The sum over the ranks, in a new tensor or in `out`, which may be `input`."""
        if out is None:
            return _OPERATORS.all_reduce.default(input, self.number)
        if out is input:
            _OPERATORS.all_reduce_.default(input, self.number)
        else:
            _OPERATORS.all_reduce_out.default(input, out, self.number)
        return out

    def reduce_scatter(self, input, out=None):
        """This rank's part of the rows of the sum, [n, ...] to [n / size(), ...], in a new tensor or in
        `out`, which shares no memory with `input`."""
        if out is None:
            return _OPERATORS.reduce_scatter.default(input, self.number)
        _OPERATORS.reduce_scatter_out.default(input, out, self.number)
        return out

    def all_gather(self, input, out=None):
        """All ranks' rows, in rank order, [n, ...] to [n * size(), ...], in a new tensor or in `out`, which
        shares no memory with `input`."""
        if out is None:
            return _OPERATORS.all_gather.default(input, self.number)
        _OPERATORS.all_gather_out.default(input, out, self.number)
        return out

    def all_reduce_rms_norm(self, input, residual, gamma, epsilon=1e-6, weight_bias=0.0):
        """The sum, added to `residual` in place, and the RMS norm of that: [..., hidden]. `residual`
        None: the norm of the sum. `weight_bias` is added to `gamma` (1 for Gemma)."""
        return _OPERATORS.all_reduce_rms_norm.default(input, residual, gamma, epsilon,
                                                      self.number, weight_bias)

    def all_reduce_rms_norm_quant_fp8(self, input, residual, gamma, scale=None, epsilon=1e-6,
                                      weight_bias=0.0, group_size=0):
        """The same, quantised to float8_e4m3fn. `scale`, one float32 on the GPU, is the value of a
        quantised 1; the result is one tensor. Without `scale`: the tensor and its float32 scales,
        one for each token, [..., 1], or for each group of 128, [..., hidden / 128]."""
        if scale is not None:
            return _OPERATORS.all_reduce_rms_norm_quant_fp8.default(
                input, residual, gamma, scale, epsilon, self.number, weight_bias)
        return _OPERATORS.all_reduce_rms_norm_quant_fp8_dynamic.default(
            input, residual, gamma, epsilon, self.number, weight_bias, group_size)

    def all_reduce_rms_norm_quant_nvfp4(self, input, residual, gamma, scale, epsilon=1e-6,
                                        weight_bias=0.0, scale_layout=ScaleLayout.BLOCKS_128X4):
        """The same, quantised to NVFP4: uint8 [..., hidden / 2], two elements a byte, the first in
        the low half; and float8_e4m3fn scales of 16 elements each, [rows, hidden / 16], padded to
        whole blocks. `scale` is the global scale, one float32 on the GPU."""
        return _OPERATORS.all_reduce_rms_norm_quant_nvfp4.default(
            input, residual, gamma, scale, epsilon, self.number, weight_bias, int(scale_layout))

    def run(self, call):
        """A call of the C library as it stands, on the current stream: nothing looks at its addresses."""
        call.size, call.strategy = ctypes.sizeof(call), self.strategy
        with torch.cuda.device(self.device):
            stream = torch.cuda.current_stream(self.device).cuda_stream
            library.call("run", self._comm, ctypes.byref(call), stream)

    def close(self, meet=True):
        """Gives the memory back; graphs that were captured with it are void. Collective. With meet=False
        the ranks do not wait for each other here: all must have ended their calls before."""
        if self._shared.comm is None:
            return
        with torch.cuda.device(self.device):
            torch.cuda.synchronize(self.device)
            if meet:
                self._exchange(None)
            for number in self._shared.numbers:
                kernels.remove(number)
            self._destroy()

    def _destroy(self):
        comm, self._shared.comm = self._shared.comm, None
        if comm is not None:
            library.call("destroy", comm)
