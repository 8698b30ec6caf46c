#include "goal/compat_v2/gpu_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace assay::goal::compat_v2 {
namespace {

using model::NcclFunction;

constexpr std::uint32_t kOther = 0;
constexpr std::uint32_t kPipeline = 1;
constexpr std::uint32_t kData = 2;
constexpr std::uint64_t kHalf = 1ULL << 63U;

// The generator stops at functions that have no letter; any other letter serves for them.
char letter(NcclFunction function) {
  switch (function) {
    case NcclFunction::kAllGather:
      return 'A';
    case NcclFunction::kAllReduce:
      return 'B';
    case NcclFunction::kBroadcast:
      return 'C';
    case NcclFunction::kReduceScatter:
      return 'D';
    case NcclFunction::kRecv:
      return 'E';
    case NcclFunction::kSend:
      return 'F';
    default:
      return '-';
  }
}

std::uint64_t operation_number(NcclFunction function) {
  switch (function) {
    case NcclFunction::kAllReduce:
      return 0;
    case NcclFunction::kAllGather:
      return 1;
    case NcclFunction::kReduceScatter:
      return 2;
    case NcclFunction::kBroadcast:
      return 3;
    case NcclFunction::kReduce:
      return 4;
    default:
      return 6;  // sends and receives
  }
}

bool all(std::string_view text, char letter) {
  return text.find_first_not_of(letter) == std::string_view::npos;
}

// Returns whether the letters are n times A, n times D, and so on. They may end after the As, but
// not within a run.
bool is_sharded(std::string_view letters) {
  const std::size_t n = std::min(letters.find_first_not_of('A'), letters.size());
  if (n == 0) return false;
  for (std::size_t i = 0; i < letters.size(); i += 2 * n) {
    const std::string_view gathers = letters.substr(i, n);
    if (gathers.size() < n || !all(gathers, 'A')) return false;
    if (i + n >= letters.size()) continue;
    const std::string_view scatters = letters.substr(i + n, n);
    if (scatters.size() < n || !all(scatters, 'D')) return false;
  }
  return true;
}

std::vector<std::uint32_t> parallelism_of_streams(const model::JobGpu& gpu,
                                                  std::span<const std::uint32_t> order) {
  std::vector<std::string> letters(gpu.streams.size());
  for (const std::uint32_t i : order) {
    const model::Operation& operation = gpu.operations[i];
    letters[operation.stream] += letter(operation.function);
  }
  std::vector<std::uint32_t> digits;
  for (const std::string& text : letters)
    digits.push_back(parallelism_digit(text));
  return digits;
}

}  // namespace

std::uint64_t tuple_hash(std::span<const std::uint64_t> items) {
  constexpr std::uint64_t kPrime1 = 11400714785074694791ULL;
  constexpr std::uint64_t kPrime2 = 14029467366897019727ULL;
  constexpr std::uint64_t kPrime5 = 2870177450012600261ULL;
  std::uint64_t sum = kPrime5;
  for (const std::uint64_t item : items) {
    sum += item * kPrime2;
    sum = std::rotl(sum, 31) * kPrime1;
  }
  sum += items.size() ^ (kPrime5 ^ 3527539ULL);
  return sum == ~std::uint64_t{0} ? 1546275796ULL : sum;
}

std::vector<std::uint32_t> hash_digits(std::span<const std::uint64_t> hashes) {
  constexpr std::uint64_t kModulus = 1000;
  const auto high =
      std::count_if(hashes.begin(), hashes.end(), [](std::uint64_t hash) { return hash >= kHalf; });
  const bool mixed = high > 0 && static_cast<std::size_t>(high) < hashes.size();
  std::vector<std::uint32_t> digits;
  digits.reserve(hashes.size());
  for (const std::uint64_t hash : hashes) {
    digits.push_back(static_cast<std::uint32_t>(
        mixed ? static_cast<std::uint64_t>(std::fmod(static_cast<double>(hash), 1000.0))
              : hash % kModulus));
  }
  return digits;
}

