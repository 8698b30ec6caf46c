"""libassay.so by ctypes: the functions of assay/assay.h and assay/figures.h."""
import ctypes
import functools
import os
import pathlib

from ._errors import AssayError, Stopped, UsageError

FOLDER = pathlib.Path(__file__).resolve().parent
# The number goes up with the interface, which this file follows.
FILE_NAME = "libassay.so.0"
OK, FAILED, WRONG_USAGE, FOUND, STOPPED = 0, 1, 2, 3, 130

Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64,
                            ctypes.c_uint64)


class Call(ctypes.Structure):
    """assay_call"""
    _fields_ = [("size", ctypes.c_size_t), ("progress", Progress), ("context", ctypes.c_void_p),
                ("stop", ctypes.POINTER(ctypes.c_int32))]


class Column(ctypes.Structure):
    """assay_column"""
    _fields_ = [("name", ctypes.c_char_p), ("numbers", ctypes.c_void_p),
                ("texts", ctypes.POINTER(ctypes.c_char_p)), ("count", ctypes.c_size_t)]


class Questions(ctypes.Structure):
    """assay_questions"""
    _fields_ = [("size", ctypes.c_size_t), ("table", ctypes.c_char_p),
                ("columns", ctypes.POINTER(Column)), ("num_columns", ctypes.c_size_t),
                ("extrapolate", ctypes.c_int32)]


class Owner:
    """What owns an object of the library, which it frees once. A copy would free it again, and another
    process has no such object."""

    def __reduce_ex__(self, protocol):
        raise TypeError(f"an assay.{type(self).__name__} can be neither copied nor pickled: it owns "
                        "memory of the library")


_POINTER = ctypes.c_void_p
_SIZE = ctypes.c_size_t
_TEXT = ctypes.c_char_p
_DOUBLES = ctypes.c_void_p
_FUNCTIONS = {
    "assay_version": (_TEXT, []),
    "assay_error": (_TEXT, []),
    "assay_commands": (_TEXT, []),
    "assay_run": (ctypes.c_int, [ctypes.POINTER(_TEXT), _SIZE, ctypes.POINTER(Call),
                                 ctypes.POINTER(_POINTER)]),
    "assay_result_table_count": (_SIZE, [_POINTER]),
    "assay_result_table_name": (_TEXT, [_POINTER, _SIZE]),
    "assay_result_table": (ctypes.c_int, [_POINTER, _SIZE, _POINTER]),
    "assay_result_text": (_POINTER, [_POINTER, ctypes.POINTER(_SIZE)]),
    "assay_result_exit_code": (ctypes.c_int, [_POINTER]),
    "assay_result_message_count": (_SIZE, [_POINTER]),
    "assay_result_message": (_TEXT, [_POINTER, _SIZE, ctypes.POINTER(ctypes.c_int)]),
    "assay_result_free": (None, [_POINTER]),
    "assay_database_open": (ctypes.c_int, [_TEXT, ctypes.POINTER(_POINTER)]),
    "assay_database_close": (None, [_POINTER]),
    "assay_database_columns": (ctypes.c_int, [_POINTER, _TEXT, ctypes.POINTER(_POINTER)]),
    "assay_database_query": (ctypes.c_int, [_POINTER, ctypes.POINTER(Questions),
                                            ctypes.POINTER(Call), ctypes.POINTER(_POINTER)]),
    "assay_surface_bind": (ctypes.c_int, [_POINTER, ctypes.POINTER(Questions),
                                          ctypes.POINTER(_TEXT), _SIZE, ctypes.POINTER(_POINTER)]),
    "assay_surface_ask": (ctypes.c_int, [_POINTER, _DOUBLES, _SIZE, _DOUBLES, _DOUBLES]),
    "assay_surface_free": (None, [_POINTER]),
    "assay_strategies_open": (ctypes.c_int, [_TEXT, ctypes.POINTER(_TEXT), _SIZE,
                                             ctypes.POINTER(_POINTER)]),
    "assay_strategies_close": (None, [_POINTER]),
    "assay_strategies_lookup": (ctypes.c_int, [_POINTER, ctypes.POINTER(Questions),
                                               ctypes.POINTER(Call), ctypes.POINTER(_POINTER)]),
}
for _name in ("2d_heatmap", "2d_best_strategy", "strategy_difference_heatmaps"):
    _FUNCTIONS["assay_visualize_" + _name] = (ctypes.c_int, [_TEXT, _TEXT, _TEXT,
                                                             ctypes.POINTER(_POINTER)])


def _places():
    """Where the library may lie: where ASSAY_LIBRARY says, in the wheel, where the system looks."""
    if named := os.environ.get("ASSAY_LIBRARY"):
        return [named]
    return [str(FOLDER / "lib" / FILE_NAME), FILE_NAME]


@functools.lru_cache(maxsize=None)
def library():
    """The library, with its functions declared."""
    problems = []
    for place in _places():
        try:
            opened = ctypes.CDLL(place)
            break
        except OSError as error:
            problems.append(str(error))
    else:
        raise AssayError("cannot open libassay: " + "; ".join(problems)
                         + ". ASSAY_LIBRARY may name the file")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(opened, name, None)
        if function is None:
            raise AssayError(f"{place} is older than this package: it has no {name}()")
        function.restype = result
        function.argtypes = arguments
    return opened


def version():
    """The library's version: "0.2.0"."""
    return library().assay_version().decode()


def c_texts(what, texts):
    """Texts as C takes them, which would end one at a NUL."""
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"{what} is {text!r}, which is no text")
        if "\0" in text:
            raise UsageError(f"{what} has a NUL character: {text!r}")
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is not UTF-8: {error.object!r}") from None


def c_text(what, text):
    """A text as C takes it."""
    return c_texts(what, [text])[0]


def c_switch(what, value):
    """What is true or false as C takes it: True, False, 1 or 0, also of NumPy."""
    try:
        is_switch = bool(value == bool(value))
    except (TypeError, ValueError):
        is_switch = False
    if not is_switch:
        raise UsageError(f"{what} is {value!r}, which is neither True nor False")
    return int(bool(value))


def c_path(path):
    """A path as C takes it: a text, bytes or a pathlib.Path, whatever its bytes are."""
    try:
        encoded = os.fsencode(path)
    except TypeError:
        raise UsageError("a path is a text, bytes or a pathlib.Path, not "
                         + type(path).__name__) from None
    if b"\0" in encoded:
        raise UsageError(f"the path has a NUL character: {path!r}")
    return encoded


def error_of(status, text, result=None):
    """The exception that a status and its text mean."""
    kind = {WRONG_USAGE: UsageError, STOPPED: Stopped}.get(status, AssayError)
    return kind(text.decode(errors="replace"), result)


def check(status):
    """Raises what a status of this thread's last call means, other than OK and FOUND."""
    if status not in (OK, FOUND):
        raise error_of(status, library().assay_error())


def messages(count, message, owner):
    """What was said, as (text, is_warning)."""
    said = []
    for i in range(count(owner)):
        is_warning = ctypes.c_int()
        text = message(owner, i, ctypes.byref(is_warning))
        said.append((text.decode(errors="replace"), bool(is_warning.value)))
    return said
