// Makes large traces from a small one by repeating its events, each time later, with correlation
// ids, External ids, sequence numbers, flow ids and profiled steps of their own. The result is a
// valid trace of many steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::bench {

enum class Keep : std::uint8_t {
  kAllEvents,
  kCollectives,  // communication kernels with their launches, and the profiled steps
};

class TraceTemplate {
 public:
  static core::Result<TraceTemplate> load(const std::filesystem::path& sample, Keep keep);

  // Makes the trace that of one rank of `world_size`, in its header and its collectives.
  void set_rank(int rank, int world_size);

  // Returns the bytes of one repetition.
  [[nodiscard]] std::uint64_t bytes() const;

  // Writes JSON text; gzip (level 1) when the name ends in .gz. Creates the folder.
  core::Status write(const std::filesystem::path& path, int repetitions) const;

 private:
  enum class Counter : std::uint8_t { kTime, kId, kStep };

  // A text and the number that follows it; only these numbers differ between repetitions.
  struct Piece {
    std::string text;
    Counter counter = Counter::kTime;
    std::int64_t value = 0;  // in ns for a time
  };

  void add_event(std::string_view event);
  void add_piece(std::string_view text, std::string_view number, Counter counter);
  [[nodiscard]] std::string repetition(int index) const;
  [[nodiscard]] std::int64_t shifted(const Piece& piece, int index) const;

  std::string head_;  // text up to the '[' of the events, and the events that are not repeated
  std::vector<Piece> pieces_;  // one repetition of the other events
  std::string pending_ = {};   // text of the piece under construction
  std::string tail_;           // text from the ']' on
  std::int64_t first_ns_ = INT64_MAX;
  std::int64_t last_ns_ = INT64_MIN;
  std::int64_t last_id_ = 0;
  std::int64_t first_step_ = INT64_MAX;
  std::int64_t last_step_ = INT64_MIN;
};

}  // namespace assay::bench
