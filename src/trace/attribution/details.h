// The evidence of an attribution: which kernels, messages and ranks contribute to each cause.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/attribution/attribution.h"
#include "trace/attribution/durations.h"
#include "trace/attribution/pair_graph.h"

namespace assay::trace::attribution {

// Ends the names of details that are pauses in which other streams worked. A dependency that no
// trace names looks the same as want of room.
inline constexpr std::string_view kForRoom = ", waiting for room on the GPU or other work";

class DetailCounter {
 public:
  // Adds a pair of runs. `weight` is its share in the attribution.
  void add(const PairGraph& graph, const AllPieces& pieces, double weight);

  // Returns for each cause the details with the largest changes, none below the cause's least.
  [[nodiscard]] std::vector<Detail> largest(const std::array<double, kCauses>& least_ms) &&;

 private:
  struct Sum {
    std::array<double, 2> ms = {};        // by side
    std::array<double, 2> count = {};     // works, per step and rank
    std::array<double, 2> bytes = {};     // of collectives: what bus bandwidth counts
    std::array<double, 2> total_ms = {};  // of the works themselves
    std::array<std::uint32_t, 2> channels = {};
    std::string operator_name = {};
    bool is_message = false;
  };

  // What a detail is about, by number within a pair of runs: a kernel of side a, one that only side
  // b has, or a rank.
  struct Subject {
    Cause cause = Cause::kOther;
    enum class Kind : std::uint8_t { kKernelOfA, kKernelOfB, kRank } kind = Kind::kRank;
    bool is_variant = false;  // waiting for room, or a rank's host
    std::uint32_t number = 0;

    bool operator==(const Subject&) const = default;
  };

  struct SubjectHash {
    std::size_t operator()(const Subject& subject) const {
      return (std::size_t{subject.number} << 8) ^ (static_cast<std::size_t>(subject.cause) << 4) ^
             (static_cast<std::size_t>(subject.kind) << 1) ^ (subject.is_variant ? 1U : 0U);
    }
  };

  using Sums = std::unordered_map<Subject, Sum, SubjectHash>;
  class StepEnds;

  static void add_node(const PairGraph& graph,
                       const PairNode& node,
                       const std::array<Pieces, 2>& pieces,
                       double share,
                       Sums& sums);
  static void add_pauses(const PairGraph& graph,
                         const PairNode& node,
                         const std::array<Pieces, 2>& pieces,
                         double share,
                         StepEnds& ends,
                         Sums& sums);
  static std::string name_of(const PairGraph& graph, const Subject& subject);
  static void join(Sum& all, const Sum& more);
  static std::string words(Cause cause, const Sum& sum);

  std::map<std::pair<std::size_t, std::string>, Sum> sums_;
};

}  // namespace assay::trace::attribution
