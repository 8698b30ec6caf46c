// The files that the benchmarks read, made when first asked for, in a temporary folder that goes
// away with this object.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "trace_generator.h"

namespace assay::bench {

class Inputs {
 public:
  Inputs() = default;
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  ~Inputs();

  // One rank's trace of about this size (1e6 bytes to a MB), as JSON text or gzip.
  core::Result<std::filesystem::path> trace(int size_mb);
  core::Result<std::filesystem::path> compressed_trace(int size_mb);

  // Configurations of 8 ranks, from a bundled configuration of 2: whole traces of about 8 MB each,
  // the same with `assay trace analyze` run on it, and 9,000 collectives a rank.
  core::Result<std::filesystem::path> eight_ranks(const std::string& sample);
  core::Result<std::filesystem::path> analyzed_ranks(const std::string& sample);
  core::Result<std::filesystem::path> many_collectives(const std::string& sample);

  // A folder to write to.
  core::Result<std::filesystem::path> scratch();

  // The folder of all of them.
  core::Result<std::filesystem::path> folder();

 private:
  core::Result<std::filesystem::path> make_trace(const std::string& name, int size_mb);
  core::Result<std::filesystem::path> make_ranks(const std::string& name,
                                                 const std::string& sample,
                                                 Keep keep,
                                                 int repetitions);

  std::filesystem::path folder_ = {};  // empty until needed
};

}  // namespace assay::bench
