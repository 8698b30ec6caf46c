#!/usr/bin/env python3
"""Prints python/assay/__init__.pyi: the types of the package, made of the library's list of commands.

usage: ASSAY_LIBRARY=libassay.so PYTHONPATH=python tools/python_stubs.py > python/assay/__init__.pyi
"""
from assay._commands import keywords, listed, names, python_name

HEAD = '''# Made by tools/python_stubs.py.
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Union

_Value = Union[str, bytes, int, float, os.PathLike[str], os.PathLike[bytes]]
_Option = Union[None, _Value, Iterable[_Value]]
_Progress = Optional[Callable[[str, int, int], Any]]

class AssayError(RuntimeError):
    result: Optional["Result"]

class UsageError(AssayError, ValueError): ...
class Stopped(AssayError): ...

class Table:
    name: str
    title: str
    notes: List[str]
    columns: List[str]
    def __arrow_c_stream__(self, requested_schema: Any = ...) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, column: object) -> bool: ...
    def __getitem__(self, column: str) -> Any: ...
    def unit(self, column: str) -> str: ...
    def metadata(self, column: str) -> Dict[str, str]: ...
    def to_list(self, column: str) -> List[Any]: ...
    def to_dict(self) -> Dict[str, List[Any]]: ...
    def rows(self) -> List[Dict[str, Any]]: ...
    def to_pandas(self) -> Any: ...

class Result:
    names: List[str]
    notes: List[str]
    warnings: List[str]
    text: str
    found: bool
    exit_code: int
    tables: List[Table]
    table: Table
    def __getitem__(self, name: str) -> Table: ...
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[Table]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: Any = ...) -> Any: ...
    def to_dict(self) -> Dict[str, Dict[str, List[Any]]]: ...
    def to_pandas(self) -> Any: ...

class Answer:
    latency: float
    uncertainty: Optional[float]
    low_80: Optional[float]
    high_80: Optional[float]
    roofline: Optional[float]
    method: str
    def __float__(self) -> float: ...

class Database:
    name: str
    tables: List[str]
    def __init__(self, name: _Value) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> "Database": ...
    def __exit__(self, *error: Any) -> None: ...
    def columns(self, table: Optional[str] = ...) -> Table: ...
    def query(self, table: str, extrapolate: bool = ..., progress: _Progress = ...,
              **columns: Any) -> Any: ...
    def surface(self, table: str, free: Union[str, Sequence[str]], extrapolate: bool = ...,
                **bound: Any) -> "Surface": ...
    def __getattr__(self, table: str) -> Callable[..., Any]: ...

class Surface:
    free: List[str]
    def __call__(self, *sizes: Any) -> Any: ...

class Choice:
    strategy: str
    message: int
    time: Optional[float]
    low: Optional[float]
    high: Optional[float]
    time_from: Optional[str]
    link_limit: Optional[float]
    table_tp: Optional[int]
    table_dtype: Optional[str]
    table_hidden: Optional[int]
    from_: Optional[int]
    to: Optional[int]
    origin: str
    extrapolated: bool

class StrategyTable:
    name: str
    def lookup(self, tp: Any, hidden: Any, tokens: Any, progress: _Progress = ...,
               **columns: Any) -> Any: ...

class _Sheets:
    report: Result
    sheets: List[str]
    def sheet(self, name: str) -> Table: ...

class Trace(_Sheets):
    path: Any

class Comparison(_Sheets):
    answer: str
    answers: List[str]

__version__: str

def version() -> str: ...
def run(*words: _Value, progress: _Progress = ...) -> Result: ...
def compare(baseline: _Value, *tests: _Value, progress: _Progress = ..., **options: _Option) -> Comparison: ...
'''
# What is called otherwise than the command of this name.
CALLS = {"store": 'def __call__(self, name: _Value = ...) -> Database: ...',
         "trace": 'def __call__(self, path: _Value, progress: _Progress = ..., **options: _Option)'
                  ' -> Trace: ...'}
FIGURES = {"visualize_2d_heatmap": "Result", "visualize_2d_best_strategy": "Table",
           "visualize_strategy_difference_heatmaps": "Result"}
# What stands beside the commands of a word.
BESIDE = {"allreduce": ["def table(self, name: _Value, **options: _Option) -> StrategyTable: ...",
                        *(f"def {name}(self, df: Any, fusion_op: str = ..., "
                          f"save_path: Optional[_Value] = ...) -> {made}: ..."
                          for name, made in FIGURES.items())],
          "collect": ["helper: Any",
                      "def measure(self, function: Callable[[], Any], device: str = ..., "
                      "num_warmups: int = ..., num_runs: int = ..., repeat_n: int = ...) "
                      "-> Dict[str, Any]: ..."]}


def parameters(command):
    """The parameters of a command's function, after self."""
    taken = []
    for option in command["options"]:
        if not option["names"] or option["argument"] or option["names"] == ["-h", "--help"]:
            continue
        for name in keywords(option):
            if name.isidentifier() and name not in taken:
                taken.append(name)
                yield f"{name}: {'bool' if option['kind'] == 'none' else '_Option'} = ..."
    yield "progress: _Progress = ..."


def method(name, command):
    """The function of a command, as a method."""
    return (f"    def {name}(self, *arguments: _Option, {', '.join(parameters(command))})"
            " -> Result: ...")


def group(word):
    """The class of what stands under a word, and its one object."""
    lines = [f"class _{word.capitalize()}:"]
    if word in CALLS:
        lines.append("    " + CALLS[word])
    elif word in listed():
        lines.append(method("__call__", listed()[word]))
    for name, command in listed().items():
        words = name.split()
        if len(words) == 2 and words[0] == word:
            lines.append(method(python_name(words[1]), command))
    lines += ["    " + line for line in BESIDE.get(word, [])]
    return "\n".join([*lines, "", f"{word}: _{word.capitalize()}"])


def main():
    print(HEAD)
    print("\n\n".join(group(word) for word in names()))


if __name__ == "__main__":
    main()
