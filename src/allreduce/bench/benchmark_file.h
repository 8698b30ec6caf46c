// A benchmark file while it is being made: whole cells are appended and on the disk at once, so
// that nothing measured is lost however we end. Beside it, with the ending .json, stands what it
// was measured with; rows measured otherwise are never mixed in.
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

// kRefuse: a file that is there already is an error.
enum class Existing { kRefuse, kResume, kOverwrite };

struct Provenance {
  // Must be the same for all rows of a file: the machine's facts, options that change what is
  // measured, variables that NCCL and CUDA read. Name and value, for people.
  std::map<std::string, std::string> settings;
  // May differ from run to run: date, command line, and so on.
  std::map<std::string, std::string> run;
};

class BenchmarkFile {
 public:
  // Errors: see Existing; the file was measured otherwise (says what differs); it cannot be read
  // or written. The caller holds the folder's lock.
  static core::Result<BenchmarkFile> open(const std::filesystem::path& path,
                                          Existing existing,
                                          const Provenance& provenance);

  BenchmarkFile(BenchmarkFile&& other) noexcept;
  BenchmarkFile& operator=(BenchmarkFile&&) = delete;
  BenchmarkFile(const BenchmarkFile&) = delete;
  BenchmarkFile& operator=(const BenchmarkFile&) = delete;
  ~BenchmarkFile();

  // The measurements of one cell, or of a part of it, all or none. After an error the file ends
  // with the last cell that fitted.
  core::Status append(const std::vector<Measurement>& measurements);

  [[nodiscard]] bool has(const Cell& cell, Strategy strategy) const;

  // Those from before and those appended.
  [[nodiscard]] const std::vector<Measurement>& measurements() const { return measurements_; }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Of a last line that a crash had left unfinished and that was cut off; 0: there was none.
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

// An error when the file is there already.
core::Status check_free(const std::filesystem::path& path);

// benchmark.tp4.sm90.csv → benchmark.tp4.sm90.json
std::filesystem::path provenance_path(const std::filesystem::path& benchmark);

}  // namespace assay::allreduce
