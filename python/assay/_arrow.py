"""The structures of the Arrow C data and stream interfaces, and a reader of the columns that libassay
hands out: int64, float64, booleans, dictionaries of texts, nulls."""
import ctypes

from ._library import Owner


class Schema(ctypes.Structure):
    """ArrowSchema"""


class Array(ctypes.Structure):
    """ArrowArray"""


class Stream(ctypes.Structure):
    """ArrowArrayStream"""


_SchemaPointer = ctypes.POINTER(Schema)
_ArrayPointer = ctypes.POINTER(Array)
_StreamPointer = ctypes.POINTER(Stream)
Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p),
                   ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
                   ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(_SchemaPointer)),
                   ("dictionary", _SchemaPointer),
                   ("release", ctypes.CFUNCTYPE(None, _SchemaPointer)),
                   ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64),
                  ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                  ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                  ("children", ctypes.POINTER(_ArrayPointer)), ("dictionary", _ArrayPointer),
                  ("release", ctypes.CFUNCTYPE(None, _ArrayPointer)),
                  ("private_data", ctypes.c_void_p)]
Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, _StreamPointer, _SchemaPointer)),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, _StreamPointer, _ArrayPointer)),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, _StreamPointer)),
                   ("release", ctypes.CFUNCTYPE(None, _StreamPointer)),
                   ("private_data", ctypes.c_void_p)]

_STREAM_NAME = b"arrow_array_stream"
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_malloc = ctypes.CDLL(None).malloc
_malloc.restype = ctypes.c_void_p
_malloc.argtypes = [ctypes.c_size_t]
_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _end_capsule(capsule):
    """Releases a stream that nobody took."""
    pointer = _capsule_pointer(capsule, _STREAM_NAME)
    stream = Stream.from_address(pointer)
    if stream.release:
        stream.release(ctypes.byref(stream))
    _free(pointer)


def stream_capsule(fill):
    """A capsule of a stream, which fill(address) fills in."""
    pointer = _malloc(ctypes.sizeof(Stream))
    ctypes.memset(pointer, 0, ctypes.sizeof(Stream))
    try:
        fill(pointer)
    except BaseException:
        _free(pointer)
        raise
    return _new_capsule(pointer, _STREAM_NAME, ctypes.cast(_end_capsule, ctypes.c_void_p))


def metadata(address):
    """The texts of a schema's or field's metadata."""
    pairs = {}
    if not address:
        return pairs

    def number():
        nonlocal address
        value = ctypes.c_int32.from_address(address).value
        address += 4
        return value

    def text():
        nonlocal address
        size = number()
        address += size
        return ctypes.string_at(address - size, size).decode(errors="replace")

    for _ in range(number()):
        key = text()
        pairs[key] = text()
    return pairs


class Batch(Owner):
    """The one record batch of a stream of libassay; it owns the memory that its columns lie in."""

    def __init__(self, fill):
        stream = Stream()
        fill(ctypes.addressof(stream))
        self.schema = Schema()
        self.array = Array()
        try:
            self._take(stream)
        finally:
            stream.release(ctypes.byref(stream))

    def _take(self, stream):
        for get, structure in ((stream.get_schema, self.schema), (stream.get_next, self.array)):
            if get(ctypes.byref(stream), ctypes.byref(structure)) != 0:
                raise MemoryError(stream.get_last_error(ctypes.byref(stream)).decode())

    def __del__(self):
        for structure in (self.array, self.schema):
            if structure.release:
                structure.release(ctypes.byref(structure))

    @property
    def num_rows(self):
        return self.array.length

    def fields(self):
        """The schema of each column."""
        return [self.schema.children[i].contents for i in range(self.schema.n_children)]

    def column(self, place):
        """The array of a column."""
        return self.array.children[place].contents


_NUMBERS = {b"l": ctypes.c_int64, b"g": ctypes.c_double, b"i": ctypes.c_int32}


def numbers(array, fmt):
    """The numbers of a column where they lie, as a ctypes array."""
    kind = _NUMBERS[fmt] * array.length
    if array.length == 0:
        return kind()
    return kind.from_address(array.buffers[1])


def _bits(address, count):
    held = (ctypes.c_uint8 * ((count + 7) // 8)).from_address(address)
    return [bool(held[i >> 3] >> (i & 7) & 1) for i in range(count)]


def present(array):
    """Which rows have a value; None where all do."""
    if array.null_count == 0 or array.n_buffers == 0:
        return None
    return _bits(array.buffers[0], array.length)


def dictionary(array):
    """The distinct texts of a column."""
    texts = array.dictionary.contents
    ends = (ctypes.c_int32 * (texts.length + 1)).from_address(texts.buffers[1])
    held = ctypes.string_at(texts.buffers[2], ends[texts.length]) if texts.length else b""
    return [held[ends[i]:ends[i + 1]].decode(errors="replace") for i in range(texts.length)]


def values(array, fmt):
    """A column as a list, with None where a row has no value."""
    if fmt == b"n":
        return [None] * array.length
    if fmt == b"b":
        found = _bits(array.buffers[1], array.length) if array.length else []
    elif fmt == b"i":
        texts = dictionary(array) or [None]
        found = [texts[code] for code in numbers(array, fmt)]
    else:
        found = list(numbers(array, fmt))
    held = present(array)
    if held is None:
        return found
    return [value if is_there else None for value, is_there in zip(found, held)]
