"""A communicator in the hands of an engine, which has another way where ours cannot be used. What engines
ask of it by which names is in custom_all_reduce.py and flashinfer.py."""
import logging
import math
import os
import pathlib
import signal
import socket
import sys
import threading

from ._library import MAX_RANKS, AllReduceError
from .communicator import DATA_TYPES, Communicator, GroupExchange, gpu, on_all_ranks

logger = logging.getLogger(__name__)
# What the default workspace pushes in one part.
DEFAULT_MAX_SIZE = 10 << 20
MAX_SIZE_VARIABLE = "ASSAY_ALLREDUCE_MAX_SIZE"
DEADLINE_VARIABLE = "ASSAY_ALLREDUCE_DEADLINE"
_TYPES = tuple(DATA_TYPES)
_MOST_ELEMENTS = 1 << 30  # of a row, which a message of one dimension is
_LONGEST_DEADLINE = 3600  # the library's
_SECONDS_BETWEEN_LOOKS = 0.5
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def is_aligned(tensor):
    """Kernels read 16 bytes at a time."""
    return tensor.data_ptr() % 16 == 0


def aligned(tensor):
    """The tensor, or a copy where it begins elsewhere; a tensor of its own begins at such an address."""
    return tensor if is_aligned(tensor) else tensor.clone()


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


class EngineCommunicator:
    """`disabled` is true where all-reduce goes another way: one rank, too many ranks, ranks on several
    hosts or of several max_size, or GPUs without peer access; all ranks then agree on it, and the log
    says why."""

    def __init__(self, group, device, max_size, exchange=None):
        self.disabled = True
        self._comm = None
        self._watch = None
        self.group = group
        exchange = GroupExchange(group) if exchange is None else exchange
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
                device=self.device, exchange=exchange, use_nccl=False, deadline_seconds=deadlines[self.rank],
                max_message_bytes=self.max_size if self.max_size > DEFAULT_MAX_SIZE else 0)
        except AllReduceError as error:
            return str(error)
        if deadlines[self.rank] > 0:
            self._watch = _DeadlineWatch(self._comm)
        self.disabled = False
        return None

    def takes(self, tensor):
        """Returns whether the sum of such a tensor is for us. All ranks answer alike, and it can be traced:
        nothing asks for the tensor's address."""
        if self.disabled or tensor.dtype not in _TYPES or not tensor.is_contiguous():
            return False
        size = tensor.numel() * tensor.element_size()
        return (size % 16 == 0 and tensor.numel() % 8 == 0 and size <= self.max_size
                and tensor.numel() <= _MOST_ELEMENTS)

    def _asked_size(self):
        return _max_size_of_environment() if self.max_size is None else self.max_size

    def _connected(self):
        if self._comm is None:
            raise AllReduceError("this communicator is disabled or closed; the log says why one is disabled")
        return self._comm

    def close(self, meet=True):
        """Gives the memory back. Collective; with meet=False all ranks must have ended their calls before."""
        self._end_watch()
        if self._comm is not None:
            self._comm.close(meet)
        self._comm = None
        self.disabled = True

    def __del__(self, is_finalizing=sys.is_finalizing):
        """Engines drop their communicator when their calls and groups have ended: ranks cannot meet. The
        names of this module are gone when the interpreter ends."""
        if getattr(self, "_comm", None) is not None and not is_finalizing():
            self._end_watch()
            self._comm.close(meet=False)

    def _end_watch(self):
        if self._watch is not None:
            self._watch.end()
        self._watch = None
