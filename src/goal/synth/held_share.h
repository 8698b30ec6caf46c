// What collectives hold of a GPU while they run: a channel of NCCL is a block of threads that
// occupies a multiprocessor, on which nothing else computes meanwhile.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::goal {

struct Holding {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double share = 0;  // of the GPU
};

class HeldShare {
 public:
  explicit HeldShare(const std::vector<Holding>& holdings);

  // The share that is held between two times, by the time for which it is; of several at once the
  // sum.
  [[nodiscard]] double held_ns(std::int64_t start_ns, std::int64_t end_ns) const;

 private:
  struct Change {
    std::int64_t at_ns = 0;
    double share = 0;    // from here on
    double held_ns = 0;  // until here
  };

  [[nodiscard]] double held_until(std::int64_t at_ns) const;

  std::vector<Change> changes_;
};

}  // namespace assay::goal