std::uint32_t parallelism_digit(std::string_view letters) {
  if (is_sharded(letters)) return kData;
  const auto exchanges = std::count_if(letters.begin(), letters.end(),
                                       [](char letter) { return letter == 'E' || letter == 'F'; });
  return exchanges >= 2 ? kPipeline : kOther;
}

std::vector<std::uint32_t> contexts(const model::JobGpu& gpu,
                                    std::span<const std::uint32_t> order) {
  const std::vector<std::uint32_t> parallelism = parallelism_of_streams(gpu, order);
  std::unordered_map<std::uint64_t, std::uint64_t> sequences;  // by communicator and operation
  std::vector<std::uint64_t> hashes;
  hashes.reserve(order.size());
  for (const std::uint32_t i : order) {
    const model::Operation& operation = gpu.operations[i];
    const std::uint64_t number = operation_number(operation.function);
    const std::uint64_t sequence =
        sequences[std::uint64_t{operation.communicator} << 8U | number]++;
    const std::array<std::uint64_t, 3> items = {
        operation.communicator, number,
        model::is_point_to_point(operation.function) ? 0 : sequence};
    hashes.push_back(tuple_hash(items));
  }
  const std::vector<std::uint32_t> digits = hash_digits(hashes);
  std::vector<std::uint32_t> contexts(gpu.operations.size());
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::uint32_t stream = gpu.operations[order[n]].stream;
    contexts[order[n]] = parallelism[stream] + 100 * digits[n];
  }
  return contexts;
}

namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// The times that the generator gives to an operation: the first of a group has the kernel's times,
// all others begin and end with its end.
struct Event {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t group = kNone;
};

// Numbers the program's groups where they were recorded, otherwise the operations of one plan.
std::vector<std::uint32_t> number_groups(const model::JobGpu& gpu) {
  std::unordered_map<std::uint32_t, std::uint32_t> operations_of_plan;
  for (const model::Operation& operation : gpu.operations)
    ++operations_of_plan[operation.group];
  std::map<std::pair<bool, std::int64_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t> groups;
  for (const model::Operation& operation : gpu.operations) {
    const bool called = operation.call_group >= 0;
    if (!called && operations_of_plan[operation.group] == 1) {
      groups.push_back(kNone);
      continue;
    }
    const std::int64_t id = called ? operation.call_group : std::int64_t{operation.group};
    const auto next = static_cast<std::uint32_t>(numbers.size());
    groups.push_back(numbers.emplace(std::pair(called, id), next).first->second);
  }
  return groups;
}

std::vector<Event> time_events(const model::JobGpu& gpu) {
  const std::vector<std::uint32_t> groups = number_groups(gpu);
  std::unordered_map<std::uint32_t, std::int64_t> end_of;
  std::vector<Event> events;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const model::Operation& operation = gpu.operations[i];
    Event event = {operation.start_ns, operation.end_ns, groups[i]};
    if (event.group != kNone) {
      const auto [first, added] = end_of.emplace(event.group, event.end_ns);
      if (!added) event.start_ns = event.end_ns = first->second;
    }
    events.push_back(event);
  }
  return events;
}

