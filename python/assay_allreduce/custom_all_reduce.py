"""What vLLM and SGLang call of their custom all-reduce communicators, on top of ours. Their own
classes share pointers of captured tensors between the ranks; ours sends from its own memory, so that
nothing has to be registered, before a capture or after it."""
import contextlib
import logging
import math
import os
import pathlib
import signal
import socket
import sys
import threading

import torch
import torch.distributed as dist

from ._library import MAX_RANKS, AllReduceError
from .communicator import Communicator, GroupExchange, gpu, on_all_ranks

logger = logging.getLogger(__name__)
_TYPES = (torch.bfloat16, torch.float16, torch.float32)
_MOST_ELEMENTS = 1 << 30  # of a row, which a message of one dimension is
# What the default workspace pushes in one part.
DEFAULT_MAX_SIZE = 10 << 20
MAX_SIZE_VARIABLE = "ASSAY_ALLREDUCE_MAX_SIZE"
DEADLINE_VARIABLE = "ASSAY_ALLREDUCE_DEADLINE"
_LONGEST_DEADLINE = 3600  # the library's
_SECONDS_BETWEEN_LOOKS = 0.5
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _max_size_of_environment():
    """The bytes that the environment names, 64M; without it the default."""
    text = os.environ.get(MAX_SIZE_VARIABLE, "").strip().upper()
    if not text:
        return DEFAULT_MAX_SIZE
    number, unit = (text[:-1], text[-1]) if text[-1] in _UNITS else (text, "")
    if not number.isdecimal():
        raise AllReduceError(f"{MAX_SIZE_VARIABLE} is '{text}'; it takes bytes, such as 67108864 or 64M")
    return int(number) * _UNITS[unit]


def _deadline_of_environment():
    """The seconds that the environment names; without them a rank waits for ever."""
    text = os.environ.get(DEADLINE_VARIABLE, "").strip() or "0"
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= _LONGEST_DEADLINE:
        raise AllReduceError(f"{DEADLINE_VARIABLE} is '{text}'; it takes seconds up to {_LONGEST_DEADLINE}, "
                             "such as 30")
    return seconds


def _end_process(error):
    """What an engine takes for the death of a worker, so that it ends instead of serving what is wrong."""
    logger.critical("%s: this process ends, since graphs that are replayed would go on with wrong sums", error)
    os.kill(os.getpid(), signal.SIGTERM)


class _DeadlineWatch:
    """Looks whether a rank has missed the deadline. Engines replay graphs, which raise nothing."""

    def __init__(self, comm):
        self._comm, self._ended = comm, threading.Event()
        self._thread = threading.Thread(target=self._look, name="assay_allreduce deadline", daemon=True)
        self._thread.start()

    def _look(self):
        while not self._ended.wait(_SECONDS_BETWEEN_LOOKS):
            try:
                self._comm.check()
            except AllReduceError as error:
                _end_process(error)
                return

    def end(self):
        self._ended.set()
        # The collector may end the adapter on this very thread.
        if threading.current_thread() is not self._thread:
            self._thread.join()


def _host():
    """The same for two processes if they run on one host."""
    try:
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return socket.gethostname(), boot


def _is_aligned(tensor):
    return tensor.data_ptr() % 16 == 0


def _goes_with(message, tensor, shape):
    """Whether a fused call on the message takes this tensor where it has such a shape."""
    return (tensor.shape == shape and tensor.dtype == message.dtype and tensor.is_contiguous()
            and _is_aligned(tensor))


