"""Profiler traces: the report of a rank, and comparisons of runs."""
import functools

from ._run import run


class Trace:
    """The individual report of one rank, read and analysed when it is asked first."""

    def __init__(self, path, progress=None, **options):
        self.path = path
        self._progress = progress
        self._options = options

    @functools.cached_property
    def report(self):
        """The whole report, a Result."""
        from ._commands import listed, words_of
        words = words_of(listed()["trace report"], [self.path], {**self._options, "output": "-"})
        return run(*words, progress=self._progress)

    @property
    def sheets(self):
        """The names of the sheets."""
        return self.report.names

    def sheet(self, name):
        """A sheet, such as "gpu_timeline" or "kernel_summary", as a Table."""
        return self.report[name]

    def __repr__(self):
        return f"<assay.Trace {self.path!r}>"


def trace(path, progress=None, **options):
    """A rank's trace (.json, .json.gz), or a folder that holds one rank. Options are those of
    assay.trace.report. assay.trace also has the other commands of `assay trace`: assay.trace.path(…).
    Returns a Trace, whose sheets are Tables."""
    return Trace(path, progress, **options)


class Comparison:
    """A comparison of configurations. `answer` is its sentence; `answers` what there is to know besides;
    `result` has the tables."""

    def __init__(self, result):
        self.result = result

    @property
    def answer(self):
        """Which is better, and by how much."""
        return self.result.table.title

    @property
    def answers(self):
        """Whether it is real, where it comes from, what to do."""
        return self.result.table.notes

    @property
    def sheets(self):
        """The names of the tables."""
        return self.result.names

    def sheet(self, name):
        """A table of the comparison."""
        return self.result[name]

    def __repr__(self):
        return self.answer

    def _repr_html_(self):
        return self.result._repr_html_()


def compare(baseline, *tests, progress=None, **options):
    """Compares configurations (folders of runs) with the first of them. Options are those of
    assay.trace.compare; `output` keeps its files, which go into a temporary folder otherwise.
    Returns a Comparison."""
    import tempfile

    from ._commands import listed, words_of
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        words = words_of(listed()["trace compare"], [],
                         {"output": folder, **options, "baseline": baseline, "test": list(tests)})
        return Comparison(run(*words, progress=progress))
