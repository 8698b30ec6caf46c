// What the commands that make tables of a benchmark share: where it is and how to choose.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allreduce/tuning.h"
#include "core/result.h"

namespace assay::cli {

class App;
class Option;

struct TuningArguments {
  std::filesystem::path data_folder;
  std::optional<int> sm_version;
  allreduce::TuningOptions tuning;
};

// --data_dir, --sm_version, --dtype, --launch, --strategies, --tie, --noise, --fallback. Gives the
// option of the folder.
Option* add_tuning_options(App& app, TuningArguments& arguments);

// "2%" and "2" are 0.02; for Option::check: "" or what is wrong.
double part_of_percent(std::string_view text);
std::string percent_problem(const std::string& text);

struct TunedBenchmark {
  allreduce::Benchmark benchmark;
  allreduce::TunedTables tables;  // its provenance names the files
};

core::Result<TunedBenchmark> load_tuned(const std::filesystem::path& folder,
                                        const TuningArguments& arguments);

}  // namespace assay::cli
