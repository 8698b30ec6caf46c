"""Columns of questions, as C takes them."""
import ctypes
import numbers
from collections.abc import Mapping

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
    return getattr(value, "ndim", 1) > 0 and (hasattr(value, "__len__") or hasattr(value, "__iter__"))


def as_list(value):
    """The values of one that holds many."""
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _refuse(name, values):
    """Raises what is wrong with values of which not all are numbers, nor all texts."""
    for value in values:
        if not is_number(value) and not isinstance(value, str):
            raise _library.UsageError(f"{name} has {value!r}, which is neither a number nor a text")
    raise _library.UsageError(f"{name} has numbers and texts; a column has one of them")


def is_number(value):
    """Whether a value is a number: Python's own, or one that says so, as NumPy's scalars do."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def as_doubles(name, values):
    """Numbers of a list as C takes them."""
    try:
        return (ctypes.c_double * len(values))(*values)
    except (TypeError, ValueError, OverflowError) as error:
        raise _library.UsageError(f"{name}: {error}") from None


def as_double_array(name, value, numpy):
    """What holds numbers as an array of doubles: NaN where an array of NumPy is masked. Texts that read
    as numbers are none."""
    try:
        if hasattr(value, "filled"):
            return value.astype("f8").filled(numpy.nan)
        if not _is_numeric(value):
            value = numpy.asarray(value)
            if value.dtype.kind not in "fiub" and not all(map(is_number, value.flat)):
                raise TypeError("not all values are numbers")
        return numpy.asarray(value, dtype="f8")
    except (TypeError, ValueError, OverflowError) as error:
        raise _library.UsageError(f"{name}: {error}") from None


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
                         num_columns=len(self.array),
                         extrapolate=_library.c_switch("extrapolate", extrapolate))

    def _fill(self, column, name, value):
        column.name = _library.c_text("the name of a column", name)
        if getattr(value, "ndim", 1) > 1:
            raise _library.UsageError(f"{name} has {value.ndim} dimensions; a column has one")
        if _is_numeric(value):
            self._fill_array(column, name, value)
            return
        if isinstance(value, Mapping):
            raise _library.UsageError(f"{name} is a mapping, {value!r}; a column is a list or array")
        values = as_list(value) if is_many(value) else [getattr(value, "item", lambda: value)()]
        column.count = len(values)
        if all(map(is_number, values)):
            self._fill_numbers(column, name, values)
        elif all(isinstance(one, str) for one in values):
            texts = (ctypes.c_char_p * len(values))(*_library.c_texts(name, values))
            self._kept.append(texts)
            column.texts = texts
        else:
            _refuse(name, values)

    def _fill_numbers(self, column, name, values):
        doubles = as_doubles(name, values)
        self._kept.append(doubles)
        column.numbers = ctypes.addressof(doubles)

    def _fill_array(self, column, name, value):
        import numpy
        array = numpy.ascontiguousarray(as_double_array(name, value, numpy))
        self._kept.append(array)
        column.count = array.size
        column.numbers = array.ctypes.data