class CustomAllreduce:
    """group: the engine's CPU group, not one of NCCL; device: an int, a string or a torch.device.
    max_size: messages above so many bytes are left to the engine; None, as engines call it: those above
    what the environment's ASSAY_ALLREDUCE_MAX_SIZE says (64M), else above 10 MiB. Memory for more is taken
    where more is asked for: 397 MiB of each GPU from 64 MiB on, less for less.

    The environment's ASSAY_ALLREDUCE_DEADLINE says after how many seconds a rank that waits for another
    gives up. Its process then ends by SIGTERM, since the sums of graphs that go on are wrong. Without it
    a rank waits for ever for one that has died.

    `disabled` is true where all-reduce goes another way: one rank, too many ranks, ranks on several
    hosts or of several max_size, or GPUs without peer access; all ranks then agree on it, and the log says why.
    """

    def __init__(self, group, device, max_size=None, symm_mem_enabled=False):
        del symm_mem_enabled  # how far the engine's own kernel is asked depends on it; ours does not
        self.disabled = True
        self._comm = None
        self._watch = None
        self._IS_CAPTURING = False
        self.group = group
        if dist.get_backend(group) == dist.Backend.NCCL:
            raise ValueError("CustomAllreduce takes a group for the CPU, not one of NCCL")
        exchange = GroupExchange(group)
        self.rank, self.world_size = exchange.rank, exchange.world_size
        self.device = gpu(device)
        self.max_size = max_size
        problem = self._problem(exchange)
        if problem is not None:
            logger.warning("assay_allreduce is not used: %s", problem)

    def _problem(self, exchange):
        """Connects. Returns why that cannot be, the same on all ranks, or None."""
        if self.world_size < 2:
            return "there is one rank"
        if self.world_size > MAX_RANKS:
            return f"there are {self.world_size} ranks; {MAX_RANKS} is the most"
        hosts, sizes, deadlines = zip(*on_all_ranks(
            exchange, lambda: (_host(), self._asked_size(), _deadline_of_environment())))
        self.max_size = sizes[self.rank]
        if len(set(hosts)) > 1:
            return "the ranks are on several hosts"
        if len(set(sizes)) > 1:
            return f"the ranks have unequal max_size: {', '.join(map(str, sizes))}"
        try:
            # The engine has NCCL already; a second communicator of it would only take memory.
            self._comm = Communicator(
                self.group, self.device, use_nccl=False, deadline_seconds=deadlines[self.rank],
                max_message_bytes=self.max_size if self.max_size > DEFAULT_MAX_SIZE else 0)
        except AllReduceError as error:
            return str(error)
        if deadlines[self.rank] > 0:
            self._watch = _DeadlineWatch(self._comm)
        self.disabled = False
        return None

    def _asked_size(self):
        return _max_size_of_environment() if self.max_size is None else self.max_size

    def should_custom_ar(self, inp):
        """Whether custom_all_reduce() takes this tensor; if not, the engine takes another way. SGLang
        has it traced without graph breaks, so that it must not ask for the tensor's address."""
        if self.disabled or inp.dtype not in _TYPES or not inp.is_contiguous():
            return False
        size = inp.numel() * inp.element_size()
        return (size % 16 == 0 and inp.numel() % 8 == 0 and size <= self.max_size
                and inp.numel() <= _MOST_ELEMENTS)

    def custom_all_reduce(self, input, override_algo=None):
        """The sum in a new tensor, or None. Every strategy adds in rank order, so that
        `override_algo`, by which SGLang asks for one order at all sizes, has nothing to change."""
        del override_algo
        if not self.should_custom_ar(input):
            return None
        return self.all_reduce(input)

    def all_reduce(self, inp, *, out=None, registered=False):
        """The sum, in `out` if it is given."""
        del registered
        # Kernels read 16 bytes at a time; a tensor of its own begins at such an address.
        return self._connected().all_reduce(inp if _is_aligned(inp) else inp.clone(), out)

    def all_reduce_reg(self, inp, out=None):
        return self.all_reduce(inp, out=out)

    def all_reduce_unreg(self, inp, out=None):
        return self.all_reduce(inp, out=out)

    def _connected(self):
        if self._comm is None:
            raise AllReduceError("this CustomAllreduce is disabled or closed, so that should_custom_ar() is "
                                 "false; the log says why one is disabled")
        return self._comm

    def fused_allreduce_rmsnorm(self, input_, residual_inp_, weight_, eps):
        """The norm and the residual, which is changed in place, as SGLang's layers ask for them.
        None: not this way."""
        if not self.should_custom_ar(input_) or input_.shape[-1] % 8 != 0 or input_.dim() < 2:
            return None
        if not _is_aligned(input_) or not _goes_with(input_, weight_, input_.shape[-1:]):
            return None
        if residual_inp_ is not None and not _goes_with(input_, residual_inp_, input_.shape):
            return None
        return self._comm.all_reduce_rms_norm(input_, residual_inp_, weight_, eps), residual_inp_

    @contextlib.contextmanager
    def capture(self):
        """Around the capture of graphs."""
        self._IS_CAPTURING = True
        try:
            yield
        finally:
            self._IS_CAPTURING = False
            if not self.disabled:
                self.register_graph_buffers()

    def register_graph_buffers(self):
        """Nothing: captured calls send from memory that connecting has shared."""

    def finalize_p2p(self):
        """Nothing: connecting has opened the other ranks' memory."""

    def close(self):
        """Gives the memory back. Collective."""
        self._end_watch()
        if self._comm is not None:
            self._comm.close()
        self._comm = None
        self.disabled = True

    def __del__(self):
        """Engines drop their communicator when their calls and groups have ended: ranks cannot meet."""
        if getattr(self, "_comm", None) is not None and not sys.is_finalizing():
            self._end_watch()
            self._comm.close(meet=False)

    def _end_watch(self):
        if self._watch is not None:
            self._watch.end()
        self._watch = None


def ours_or(theirs):
    """A class for an engine: it makes ours, or an object of the engine's own class where ours is disabled,
    which all ranks agree on."""
    if issubclass(theirs, CustomAllreduce):
        return theirs

    class Either(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, (CustomAllreduce, theirs))

        def __getattr__(cls, name):
            """Answers what the engine's class asks of itself by the name that is now ours."""
            return getattr(theirs, name)

    class OursOrTheirs(CustomAllreduce, metaclass=Either):
        def __new__(cls, *arguments, **options):
            ours = CustomAllreduce(*arguments, **options)
            return theirs(*arguments, **options) if ours.disabled else ours

    return OursOrTheirs
