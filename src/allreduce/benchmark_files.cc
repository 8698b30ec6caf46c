#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "allreduce/benchmark_csv.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

namespace fs = std::filesystem;

using NamedFile = std::pair<BenchmarkFileName, fs::path>;

// Removes the part before the next dot, and the dot, from the front and returns the part.
std::string_view take_part(std::string_view& name) {
  const std::size_t end = std::min(name.find('.'), name.size());
  const std::string_view part = name.substr(0, end);
  name.remove_prefix(std::min(end + 1, name.size()));
  return part;
}

// Returns the 4 of "tp4". The number must be at least 1, with no sign and no leading zero.
std::optional<int> number_behind(std::string_view prefix, std::string_view part) {
  if (part.substr(0, prefix.size()) != prefix) return std::nullopt;
  part.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), number);
  const bool whole = code == std::errc() && end == part.data() + part.size();
  if (!whole || part.front() < '1' || part.front() > '9') return std::nullopt;
  return number;
}

std::string listed(const std::set<int>& numbers) {
  std::vector<std::string> words;
  words.reserve(numbers.size());
  for (const int number : numbers)
    words.push_back(std::to_string(number));
  return core::join(words, ", ");
}

core::Result<std::vector<NamedFile>> named_files(const fs::path& folder) {
  std::vector<NamedFile> files;
  for (const fs::path& entry : ASSAY_TRY(core::list_directory(folder))) {
    const auto name = benchmark_file_name(entry.filename().string());
    if (name) files.emplace_back(*name, folder / entry.filename());
  }
  return files;
}

std::set<Launch> launches_of(const std::vector<NamedFile>& files) {
  std::set<Launch> launches;
  for (const NamedFile& file : files)
    launches.insert(file.first.launch);
  return launches;
}

core::Error none_of_launch(const fs::path& folder, Launch launch, const std::set<Launch>& present) {
  std::string text =
      fmt::format("'{}' has no benchmark files of {} launches, ", folder.string(), name_of(launch));
  if (present.empty()) {
    const BenchmarkFileName form{.world_size = 2, .sm_version = 90, .launch = launch};
    return core::Error{text + "such as " + form.text()};
  }
  std::vector<std::string> names;
  for (const Launch one : present)
    names.emplace_back(name_of(one));
  return core::Error{text + fmt::format("only of {} ones (--launch)", core::join(names, " and "))};
}

core::Result<int> choose_sm(const fs::path& folder,
                            const std::set<int>& present,
                            std::optional<int> wanted) {
  if (wanted && present.count(*wanted) == 0) {
    return core::Error{fmt::format("'{}' has no benchmark files of SM {}, only of SM {}",
                                   folder.string(), *wanted, listed(present))};
  }
  if (!wanted && present.size() > 1) {
    return core::Error{
        fmt::format("'{}' mixes benchmark files of SM {}; name one of them with --sm_version",
                    folder.string(), listed(present))};
  }
  return wanted.value_or(*present.begin());
}

}  // namespace

std::string BenchmarkFileName::text() const {
  std::string text = fmt::format("benchmark.tp{}.sm{}", world_size, sm_version);
  if (data_type != DataType::kBfloat16) text += fmt::format(".{}", name_of(data_type));
  if (launch != Launch::kGraph) text += fmt::format(".{}", name_of(launch));
  return text + ".csv";
}

std::optional<BenchmarkFileName> benchmark_file_name(std::string_view name) {
  const std::string whole(name);
  if (take_part(name) != "benchmark") return std::nullopt;
  const auto world_size = number_behind("tp", take_part(name));
  const auto sm_version = number_behind("sm", take_part(name));
  if (!world_size || !sm_version) return std::nullopt;
  BenchmarkFileName result{.world_size = *world_size, .sm_version = *sm_version};
  std::string_view part = take_part(name);
  const auto* type = std::find(kDataTypeNames.begin(), kDataTypeNames.end(), part);
  if (type != kDataTypeNames.end()) {
    result.data_type = static_cast<DataType>(type - kDataTypeNames.begin());
    part = take_part(name);
  }
  if (part != name_of(Launch::kGraph)) result.launch = launch_named(part).value_or(Launch::kGraph);
  // Each name may be written in one way only, so that no two files of a folder claim the same data.
  if (result.text() != whole) return std::nullopt;
  return result;
}

namespace {

core::Result<BenchmarkFolder> files_of_sm(const fs::path& folder,
                                          std::vector<NamedFile> files,
                                          std::optional<int> sm_version) {
  std::set<int> present;
  for (const NamedFile& file : files)
    present.insert(file.first.sm_version);
  BenchmarkFolder result{.sm_version = ASSAY_TRY(choose_sm(folder, present, sm_version)),
                         .files = {}};
  std::sort(files.begin(), files.end(), [](const NamedFile& a, const NamedFile& b) {
    return std::tie(a.first.launch, a.first.world_size, a.first.data_type) <
           std::tie(b.first.launch, b.first.world_size, b.first.data_type);
  });
  for (NamedFile& file : files) {
    if (file.first.sm_version == result.sm_version) result.files.push_back(std::move(file.second));
  }
  return result;
}

}  // namespace

core::Result<BenchmarkFolder> find_benchmarks(const fs::path& folder,
                                              std::optional<int> sm_version,
                                              Launch launch) {
  std::vector<NamedFile> files = ASSAY_TRY(named_files(folder));
  const std::set<Launch> present = launches_of(files);
  std::erase_if(files, [&](const NamedFile& file) { return file.first.launch != launch; });
  if (files.empty()) return none_of_launch(folder, launch, present);
  return files_of_sm(folder, std::move(files), sm_version);
}

core::Result<BenchmarkFolder> find_all_benchmarks(const fs::path& folder,
                                                  std::optional<int> sm_version) {
  std::vector<NamedFile> files = ASSAY_TRY(named_files(folder));
  if (files.empty()) return none_of_launch(folder, Launch::kGraph, {});
  return files_of_sm(folder, std::move(files), sm_version);
}

namespace {

void warn_of_failures(Benchmark& benchmark) {
  for (const Launch launch : {Launch::kGraph, Launch::kEager, Launch::kIsolated}) {
    for (const auto& [cell, strategies] : failures_of(benchmark, launch)) {
      for (const auto& [strategy, failure] : strategies) {
        benchmark.warnings.add(
            fmt::format("a measurement failed ({})", failure.what),
            "the strategy is not chosen for that message",
            fmt::format("TP {}, {}, {} of {} {} elements, {}{}{}", cell.world_size,
                        name_of(cell.fusion), core::counted(cell.num_tokens, "token"),
                        cell.hidden_size, name_of(cell.data_type), name_of(strategy),
                        failure.reason.empty() ? "" : ": ", failure.reason));
      }
    }
  }
}

}  // namespace

core::Result<Benchmark> read_benchmarks(const BenchmarkFolder& folder) {
  Benchmark result{.sm_version = folder.sm_version, .measurements = {}};
  std::vector<std::string> names;
  for (const fs::path& file : folder.files) {
    auto measurements = ASSAY_TRY(read_benchmark_csv(file, &result.warnings));
    std::move(measurements.begin(), measurements.end(), std::back_inserter(result.measurements));
    names.push_back("'" + file.string() + "'");
  }
  if (result.measurements.empty()) {
    return core::Error{"no measurements in " + core::join(names, ", ")};
  }
  warn_of_failures(result);
  return result;
}

}  // namespace assay::allreduce
