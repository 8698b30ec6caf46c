"""What GPUs and their links really do, and what follows from it.

    import assay

    products = assay.store("h200_sxm").gemm(m=[1, 64, 4096], n=4096, k=4096, dtype="fp8")
    products["latency"]                                   # ms, as NumPy takes it

    assay.trace("run/rank0.json.gz").sheet("kernel_summary").to_pandas()
    assay.compare("runs/default", "runs/ctas_16").answer
    assay.simulate("schedule/output.bin", nodes=4)["simulation"]
    assay.allreduce.table("samples/allreduce-h200").lookup(tp=4, hidden=7168, tokens=64)

Every command of the program `assay` is a function here, and every option one of its keyword arguments:
`assay.goal.generate("recording", output="schedule", replicas=16)`. help() of a function is its manual
page. Results are tables in the Arrow C data interface, which pandas, polars, pyarrow and DuckDB take as
they are; nothing of them is needed, nor is NumPy.

The commands are allreduce, collect, doctor, goal, plan, record, simulate, store, sweep and trace; those
of several words stand below: help(assay.plan), help(assay.plan.search). All-reduces for PyTorch are the
package assay_allreduce, which the same wheel holds where it was built with CUDA.

Importing this module opens nothing: the library is loaded when it is needed first.
"""
from ._errors import AssayError, Stopped, UsageError

# Where a name comes from that is not made of a command.
_HOMES = {"Answer": "_database", "Choice": "_allreduce", "Comparison": "_traces",
          "Database": "_database", "Result": "_run", "StrategyTable": "_allreduce",
          "Surface": "_database", "Table": "_table", "Trace": "_traces", "compare": "_traces",
          "run": "_run", "store": "_database", "trace": "_traces", "version": "_library"}

__all__ = ["AssayError", "Stopped", "UsageError", *_HOMES]

# What stands beside a command's function.
_ADDITIONS = {"collect": ["._collect"], "allreduce": ["._allreduce", "._figures"]}


def __getattr__(name):
    import importlib
    if name in _HOMES:
        found = getattr(importlib.import_module("." + _HOMES[name], __name__), name)
        if name in ("store", "trace"):
            importlib.import_module("._commands", __name__).add_commands(found, name)
    elif name == "__version__":
        found = __getattr__("version")()
    elif name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    else:
        commands = importlib.import_module("._commands", __name__)
        found = commands.command(name)
        if found is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; "
                                 + commands.meant(name, __dir__()))
        for addition in _ADDITIONS.get(name, ()):
            importlib.import_module(addition, __name__).add_to(found)
    globals()[name] = found
    return found


def __dir__():
    from ._commands import names
    return sorted({*__all__, *names()})
