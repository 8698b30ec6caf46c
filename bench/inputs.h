// The input files of the benchmarks, made on first use in a temporary folder that is removed with
// this object.
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

  // Return a trace of one rank of about this size (1 MB is 1e6 bytes), as JSON text or gzip.
  core::Result<std::filesystem::path> trace(int size_mb);
  core::Result<std::filesystem::path> compressed_trace(int size_mb);

  // Return configurations of 8 ranks made from a bundled configuration of 2: whole traces of about
  // 8 MB each, the same after `assay trace analyze`, and 9,000 collectives per rank.
  core::Result<std::filesystem::path> eight_ranks(const std::string& sample);
  core::Result<std::filesystem::path> analyzed_ranks(const std::string& sample);
  core::Result<std::filesystem::path> many_collectives(const std::string& sample);

  // Returns a folder for output.
  core::Result<std::filesystem::path> scratch();

  // Returns the folder that holds all of them.
  core::Result<std::filesystem::path> folder();

 private:
  core::Result<std::filesystem::path> make_trace(const std::string& name, int size_mb);
  core::Result<std::filesystem::path> make_ranks(const std::string& name,
                                                 const std::string& sample,
                                                 Keep keep,
                                                 int repetitions);

  std::filesystem::path folder_ = {};  // empty until first used
};

}  // namespace assay::bench
