#!/usr/bin/env python3
"""The command of docs/allreduce.md that puts a generated table in the place of TensorRT-LLM's: on a
header that defines its tables as theirs does, which must compile, hold the new numbers and keep the
rest."""
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TABLE = SOURCE / "samples/allreduce-h200/gen_heuristic_code/generated_lookup_table.cpp"
HEADER = """#pragma once
#include <unordered_map>
#include <vector>
using AllReduceBestStrategyTableType = std::vector<std::vector<std::vector<std::vector<int>>>>;
extern const std::unordered_map<int, AllReduceBestStrategyTableType> AllReduceBestStrategyTable;

// Strategy table definitions
inline AllReduceBestStrategyTableType AllReduceBestStrategyTableSM90
    = {{    // TP=2
           {// Fusion=NONE
               {9, 9}, {9, 9}},
           {// Fusion=RESIDUAL_RMS_NORM
               {9, 9}, {9, 9}}}};

inline AllReduceBestStrategyTableType AllReduceBestStrategyTableSM100
    = {{{{7}}}};

inline const std::unordered_map<int, AllReduceBestStrategyTableType> AllReduceBestStrategyTable = {
    {90, AllReduceBestStrategyTableSM90},
    {100, AllReduceBestStrategyTableSM100},
};
"""
PROGRAM = """#include "customAllReduceUtils.h"
#include <cstdio>
int main() {
  for (const auto& fusions : AllReduceBestStrategyTable.at(90))
    for (const auto& rows : fusions)
      for (const auto& row : rows)
        for (int strategy : row) std::printf("%d,", strategy);
  return AllReduceBestStrategyTable.at(100)[0][0][0][0] == 7 ? 0 : 1;
}
"""


def main():
    text = (SOURCE / "docs/allreduce.md").read_text(encoding="utf-8")
    command = re.search(r"^    (sed .* customAllReduceUtils\.h)$", text, re.MULTILINE)[1]
    numbers = [number for line in TABLE.read_text(encoding="ascii").splitlines()
               for number in re.findall(r"\d+", line.partition("//")[0]) if "inline" not in line]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "customAllReduceUtils.h").write_text(HEADER, encoding="ascii")
        (folder / TABLE.name).write_bytes(TABLE.read_bytes())
        (folder / "program.cc").write_text(PROGRAM, encoding="ascii")
        subprocess.run(command, shell=True, cwd=folder, check=True)
        subprocess.run(["c++", "-std=c++17", "program.cc", "-o", "program"], cwd=folder, check=True)
        said = subprocess.run(["./program"], cwd=folder, check=False, capture_output=True, text=True)
    if said.returncode != 0 or said.stdout.rstrip(",").split(",") != numbers:
        sys.exit(f"the table in the header says {said.stdout[:80]}…, not {numbers[:40]}…")
    if len(numbers) != 3 * 4 * 7 * 15:
        sys.exit(f"{len(numbers)} cells")


if __name__ == "__main__":
    main()
