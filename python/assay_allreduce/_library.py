"""libassay_allreduce.so by ctypes: the functions of assay/allreduce.h. Needs no PyTorch."""
import ctypes
import enum
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent
# The number goes up with the interface, which this file follows.
FILE_NAME = "libassay_allreduce.so.1"
MAX_RANKS = 8
HANDLE_BYTES = 256


class AllReduceError(RuntimeError):
    """The library refused or failed; the text is the library's own."""


class Strategy(enum.IntEnum):
    """How a message is reduced. AUTO takes what the loaded table says."""
    NCCL = 0
    AUTO = 3
    ONESHOT = 4
    TWOSHOT = 5
    NCCL_SYMMETRIC = 8
    TWOSHOT_PUSH = 100


class Fusion(enum.IntEnum):
    """What follows the sum in the same call."""
    NONE = 0
    RESIDUAL_RMS_NORM = 1
    RESIDUAL_RMS_NORM_QUANT_FP8 = 2
    RESIDUAL_RMS_NORM_QUANT_NVFP4 = 3


class DataType(enum.IntEnum):
    """The type of a message's elements."""
    BFLOAT16 = 0
    FLOAT16 = 1
    FLOAT32 = 2


class ScaleLayout(enum.IntEnum):
    """Where the scales of NVFP4 lie."""
    BLOCKS_128X4 = 0
    LINEAR = 3
    BLOCKS_8X4 = 4


class Options(ctypes.Structure):
    """assay_allreduce_options"""
    _fields_ = [("size", ctypes.c_size_t), ("workspace_bytes", ctypes.c_size_t),
                ("use_nccl", ctypes.c_int), ("deterministic", ctypes.c_int),
                ("deadline_seconds", ctypes.c_double)]


class Call(ctypes.Structure):
    """assay_allreduce_call"""
    _fields_ = [("size", ctypes.c_size_t), ("strategy", ctypes.c_int), ("fusion", ctypes.c_int),
                ("data_type", ctypes.c_int), ("num_tokens", ctypes.c_int64),
                ("hidden_size", ctypes.c_int64), ("input", ctypes.c_void_p),
                ("output", ctypes.c_void_p), ("residual_in", ctypes.c_void_p),
                ("residual_out", ctypes.c_void_p), ("gamma", ctypes.c_void_p),
                ("epsilon", ctypes.c_float), ("scale", ctypes.c_void_p),
                ("quantized", ctypes.c_void_p), ("scale_out", ctypes.c_void_p),
                ("blocks", ctypes.c_int), ("threads", ctypes.c_int), ("operation", ctypes.c_int),
                ("weight_bias", ctypes.c_float), ("scale_layout", ctypes.c_int)]


class Explanation(ctypes.Structure):
    """assay_allreduce_explanation: what AUTO does with a message, and how that is known. The header says
    what the fields are."""
    _fields_ = [("size", ctypes.c_size_t), ("_strategy", ctypes.c_int), ("is_from_table", ctypes.c_int),
                ("is_extrapolated", ctypes.c_int), ("measured_world_size", ctypes.c_int),
                ("link_limit_us", ctypes.c_double), ("is_measured", ctypes.c_int)]

    @property
    def strategy(self):
        """The Strategy that AUTO takes."""
        return Strategy(self._strategy)


_COMM = ctypes.c_void_p
SIGNATURES = {
    "create": [ctypes.c_int, ctypes.c_int, ctypes.POINTER(Options), ctypes.POINTER(_COMM)],
    "export": [_COMM, ctypes.c_char_p],
    "connect": [_COMM, ctypes.c_char_p],
    "reserve": [_COMM, ctypes.c_size_t],
    "load_table": [_COMM, ctypes.c_char_p],
    "choose": [_COMM, ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64,
               ctypes.POINTER(ctypes.c_int)],
    "explain": [_COMM, ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64,
                ctypes.POINTER(Explanation)],
    "supports": [_COMM, ctypes.POINTER(Call)],
    "run": [_COMM, ctypes.POINTER(Call), ctypes.c_void_p],
    "check": [_COMM],
    "destroy": [_COMM],
}


class Library:
    """The functions of one libassay_allreduce.so, whose failures are AllReduceError."""

    def __init__(self, path=FOLDER / FILE_NAME):
        self.shared_object = ctypes.CDLL(str(path))
        self._error = self.shared_object.assay_allreduce_error
        self._error.restype = ctypes.c_char_p
        self._nccl_version = self.shared_object.assay_allreduce_nccl_version
        self._nccl_version.argtypes = [_COMM]
        for name, arguments in SIGNATURES.items():
            function = getattr(self.shared_object, f"assay_allreduce_{name}")
            function.argtypes = arguments
            function.restype = ctypes.c_int

    def call(self, name, *arguments):
        """Calls assay_allreduce_NAME."""
        if getattr(self.shared_object, f"assay_allreduce_{name}")(*arguments) != 0:
            raise AllReduceError(self._error().decode(errors="replace"))

    def create(self, rank, world_size, options):
        """A communicator of the current GPU, not connected yet."""
        comm = _COMM()
        options.size = ctypes.sizeof(Options)
        self.call("create", rank, world_size, ctypes.byref(options), ctypes.byref(comm))
        return comm

    def export(self, comm):
        """The bytes that the other ranks connect with."""
        handle = ctypes.create_string_buffer(HANDLE_BYTES)
        self.call("export", comm, handle)
        return handle.raw

    def connect(self, comm, handles):
        """Collective; `handles` are those of all ranks, in their order."""
        self.call("connect", comm, b"".join(handles))

    def choose(self, comm, fusion, data_type, num_tokens, hidden_size):
        """The strategy that AUTO takes."""
        strategy = ctypes.c_int()
        self.call("choose", comm, fusion, data_type, num_tokens, hidden_size,
                  ctypes.byref(strategy))
        return Strategy(strategy.value)

    def explain(self, comm, fusion, data_type, num_tokens, hidden_size):
        """The strategy that AUTO takes, and how that is known."""
        explanation = Explanation(size=ctypes.sizeof(Explanation))
        self.call("explain", comm, fusion, data_type, num_tokens, hidden_size,
                  ctypes.byref(explanation))
        return explanation

    def nccl_version(self, comm):
        """NCCL's version, 2.28.7 as 22807; 0 without NCCL."""
        return self._nccl_version(comm)
