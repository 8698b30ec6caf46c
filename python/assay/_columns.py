"""Columns of questions, as C takes them."""
import ctypes

from . import _library
from ._library import Column, Questions

# So few questions take less than a thread that listens for Ctrl-C.
FEW = 10_000


def _is_numeric(value):
    """Whether a value is an array or scalar of NumPy, or a column of pandas, that holds numbers."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return hasattr(value, "__array__") and kind in tuple("fiu")


def is_many(value):
    """Whether a value holds one for each question."""
    if isinstance(value, (str, bytes, int, float)):
        return False
    return getattr(value, "ndim", 1) > 0 and hasattr(value, "__len__")


def as_list(value):
    """The values of one that holds many."""
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _refuse(name, values):
    """Raises what is wrong with values of which not all are numbers, nor all texts."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise _library.UsageError(f"{name} has {value!r}, which is neither a number nor a text")
    raise _library.UsageError(f"{name} has numbers and texts; a column has one of them")


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Columns:
    """Columns of questions as C takes them; it keeps alive what they point to."""

    def __init__(self, columns):
        self._kept = []
        self.array = (Column * len(columns))()
        for place, (name, value) in enumerate(columns.items()):
            self._fill(self.array[place], name, value)

    def questions(self, table=None, extrapolate=False):
        """The structure of them; it refers to this object."""
        name = None if table is None else _library.c_text("the name of the table", table)
        return Questions(size=ctypes.sizeof(Questions), table=name, columns=self.array,
                         num_columns=len(self.array), extrapolate=int(extrapolate))

    def _fill(self, column, name, value):
        column.name = _library.c_text("the name of a column", name)
        if getattr(value, "ndim", 1) > 1:
            raise _library.UsageError(f"{name} has {value.ndim} dimensions; a column has one")
        if _is_numeric(value):
            self._fill_array(column, name, value)
            return
        values = as_list(value) if is_many(value) else [getattr(value, "item", lambda: value)()]
        column.count = len(values)
        if all(map(_is_number, values)):
            self._fill_numbers(column, name, values)
        elif all(isinstance(one, str) for one in values):
            texts = (ctypes.c_char_p * len(values))(*_library.c_texts(name, values))
            self._kept.append(texts)
            column.texts = texts
        else:
            _refuse(name, values)

    def _fill_numbers(self, column, name, values):
        try:
            numbers = (ctypes.c_double * len(values))(*values)
        except OverflowError as error:
            raise _library.UsageError(f"{name}: {error}") from None
        self._kept.append(numbers)
        column.numbers = ctypes.addressof(numbers)

    def _fill_array(self, column, name, value):
        import numpy
        try:
            array = numpy.ascontiguousarray(value, dtype="f8")
        except (TypeError, ValueError) as error:
            raise _library.UsageError(f"{name}: {error}") from None
        self._kept.append(array)
        column.count = array.size
        column.numbers = array.ctypes.data
