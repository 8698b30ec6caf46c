"""Performance tables that answer questions."""
import ctypes
import os

from . import _library
from ._columns import Columns, FEW, as_double_array, as_doubles, as_list, is_many
from ._library import library
from ._run import result_of


class Answer:
    """The answer to one question. latency and roofline are ms of one launch, uncertainty is % (one
    sigma; None: the row was measured), and the time lies from low_80 to high_80 in 80 % of cases."""

    __slots__ = ("latency", "uncertainty", "low_80", "high_80", "roofline", "method")

    def __init__(self, row):
        for name in self.__slots__:
            setattr(self, name, row[name])

    def __float__(self):
        return self.latency

    def __repr__(self):
        error = "" if self.uncertainty is None else f" ± {self.uncertainty:.2g} %"
        return f"<{self.latency:.6g} ms{error}, {self.method}>"


class Database(_library.Owner):
    """Performance tables: those of a shipped system, of a store, or of files.

    Each table is a method: `database.gemm(m=300, n=4096, k=4096, dtype="fp8")`. Columns are scalars, or
    lists or arrays of equal length; `columns()` lists them. With scalars alone the result is an Answer,
    or AssayError says why there is none; else a Table with a row for each question, in which those that
    have no answer have NaN and a text in the column `refused`."""

    def __init__(self, name):
        handle = ctypes.c_void_p()
        _library.check(library().assay_database_open(_library.c_path(name), ctypes.byref(handle)))
        self._handle = handle
        self._asked = set()  # tables that were read
        self.name = os.fsdecode(name)

    def close(self):
        """Frees the tables. Answers and surfaces stay."""
        library().assay_database_close(self._handle)
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __repr__(self):
        return f"<assay.Database {self.name!r}{', closed' if self._handle is None else ''}>"

    def _opened(self):
        if self._handle is None:
            raise _library.UsageError(f"the database {self.name!r} is closed")
        return self._handle

    def columns(self, table=None):
        """A Table of the columns that questions can name: of a table, or of all."""
        handle = self._opened()
        word = None if table is None else _library.c_text("the name of the table", table)
        return result_of(lambda _, result: library().assay_database_columns(handle, word, result),
                         is_long=False).table

    @property
    def tables(self):
        """The names of the tables, each of which is a method."""
        names = dict.fromkeys(self.columns().to_list("table"))
        return [name[:-len("_perf")] if name.endswith("_perf") else name for name in names]

    def __dir__(self):
        try:
            return [*super().__dir__(), *self.tables]
        except _library.AssayError:  # closed, or not to be read
            return super().__dir__()

    def query(self, table, extrapolate=False, progress=None, **columns):
        """Asks a table by its name or an operator's: query("moe", num_tokens=[1, 2], topk=8, …).

        extrapolate: answer also more than 4 times past the measured points."""
        handle = self._opened()
        held = Columns(columns)
        questions = held.questions(table, extrapolate)
        is_long = table not in self._asked or any(column.count > FEW for column in held.array)
        self._asked.add(table)
        answers = result_of(
            lambda call, result: library().assay_database_query(handle, ctypes.byref(questions),
                                                                call, result),
            progress, is_long).table
        if any(is_many(value) for value in columns.values()):
            return answers
        row = answers.rows()[0]
        if row["refused"] is not None:
            raise _library.AssayError(row["refused"])
        return Answer(row)

    def surface(self, table, free, extrapolate=False, **bound):
        """Binds what stays the same of questions that differ in the sizes `free` alone, for millions
        of calls: surface("gemm", free=["m"], n=4096, k=4096, dtype="fp8")."""
        return Surface(self, table, _names_of(free), extrapolate, bound)

    def __getattr__(self, table):
        if table.startswith("_"):
            raise AttributeError(table)

        def ask(*unnamed, **columns):
            if unnamed:
                raise _library.UsageError(f"{table} takes columns by their names, such as m=300; "
                                          f"columns({table!r}) lists them")
            return self.query(table, **columns)
        ask.__name__ = ask.__qualname__ = table
        ask.__doc__ = f"Asks the table {table}; see Database.query and Database.columns({table!r})."
        return ask


