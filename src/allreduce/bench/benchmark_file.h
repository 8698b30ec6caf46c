// A benchmark file while it is being written. Whole cells are appended and synced to the disk at
// once, so that nothing measured is lost however the program ends. A .json file beside it records
// the settings of the measurement; rows measured with other settings are never mixed in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "allreduce/timings.h"
#include "core/result.h"

namespace assay::allreduce {

// With kRefuse, a file that already exists is an error.
enum class Existing { kRefuse, kResume, kOverwrite };

struct Provenance {
  // Names and values, for people, that must be the same for all rows of a file: facts about the
  // machine, options that change what is measured, variables that NCCL and CUDA read.
  std::map<std::string, std::string> settings;
  // Names and values that may differ from run to run, such as the date and the command line.
  std::map<std::string, std::string> run;
};

class BenchmarkFile {
 public:
  // Errors: the file already exists (kRefuse), it was measured with other settings (the message
  // names one that differs), or it cannot be read or written. The caller must hold the lock of the
  // folder.
  static core::Result<BenchmarkFile> open(const std::filesystem::path& path,
                                          Existing existing,
                                          const Provenance& provenance);

  BenchmarkFile(BenchmarkFile&& other) noexcept;
  BenchmarkFile& operator=(BenchmarkFile&&) = delete;
  BenchmarkFile(const BenchmarkFile&) = delete;
  BenchmarkFile& operator=(const BenchmarkFile&) = delete;
  ~BenchmarkFile();

  // Appends the measurements of one cell, or of a part of it: all of them or none. After an error
  // the file ends with the last cell that was written completely.
  core::Status append(const std::vector<Measurement>& measurements);

  [[nodiscard]] bool has(const Cell& cell, Strategy strategy) const;

  // The measurements that the file already held, followed by the appended ones.
  [[nodiscard]] const std::vector<Measurement>& measurements() const { return measurements_; }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // The number of bytes of an unfinished last line that a crash left and that was cut off; 0 if
  // there was none.
  [[nodiscard]] std::int64_t cut_bytes() const { return cut_bytes_; }

 private:
  BenchmarkFile(std::filesystem::path path, int descriptor);

  void remember(const std::vector<Measurement>& measurements);

  std::filesystem::path path_;
  int descriptor_;
  std::int64_t cut_bytes_ = 0;
  std::vector<Measurement> measurements_;
  std::set<std::pair<Cell, Strategy>> present_;
};

// Returns an error when the file already exists.
core::Status check_free(const std::filesystem::path& path);

// Writes the .json beside a new file of measurements.
core::Status write_provenance_file(const std::filesystem::path& benchmark,
                                   const Provenance& provenance);

// Notes another run in the .json beside a file that is resumed. Errors: it was measured with other
// settings (the message names one that differs), or it cannot be read or written.
core::Status resume_provenance_file(const std::filesystem::path& benchmark,
                                    const Provenance& provenance);

// Maps benchmark.tp4.sm90.csv to benchmark.tp4.sm90.json.
std::filesystem::path provenance_path(const std::filesystem::path& benchmark);

}  // namespace assay::allreduce
