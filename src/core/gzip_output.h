// Compresses a stream of text to gzip, piece by piece.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "core/result.h"

namespace assay::core {

class GzipOutput {
 public:
  using Sink = std::function<Status(std::string_view)>;

  // The compressed bytes go to `sink` in large pieces.
  explicit GzipOutput(Sink sink);
  ~GzipOutput();

  GzipOutput(const GzipOutput&) = delete;
  GzipOutput& operator=(const GzipOutput&) = delete;

  Status write(std::string_view bytes);

  // Writes what is left. Nothing may be written after it.
  Status finish();

 private:
  class Deflater;

  Status drain(bool last);

  Sink sink_;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace assay::core