def _names_of(free):
    """The names of free sizes: one, or several."""
    if isinstance(free, str):
        return [free]
    if not hasattr(free, "__iter__"):
        raise _library.UsageError(f"free is {free!r}; it is the name of a size, or a list of them")
    return list(free)


def _check_free(free, bound):
    """Raises where a free size has another value, which would not be looked at."""
    for place, name in enumerate(free):
        if name in bound:
            raise _library.UsageError(f"{name} is free and has a value, {bound[name]!r}")
        if name in free[:place]:
            raise _library.UsageError(f"the free size {name} is named twice")


class Surface(_library.Owner):
    """A question that is asked many times. For one thread at a time."""

    def __init__(self, database, table, free, extrapolate, bound):
        self._handle = None
        columns = Columns(bound)
        handle = ctypes.c_void_p()
        names = (ctypes.c_char_p * len(free))(*_library.c_texts("a free size", free))
        _check_free(free, bound)
        questions = columns.questions(table, extrapolate)
        _library.check(library().assay_surface_bind(database._opened(), ctypes.byref(questions),
                                                    names, len(free), ctypes.byref(handle)))
        self._handle = handle
        self.free = free

    def __del__(self):
        if self._handle is not None:
            library().assay_surface_free(self._handle)

    def __repr__(self):
        return f"<assay.Surface of {', '.join(self.free)}>"

    def __call__(self, *sizes):
        """The latency in ms: of scalars a float, of lists or arrays (one for each free size) an array, or
        a list where there is no NumPy. NaN where there is no answer."""
        if len(sizes) != len(self.free):
            raise _library.UsageError(f"the surface takes {', '.join(self.free)}: {len(self.free)} "
                                      f"sizes, not {len(sizes)}")
        sizes = [list(size) if hasattr(size, "__next__") else size for size in sizes]
        if not any(is_many(size) for size in sizes):
            asked = self._doubles(sizes)
            latency = ctypes.c_double()
            _library.check(library().assay_surface_ask(self._handle, asked, 1,
                                                       ctypes.byref(latency), None))
            return latency.value
        try:
            import numpy
        except ImportError:
            return self._of_lists(sizes)
        return self._of_arrays(sizes, numpy)

    def _of_arrays(self, sizes, numpy):
        name = ", ".join(self.free)
        columns = [as_double_array(name, size, numpy) for size in sizes]
        try:
            asked = numpy.ascontiguousarray(numpy.stack(numpy.broadcast_arrays(*columns), axis=-1))
        except ValueError as error:
            raise _library.UsageError(f"{name}: {error}") from None
        latency = numpy.empty(asked.shape[:-1])
        _library.check(library().assay_surface_ask(self._handle, asked.ctypes.data, latency.size,
                                                   latency.ctypes.data, None))
        return latency

    def _of_lists(self, sizes):
        columns = [as_list(size) if is_many(size) else [size] for size in sizes]
        lengths = {len(column) for column in columns} - {1}
        if len(lengths) > 1:
            raise _library.UsageError(f"{', '.join(self.free)}: lists of "
                                      + " and ".join(map(str, sorted(lengths))) + " sizes")
        count = lengths.pop() if lengths else 1
        rows = zip(*[column * count if len(column) == 1 else column for column in columns])
        asked = self._doubles([size for row in rows for size in row])
        latency = (ctypes.c_double * count)()
        _library.check(library().assay_surface_ask(self._handle, asked, count, latency, None))
        return list(latency)

    def _doubles(self, sizes):
        return as_doubles(", ".join(self.free), sizes)


def store(name="h200_sxm"):
    """Opens performance tables: the name of a shipped system ("h200_sxm"), a store (.db), a table
    (.csv, .parquet) or a folder of tables. Returns a Database. assay.store also has the commands of
    `assay store`: assay.store.check(…)."""
    return Database(name)