class Planner {
 public:
  explicit Planner(const model::JobGpu& gpu) : gpu_(gpu), events_(time_events(gpu)) {
    order_.resize(events_.size());
    std::iota(order_.begin(), order_.end(), 0U);
    // Operations that start together stay in the order of the calls; in the generator their order
    // depends on the processor that it runs on.
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return events_[a].start_ns < events_[b].start_ns;
    });
  }

  GpuPlan plan() {
    plan_.contexts = contexts(gpu_, order_);
    lay_out_groups();
    std::vector<std::vector<std::uint32_t>> streams(gpu_.streams.size());
    for (const std::uint32_t i : order_)
      streams[gpu_.operations[i].stream].push_back(i);
    for (const std::uint32_t stream : sort_streams(streams))
      plan_.streams.push_back(launches(std::move(streams[stream])));
    return std::move(plan_);
  }

 private:
  void lay_out_groups() {
    std::vector<std::vector<std::uint32_t>> members;
    for (const std::uint32_t i : order_) {
      const std::uint32_t group = events_[i].group;
      if (group == kNone) continue;
      if (members.size() <= group) members.resize(group + 1);
      members[group].push_back(i);
    }
    for (const auto& operations : members) {
      groups_.push_back({.grouped = true,
                         .first = static_cast<std::uint32_t>(plan_.operations.size()),
                         .count = static_cast<std::uint32_t>(operations.size())});
      plan_.operations.insert(plan_.operations.end(), operations.begin(), operations.end());
    }
  }

  // Returns the streams in use, sorted by the name of their first operation, length and handle.
  std::vector<std::uint32_t> sort_streams(
      const std::vector<std::vector<std::uint32_t>>& streams) const {
    std::vector<std::uint32_t> used;
    for (std::uint32_t i = 0; i < streams.size(); ++i) {
      if (!streams[i].empty()) used.push_back(i);
    }
    const auto key = [&](std::uint32_t stream) {
      const auto& operations = streams[stream];
      return std::tuple(plan_.contexts[operations.front()], operations.size(),
                        std::string_view(gpu_.streams[stream]));
    };
    std::sort(used.begin(), used.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    return used;
  }

  std::vector<Launch> launches(std::vector<std::uint32_t> operations) {
    const auto key = [&](std::uint32_t i) {
      return std::tuple(events_[i].start_ns, events_[i].end_ns, i);
    };
    std::sort(operations.begin(), operations.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    std::unordered_set<std::uint32_t> seen;
    std::vector<Launch> launches;
    for (const std::uint32_t i : operations) {
      const Event& event = events_[i];
      if (event.group != kNone && !seen.insert(event.group).second) continue;
      Launch launch = {.first = static_cast<std::uint32_t>(plan_.operations.size()), .count = 1};
      if (event.group != kNone) {
        launch = groups_[event.group];
      } else {
        plan_.operations.push_back(i);
      }
      launch.start_ns = event.start_ns;
      launch.end_ns = event.end_ns;
      launches.push_back(launch);
    }
    return launches;
  }

  const model::JobGpu& gpu_;
  std::vector<Event> events_;
  std::vector<std::uint32_t> order_;
  std::vector<Launch> groups_;
  GpuPlan plan_;
};

bool disjoint(const std::vector<Launch>& a, const std::vector<Launch>& b) {
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    if (x->end_ns <= y->start_ns) {
      ++x;
    } else if (y->end_ns <= x->start_ns) {
      ++y;
    } else {
      return false;
    }
  }
  return true;
}

std::vector<Launch> joined(std::vector<Launch> a, const std::vector<Launch>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end(), [](const Launch& x, const Launch& y) {
    return std::tuple(x.start_ns, x.end_ns, x.first) < std::tuple(y.start_ns, y.end_ns, y.first);
  });
  return a;
}

}  // namespace

GpuPlan plan_gpu(const model::JobGpu& gpu) {
  return Planner(gpu).plan();
}

bool mergeable(const GpuPlan& plan) {
  std::vector<Launch> merged;
  for (const auto& stream : plan.streams) {
    if (!disjoint(stream, merged)) return false;
    merged = joined(std::move(merged), stream);
  }
  return true;
}

void merge_streams(GpuPlan& plan) {
  std::vector<Launch> merged;
  for (const auto& stream : plan.streams)
    merged = joined(std::move(merged), stream);
  // A group with operations on several streams counts once.
  std::unordered_set<std::uint32_t> seen;
  const auto repeated = [&](const Launch& launch) { return !seen.insert(launch.first).second; };
  merged.erase(std::remove_if(merged.begin(), merged.end(), repeated), merged.end());
  plan.streams.clear();
  if (!merged.empty()) plan.streams.push_back(std::move(merged));
}

}  // namespace assay::goal::compat_v2
