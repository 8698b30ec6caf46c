#!/usr/bin/env python3
"""Makes the wheel of python/assay_allreduce, with the libraries that it opens. Where it is installed
there need be no compiler and no CUDA toolkit, only a driver and PyTorch.

usage: make_wheel.py --library libassay_allreduce.so --operators libassay_allreduce_torch.so
                     [--table sm90=allreduce_table.json ...] [--license FILE ...] --version VERSION
                     -o FOLDER
The wheel is for every Python 3.10 or newer, and for Linux with the glibc that its libraries need; it
prints its path.
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
PACKAGE = "assay_allreduce"
METADATA = """Metadata-Version: 2.1
Name: assay-allreduce
Version: {version}
Summary: All-reduce between the GPUs of one host for PyTorch, fused with what follows it
Requires-Python: >=3.10
License: Apache-2.0
Description-Content-Type: text/markdown

torch.ops.assay.all_reduce, .all_reduce_rms_norm and their kin: docs/allreduce.md of assay. It needs a
PyTorch for CUDA, which it does not bring along.
"""
# vLLM finds its plugins by this; ours waits until VLLM_PLUGINS names it.
ENTRY_POINTS = """[vllm.general_plugins]
assay_allreduce = assay_allreduce.vllm:plugin
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


def soname(library):
    """The name that the library goes by, which the package must know it by."""
    said = subprocess.run(["objdump", "-p", str(library)], check=True, capture_output=True,
                          text=True).stdout
    name = re.search(r"SONAME +(\S+)", said)[1]
    if f'"{name}"' not in (SOURCE / f"python/{PACKAGE}/_library.py").read_text(encoding="utf-8"):
        sys.exit(f"make_wheel.py: {PACKAGE}/_library.py is for another interface than {name}")
    return name


def stripped(library, folder, name):
    path = pathlib.Path(folder) / name
    subprocess.run(["strip", "--strip-unneeded", "-o", str(path), str(library)], check=True)
    return path


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


def wheel_files(options, libraries, tag):
    info = f"{PACKAGE}-{options.version}.dist-info"
    sources = sorted((SOURCE / "python" / PACKAGE).glob("*.py"))
    files = {f"{PACKAGE}/{path.name}": path.read_bytes() for path in [*sources, *libraries]}
    for table in options.table:
        gpu, _, path = table.partition("=")
        files[f"{PACKAGE}/tables/{gpu}.json"] = pathlib.Path(path).read_bytes()
    files[f"{info}/METADATA"] = METADATA.format(version=options.version).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}\n").encode()
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
    parser.add_argument("--library", required=True)
    parser.add_argument("--operators", required=True)
    parser.add_argument("--table", action="append", default=[])
    parser.add_argument("--license", action="append", default=[])
    parser.add_argument("--version", required=True)
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        libraries = [stripped(options.library, folder, soname(options.library)),
                     stripped(options.operators, folder, "libassay_allreduce_torch.so")]
        major, minor = needed_glibc(libraries)
        tag = f"py3-none-manylinux_{major}_{minor}_{machine_of(libraries[0])}"
        files = wheel_files(options, libraries, tag)
    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{PACKAGE}-{options.version}-{tag}.whl"
    part = output / f".{path.name}.part"
    write_wheel(part, files)
    part.rename(path)
    print(path)


if __name__ == "__main__":
    sys.exit(main())
