"""Tables that libassay hands out."""
import html

from . import _arrow
from ._library import Owner

_SHOWN_ROWS = 20


class Table(Owner):
    """A table whose columns lie in the library's memory, which it keeps alive.

    It has `__arrow_c_stream__`, so that pandas.api, polars.DataFrame(), pyarrow.table() and DuckDB
    take it without copying a number. `table["latency"]` is a column: a NumPy array of the memory itself
    where NumPy is installed (numbers; NaN where there is no value), else a list (with None)."""

    def __init__(self, fill):
        """`fill(address)` fills an ArrowArrayStream in, as often as it is asked."""
        self._fill = fill
        self._batch = _arrow.Batch(fill)
        about = _arrow.metadata(self._batch.schema.metadata)
        self.name = about.get("name", "")
        self.title = about.get("title", "")
        self.notes = about["notes"].split("\n") if "notes" in about else []
        self._fields = {}
        self.columns = []
        for place, field in enumerate(self._batch.fields()):
            name = field.name.decode(errors="replace")
            self.columns.append(name)
            self._fields.setdefault(name, (place, field.format))

    def __reduce_ex__(self, protocol):
        raise TypeError("an assay.Table cannot be pickled: its columns lie in the library's memory; "
                        "to_dict() gives them as lists")

    def __copy__(self):
        """A table of the same memory, which nobody changes."""
        return Table(self._fill)

    def __deepcopy__(self, _memo):
        return Table(self._fill)

    def __arrow_c_stream__(self, requested_schema=None):
        """A capsule of a stream; the schema that is asked for is not looked at, as the protocol
        allows."""
        return _arrow.stream_capsule(self._fill)

    def __len__(self):
        """How many rows it has."""
        return self._batch.num_rows

    def __iter__(self):
        """The names of the columns, as of a pandas.DataFrame."""
        return iter(self.columns)

    def __contains__(self, column):
        return isinstance(column, str) and column in self._fields

    def __repr__(self):
        return f"<assay.Table {self.name!r}: {len(self)} rows of {', '.join(self.columns)}>"

    def _field(self, column):
        if column in self:
            return self._fields[column]
        from ._commands import meant
        raise KeyError(f"{self.name} has no column {column!r}; " + meant(column, self.columns)
                       + ("" if isinstance(column, str) else "; rows() gives rows"))

    def unit(self, column):
        """The unit of a column: "ms"; "" for counts and texts."""
        return self.metadata(column).get("unit", "")

    def metadata(self, column):
        """What is known of a column: unit, better ("lower" or "higher"), description."""
        place, _ = self._field(column)
        return _arrow.metadata(self._batch.fields()[place].metadata)

    def to_list(self, column):
        """A column as a list; None where there is no value."""
        place, fmt = self._field(column)
        return _arrow.values(self._batch.column(place), fmt)

    def __getitem__(self, column):
        try:
            import numpy
        except ImportError:
            return self.to_list(column)
        return self._to_numpy(column, numpy)

    def _to_numpy(self, column, numpy):
        place, fmt = self._field(column)
        array = self._batch.column(place)
        whole = array.null_count == 0
        if fmt == b"g" or (fmt == b"l" and whole):
            view = numpy.frombuffer(_Numbers(self._batch, array, fmt).memory,
                                    dtype="f8" if fmt == b"g" else "i8")
            view.flags.writeable = False
            return view
        values = _arrow.values(array, fmt)
        if fmt == b"l":
            return numpy.array([numpy.nan if value is None else value for value in values])
        if fmt == b"b" and whole:
            return numpy.array(values, dtype=bool)
        return numpy.array(values, dtype=object)

    def to_dict(self):
        """The columns by their names, as lists."""
        return {name: self.to_list(name) for name in self._fields}

    def rows(self):
        """The rows, as dictionaries."""
        columns = self.to_dict()
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def to_pandas(self):
        """A pandas.DataFrame, whose attrs tell name, title, notes and the units of columns."""
        import pandas
        frame = pandas.DataFrame({name: self[name] for name in self._fields})
        frame.attrs = {"name": self.name, "title": self.title, "notes": self.notes,
                       "units": {name: self.unit(name) for name in self._fields if self.unit(name)}}
        return frame

    def _repr_html_(self):
        cells = {name: self.to_list(name)[:_SHOWN_ROWS] for name in self._fields}
        head = "".join(_cell("th", _headed(name, self.unit(name)), _alignment(column))
                       for name, column in cells.items())
        body = "".join("<tr>" + "".join(_cell("td", _shown(value), _alignment([value]))
                                        for value in row) + "</tr>"
                       for row in zip(*cells.values()))
        left = len(self) - _SHOWN_ROWS
        rest = f"<p>and {left} more rows</p>" if left > 0 else ""
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return (f"<p><b>{html.escape(self.title or self.name)}</b></p>{notes}"
                f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}")


class _Numbers:
    """Memory of a column that keeps its batch alive: what NumPy's arrays hold on to."""

    def __init__(self, batch, array, fmt):
        self.memory = _arrow.numbers(array, fmt)
        self.memory._batch = batch  # a ctypes array takes attributes


def _headed(name, unit):
    return f"{name} ({unit})" if unit and not name.endswith(f"({unit})") else name


def _alignment(values):
    return "left" if any(isinstance(value, str) for value in values) else "right"


def _cell(tag, text, align):
    return f'<{tag} style="text-align: {align}">{html.escape(text)}</{tag}>'


def _shown(value):
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
    return f"{value:.4g}"
