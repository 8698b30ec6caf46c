"""Commands of `assay` as calls."""
import ctypes
import os

from . import _library
from ._call import interruptible, new_call
from ._library import library
from ._table import Table

_SHOWN_TABLES = 4


class Result(_library.Owner):
    """What a command gave.

    `tables`: by the order in which the program shows them; `result["gpu_timeline"]` is the first of
    that name. `text`: what it prints besides. `notes`, `warnings`: what it says on standard error.
    `found`: a comparison or check found what it looks for (exit code 3 of the program). `exit_code`: that
    of the program that `record` ran."""

    def __init__(self, handle):
        self._handle = handle
        self.found = False
        self.exit_code = library().assay_result_exit_code(handle)
        said = _library.messages(library().assay_result_message_count,
                                 library().assay_result_message, handle)
        self.notes = [text for text, is_warning in said if not is_warning]
        self.warnings = [text for text, is_warning in said if is_warning]
        size = ctypes.c_size_t()
        text = library().assay_result_text(handle, ctypes.byref(size))
        self.text = ctypes.string_at(text, size.value).decode(errors="replace")
        count = library().assay_result_table_count(handle)
        self.names = [library().assay_result_table_name(handle, i).decode(errors="replace")
                      for i in range(count)]
        self._tables = {}

    def __del__(self):
        library().assay_result_free(self._handle)

    def _table(self, place):
        if place not in self._tables:
            def fill(address):
                _library.check(library().assay_result_table(self._handle, place, address))
            self._tables[place] = Table(fill)
        return self._tables[place]

    @property
    def tables(self):
        """All tables."""
        return [self._table(place) for place in range(len(self.names))]

    @property
    def table(self):
        """The first table, which most commands have alone."""
        if not self.names:
            raise LookupError("the command gave no table" + (": " + self.text if self.text else ""))
        return self._table(0)

    def __getitem__(self, name):
        if name not in self.names:
            from ._commands import meant
            raise KeyError(f"no table {name!r}; " + meant(name, self.names)
                           + ("" if isinstance(name, str) else "; `tables` is a list of them"))
        return self._table(self.names.index(name))

    def __contains__(self, name):
        return name in self.names

    def __iter__(self):
        return iter(self.tables)

    def __len__(self):
        return len(self.names)

    def __arrow_c_stream__(self, requested_schema=None):
        """That of the first table."""
        return self.table.__arrow_c_stream__(requested_schema)

    def to_dict(self):
        """The columns of each table, by name."""
        return {table.name: table.to_dict() for table in self.tables}

    def to_pandas(self):
        """The first table as a pandas.DataFrame."""
        return self.table.to_pandas()

    def __repr__(self):
        return f"<assay.Result: {', '.join(self.names) or self.text.strip()[:70] or 'no tables'}>"

    def _repr_html_(self):
        import html
        shown = "".join(table._repr_html_() for table in self.tables[:_SHOWN_TABLES])
        if left := self.names[_SHOWN_TABLES:]:
            shown += f"<p>more tables: {html.escape(', '.join(left))}</p>"
        text = f"<pre>{html.escape(self.text)}</pre>" if self.text else ""
        said = "".join(f"<p>warning: {html.escape(text)}</p>" for text in self.warnings)
        return shown + text + said


def text_of(value):
    """A value as a word of a command: a path, which may be bytes, a text or a number."""
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)


def _word(word):
    """A word as C takes it, which may be a path of any bytes."""
    if "\0" in word:
        raise _library.UsageError(f"a word of the command has a NUL character: {word!r}")
    return word.encode("utf-8", "surrogateescape")


def run(*words, progress=None):
    """Runs a command as the program does: run("store", "query", "gemm", "--m", "300").

    progress: a function of (doing, done bytes, total bytes), called about ten times a second; where it
    returns False, the call stops and raises Stopped. Ctrl-C stops it, too.
    Returns a Result. Raises UsageError for wrong arguments, and AssayError, whose `result` is what there
    was before the failure."""
    encoded = [_word(text_of(word)) for word in words]
    arguments = (ctypes.c_char_p * len(encoded))(*encoded)

    return result_of(lambda call, handle: library().assay_run(arguments, len(encoded), call, handle),
                     progress)


def result_of(ask, progress=None, is_long=True):
    """The Result of ask(call, handle), which makes one and returns its status."""
    if progress is not None and not callable(progress):
        raise _library.UsageError(f"progress is {progress!r}, which is no function")

    def body(call):
        handle = ctypes.c_void_p()
        status = ask(ctypes.byref(call), ctypes.byref(handle))
        text = library().assay_error()
        return status, text, Result(handle) if handle else None

    status, text, result = interruptible(body, progress) if is_long else body(new_call())
    if status not in (_library.OK, _library.FOUND):
        raise _library.error_of(status, text, result)
    result.found = status == _library.FOUND
    return result
