#!/usr/bin/env python3
"""Makes the wheel of python/assay and python/assay_allreduce, with the libraries that they open. Where
it is installed there need be no compiler, no CUDA toolkit and no package of the system: what libassay
needs travels along, under names that no other library of the process has.

usage: make_wheel.py [--engine libassay.so --measure libassay_measure.so]
                     [--library libassay_allreduce.so --operators libassay_allreduce_torch.so]
                     [--table sm90=allreduce_table.json ...] [--license FILE ...] --version VERSION
                     -o FOLDER
The wheel is for every Python 3.9 or newer (assay_allreduce: 3.10), and for Linux with the glibc that its
libraries need; it prints its path. Bringing libraries along needs patchelf.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
NAME = "assay"
METADATA = """Metadata-Version: 2.1
Name: assay
Version: {version}
Summary: What GPUs and their links really do: performance tables, traces, schedules, serving plans
Requires-Python: >=3.9
License: Apache-2.0
Description-Content-Type: text/markdown

`import assay`: the engine of assay inside notebooks and scripts (docs/python.md). It needs nothing else;
results are Arrow tables, and NumPy and pandas are used where they are.

`import assay_allreduce`, where this wheel was made with it: torch.ops.assay.all_reduce and its kin
(docs/allreduce.md). It needs a PyTorch for CUDA, which it does not bring along.
"""
# Part of every system with this glibc, and shared with all other libraries of a process.
SYSTEM_LIBRARY = re.compile(r"^(linux-vdso|ld-linux.*|lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s))\.so")
# vLLM finds its plugins by this; ours waits until VLLM_PLUGINS names it.
ENTRY_POINTS = """[vllm.general_plugins]
assay_allreduce = assay_allreduce_vllm:plugin
"""


def needed_glibc(libraries):
    """The newest glibc that the libraries need, as (2, 34)."""
    said = subprocess.run(["objdump", "-T", *map(str, libraries)], check=True, capture_output=True,
                          text=True).stdout
    return max(tuple(map(int, version.split(".")[:2]))
               for version in re.findall(r"GLIBC_([0-9.]+)", said))


def machine_of(library):
    said = subprocess.run(["objdump", "-f", str(library)], check=True, capture_output=True,
                          text=True).stdout
    return re.search(r"architecture: i386:(x86-64)", said)[1].replace("-", "_")


def soname(library, package):
    """The name that the library goes by, which the package must know it by."""
    said = subprocess.run(["objdump", "-p", str(library)], check=True, capture_output=True,
                          text=True).stdout
    name = re.search(r"SONAME +(\S+)", said)[1]
    if f'"{name}"' not in (SOURCE / f"python/{package}/_library.py").read_text(encoding="utf-8"):
        sys.exit(f"make_wheel.py: {package}/_library.py is for another interface than {name}")
    return name


def stripped(library, folder, name):
    path = pathlib.Path(folder) / name
    subprocess.run(["strip", "--strip-unneeded", "-o", str(path), str(library)], check=True)
    return path


def needed_libraries(library):
    """The libraries that it needs, directly or not, and that a system need not have: name and path."""
    said = subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout
    return {name: path for name, path in re.findall(r"^\s*(\S+) => (/\S+)", said, re.MULTILINE)
            if not SYSTEM_LIBRARY.match(name)}


def own_name(name):
    """The name of a library that travels along: "libassay-fmt.so.9"."""
    return name.replace("lib", "libassay-", 1)


def patch(library, *changes):
    subprocess.run(["patchelf", *changes, str(library)], check=True)


def engine_libraries(engine, folder):
    """libassay and what it needs, each of which finds the others beside itself. Two libraries of one
    name in a process would be one, so they have names of their own."""
    needed = needed_libraries(engine)
    made = [stripped(engine, folder, soname(engine, "assay"))]
    made += [stripped(path, folder, own_name(name)) for name, path in needed.items()]
    renamed = [word for name in needed for word in ("--replace-needed", name, own_name(name))]
    for path in made:
        # One change a run: patchelf mixes up the names of several.
        patch(path, *renamed)
        patch(path, "--set-soname", path.name)
        patch(path, "--force-rpath", "--set-rpath", "$ORIGIN")
    return made


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def write_wheel(path, files):
    """`files` by their names in the wheel; the last is RECORD. The same files give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            archive.writestr(entry, content)


def sources_of(package):
    folder = SOURCE / "python" / package
    paths = [path for pattern in ("*.py", "*.pyi", "py.typed") for path in folder.glob(pattern)]
    return {f"{package}/{path.name}": path.read_bytes() for path in sorted(paths)}


def engine_files(libraries):
    helpers = {f"assay/modules/{name}": (SOURCE / "python" / name).read_bytes()
               for name in ("helper.py", "helper_routing.py")}
    held = {f"assay/lib/{path.name}": path.read_bytes() for path in libraries}
    return sources_of("assay") | helpers | held


def allreduce_files(libraries, tables):
    files = sources_of("assay_allreduce")
    plugin = SOURCE / "python" / "assay_allreduce_vllm.py"
    files[plugin.name] = plugin.read_bytes()
    files |= {f"assay_allreduce/{path.name}": path.read_bytes() for path in libraries}
    for table in tables:
        gpu, _, path = table.partition("=")
        files[f"assay_allreduce/tables/{gpu}.json"] = pathlib.Path(path).read_bytes()
    return files


def with_information(files, options, tag):
    info = f"{NAME}-{options.version}.dist-info"
    files[f"{info}/METADATA"] = METADATA.format(version=options.version).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}\n").encode()
    if options.library:
        files[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode()
    for path in map(pathlib.Path, options.license):
        files[f"{info}/licenses/{path.name}"] = path.read_bytes()
    record = f"{info}/RECORD"
    lines = [record_line(name, content) for name, content in files.items()]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine")
    parser.add_argument("--measure")
    parser.add_argument("--library")
    parser.add_argument("--operators")
    parser.add_argument("--table", action="append", default=[])
    parser.add_argument("--license", action="append", default=[])
    parser.add_argument("--version", required=True)
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    if (bool(options.library) != bool(options.operators)
            or bool(options.engine) != bool(options.measure)
            or not (options.engine or options.library)):
        parser.error("give --engine and --measure, or --library and --operators, or all of them")
    with tempfile.TemporaryDirectory() as folder:
        libraries = []
        files = {}
        if options.engine:
            libraries += engine_libraries(options.engine, folder)
            libraries.append(stripped(options.measure, folder, "libassay_measure.so.0"))
            files |= engine_files(libraries)
        if options.library:
            pair = [stripped(options.library, folder, soname(options.library, "assay_allreduce")),
                    stripped(options.operators, folder, "libassay_allreduce_torch.so")]
            libraries += pair
            files |= allreduce_files(pair, options.table)
        major, minor = needed_glibc(libraries)
        tag = f"py3-none-manylinux_{major}_{minor}_{machine_of(libraries[0])}"
        files = with_information(files, options, tag)
    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{NAME}-{options.version}-{tag}.whl"
    part = output / f".{path.name}.part"
    write_wheel(part, files)
    part.rename(path)
    print(path)


if __name__ == "__main__":
    sys.exit(main())
