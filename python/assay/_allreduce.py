"""Tables of all-reduce strategies that answer questions, beside the commands of `allreduce`."""
import ctypes
import os

from . import _library
from ._columns import Columns, FEW, is_many
from ._library import library
from ._run import result_of


class Choice:
    """The strategy of one message.

    `strategy`; `origin` and `extrapolated` tell how it is known; `link_limit` is the least µs that the
    links need (None for GPUs whose links are not known), `message` its bytes, `from_` and `to` the bytes
    that the choice holds for (to: None without end). `time`, `low` and `high` are µs on the slowest rank,
    and `time_from` tells where they are from; None where the table knows no times. `table_tp`,
    `table_dtype` and `table_hidden` tell where in the table it stands."""

    __slots__ = ("strategy", "message", "time", "low", "high", "time_from", "link_limit", "table_tp",
                 "table_dtype", "table_hidden", "from_", "to", "origin", "extrapolated")

    def __init__(self, row):
        for name in self.__slots__:
            setattr(self, name, row.get(name.rstrip("_").replace("_", " "),
                                        row.get(name.rstrip("_"))))

    def __repr__(self):
        time = "" if self.time is None else f" {self.time:.4g} µs,"
        limit = "" if self.link_limit is None else f" at least {self.link_limit:.4g} µs,"
        return f"<{self.strategy}:{time}{limit} {self.origin}>"


class StrategyTable(_library.Owner):
    """A table of strategies, made by assay.allreduce.table()."""

    def __init__(self, name, **options):
        from ._commands import listed, option_words
        self._handle = None
        path = _library.c_path(name)
        self.name = os.fsdecode(path)
        handle = ctypes.c_void_p()
        words = _library.c_texts("an option",
                                 option_words(listed()["allreduce explain"], options))
        _library.check(library().assay_strategies_open(
            path, (ctypes.c_char_p * len(words))(*words), len(words),
            ctypes.byref(handle)))
        self._handle = handle

    def __del__(self):
        if self._handle is not None:
            library().assay_strategies_close(self._handle)

    def __repr__(self):
        return f"<assay.StrategyTable {self.name!r}>"

    def lookup(self, tp, hidden, tokens, progress=None, **columns):
        """The strategies of messages: tp GPUs reduce `tokens` tokens of `hidden` elements. Each is a
        number, or a list or array of one length; so are fusion ("NONE", "RESIDUAL_RMS_NORM", …) and
        dtype ("bfloat16", "float16", "float32").

        Returns a Choice, or for lists a Table with a row for each message. Raises UsageError for
        what is no such message."""
        asked = {"tp": tp, "hidden": hidden, "tokens": tokens, **columns}
        held = Columns(asked)
        questions = held.questions()
        is_long = any(column.count > FEW for column in held.array)
        found = result_of(lambda call, result: library().assay_strategies_lookup(
            self._handle, ctypes.byref(questions), call, result), progress, is_long).table
        return found if any(map(is_many, asked.values())) else Choice(found.rows()[0])


def table(name, **options):
    """Opens a table of strategies: the JSON that `assay allreduce codegen` writes
    ("gen_heuristic_code/allreduce_table.json"), or a folder of benchmark files, of which the table is
    made and whose times are told as well. For folders, options are those of assay.allreduce.explain
    (launch="eager", tie="1%").

        chosen = assay.allreduce.table("samples/allreduce-h200").lookup(tp=4, hidden=7168, tokens=64)
        chosen.strategy, chosen.time, chosen.link_limit

    Returns a StrategyTable."""
    return StrategyTable(name, **options)


def add_to(group):
    """Makes `table` an attribute of the group of commands."""
    group.table = table
    group.__doc__ += "\n    table: open a table of strategies, to look messages up in it"
    return group
