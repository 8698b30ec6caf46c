"""Profiler traces: the report of a rank, and comparisons of runs."""
import functools

from ._run import run


class Sheets:
    """Sheets of a report by their names. The report is made when it is asked first."""

    def __init__(self, words, progress=None):
        self._words = words
        self._progress = progress

    @functools.cached_property
    def report(self):
        """The whole report, a Result."""
        return run(*self._words, progress=self._progress)

    @property
    def sheets(self):
        """The names of the sheets."""
        return self.report.names

    def sheet(self, name):
        """A sheet, such as "gpu_timeline", as a Table."""
        return self.report[name]


def _words(name, arguments, options):
    """The words of a command that writes no files unless an option names where."""
    from ._commands import keywords, listed, words_of
    command = listed()[name]
    output = next(option for option in command["options"] if "--output" in option["names"])
    if all(options.get(keyword) is None for keyword in keywords(output)):
        options = {**options, "output": "-"}
    return words_of(command, arguments, options)


class Trace(Sheets):
    """The individual report of one rank."""

    def __init__(self, path, progress=None, **options):
        words = _words("trace report", [path], options)
        super().__init__(words, progress)
        self.path = path
        if words[-2:] != ["--output", "-"]:
            self.report  # pylint: disable=pointless-statement

    def __repr__(self):
        return f"<assay.Trace {str(self.path)!r}>"


def trace(path, progress=None, **options):
    """A rank's trace (.json, .json.gz), or a folder that holds one rank. Options are those of
    assay.trace.report; without `output` no files are written, with it they are written now, of any
    number of ranks, and the Trace has their overview alone. assay.trace also has the other commands of
    `assay trace`: assay.trace.path(…). Returns a Trace, whose sheets are Tables."""
    return Trace(path, progress, **options)


class Comparison(Sheets):
    """A comparison of configurations. `answer` is its sentence; `answers` what there is to know
    besides. The first sheet is "summary" or, of several tests, "Ranking"; the sheets of each test of
    several follow, with its name in front: "ctas_16/Attribution"."""

    @property
    def answer(self):
        """Which is better, and by how much."""
        return self.report.table.title

    @property
    def answers(self):
        """Whether it is real, where it comes from, what to do."""
        return self.report.table.notes

    def __repr__(self):
        return self.answer

    def _repr_html_(self):
        import html
        others = ", ".join(self.sheets[1:])
        return self.report.table._repr_html_() + f"<p>sheets: {html.escape(others)}</p>"


def compare(baseline, *tests, progress=None, **options):
    """Compares configurations (folders of runs) with the first of them. Options are those of
    assay.trace.compare; without `output` no files are written, with it the comparison has the first
    sheet alone. Returns a Comparison, which is made now."""
    words = _words("trace compare", [], {**options, "baseline": baseline, "test": list(tests)})
    compared = Comparison(words, progress)
    compared.report  # pylint: disable=pointless-statement
    return compared
