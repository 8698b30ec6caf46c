"""What GPUs and their links really do, and what follows from it.

    import assay

    products = assay.store("h200_sxm").gemm(m=[1, 64, 4096], n=4096, k=4096, dtype="fp8")
    products["latency"]                                   # ms, as NumPy takes it

    assay.trace("run/rank0.json.gz").sheet("kernel_summary").to_pandas()
    assay.compare("runs/default", "runs/ctas_16").answer
    assay.simulate("schedule/output.bin", nodes=4)["simulation"]

Every command of the program `assay` is a function here, and every option one of its keyword arguments:
`assay.goal.generate("recording", output="schedule", replicas=16)`. help() of a function is its manual
page. Results are tables in the Arrow C data interface, which pandas, polars, pyarrow and DuckDB take as
they are; nothing of them is needed, nor is NumPy.

Importing this module opens nothing: the library is loaded when it is needed first.
"""
from ._errors import AssayError, Stopped, UsageError

__all__ = ["AssayError", "Database", "Result", "Stopped", "Surface", "Table", "UsageError", "compare",
           "run", "store", "trace", "version"]

# Where a name comes from that is not made of a command.
_HOMES = {"Database": "_database", "Surface": "_database", "store": "_database", "Table": "_table",
          "Result": "_run", "run": "_run", "version": "_library", "trace": "_traces",
          "compare": "_traces"}

# What stands beside a command's function.
_ADDITIONS = {"collect": "._collect", "allreduce": "._figures"}


def __getattr__(name):
    import importlib
    if name in _HOMES:
        found = getattr(importlib.import_module("." + _HOMES[name], __name__), name)
        if name in ("store", "trace"):
            importlib.import_module("._commands", __name__).add_commands(found, name)
    elif name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        commands = importlib.import_module("._commands", __name__)
        found = commands.command(name)
        if found is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its commands are "
                                 + ", ".join(commands.names()))
        if name in _ADDITIONS:
            importlib.import_module(_ADDITIONS[name], __name__).add_to(found)
    globals()[name] = found
    return found


def __dir__():
    from ._commands import names
    return sorted({*__all__, *names()})
