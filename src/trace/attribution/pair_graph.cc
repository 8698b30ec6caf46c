#include "trace/attribution/pair_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "trace/attribution/sequence.h"

namespace assay::trace::attribution {
namespace {

using path::Execution;
using path::Places;
using path::Work;
using path::WorkId;

// A work may start this long before what it waits for has ended: kernels begin while the last
// blocks of the kernel before run.
constexpr std::int64_t kEarlyStartNs = 20'000;
// A pause without a reason that is longer than this calls for one.
constexpr std::int64_t kShortPauseNs = 50'000;
constexpr std::size_t kMostCandidates = 16;

// Collectives are the same whatever algorithm NCCL chose: only the message counts.
std::vector<std::uint64_t> pairing_keys(const Execution& execution) {
  std::vector<std::uint64_t> keys = path::kernel_keys(execution);
  for (std::size_t k = 0; k < keys.size(); ++k)
    if (!execution.kernels[k].message.empty())
      keys[k] = std::hash<std::string>()(execution.kernels[k].message);
  return keys;
}

class GraphBuilder {
 public:
  GraphBuilder(const PreparedRun& a, const PreparedRun& b) {
    graph_.runs = {&a, &b};
    for (const Side side : {kA, kB}) {
      keys_[side] = pairing_keys(*graph_.runs[side]->execution);
      node_of_[side].assign(execution(side).works.size(), kNoNodeId);
    }
  }

  core::Result<PairGraph> build() {
    ASSAY_TRY(check_ranks());
    graph_.ranks = execution(kA).ranks.size();
    align_steps();
    for (std::size_t r = 0; r < graph_.ranks; ++r)
      lanes_.push_back(lane_pairs(static_cast<std::uint16_t>(r)));
    find_orders();
    for (std::size_t r = 0; r < graph_.ranks; ++r)
      add_rank(static_cast<std::uint16_t>(r));
    find_step_begins();
    ASSAY_TRY(check_step_begins());
    find_step_lasts();
    add_joins();
    for (const bool both : {true, false}) {
      add_waits(both);
      if (put_in_order()) return std::move(graph_);
    }
    return core::Error{"their kernels depend on each other in different orders"};
  }

 private:
  [[nodiscard]] const Execution& execution(Side side) const {
    return *graph_.runs[side]->execution;
  }

  [[nodiscard]] const Places& places(Side side) const { return graph_.runs[side]->places; }

  [[nodiscard]] core::Status check_ranks() const {
    const auto numbers = [](const Execution& x) {
      std::vector<int> result;
      for (const path::Rank& rank : x.ranks)
        result.push_back(rank.number);
      return result;
    };
    if (numbers(execution(kA)) != numbers(execution(kB)))
      return core::Error{"they have different ranks"};
    if (execution(kA).has_steps != execution(kB).has_steps)
      return core::Error{"only one of them has steps that all its ranks name"};
    return {};
  }

  // Leaves out the first steps of one run where more that count then meet.
  void align_steps() {
    const std::size_t steps[] = {execution(kA).steps.size(), execution(kB).steps.size()};
    std::size_t most = 0;
    for (std::size_t shift = 0; shift < std::min(steps[kA], steps[kB]); ++shift) {
      for (const Side side : {kA, kB}) {
        std::array<std::size_t, 2> first = {0, 0};
        first[side] = shift;
        const std::size_t length = std::min(steps[kA] - first[kA], steps[kB] - first[kB]);
        const std::size_t met = steps_that_meet(first, length);
        if (graph_.steps > 0 && met <= most) continue;
        most = met;
        graph_.first_step = first;
        graph_.steps = length;
      }
    }
  }

  // Counts the steps that count in both runs.
  [[nodiscard]] std::size_t steps_that_meet(const std::array<std::size_t, 2>& first,
                                            std::size_t length) const {
    std::size_t met = 0;
    for (std::size_t s = 0; s < length; ++s)
      if (graph_.runs[kA]->counts[first[kA] + s] && graph_.runs[kB]->counts[first[kB] + s]) ++met;
    return met;
  }

  [[nodiscard]] std::vector<std::uint32_t> lanes_of(Side side, std::uint16_t rank) const {
    std::vector<std::uint32_t> lanes;
    for (std::uint32_t l = 0; l < execution(side).lanes.size(); ++l)
      if (execution(side).lanes[l].rank == rank) lanes.push_back(l);
    return lanes;
  }

  // Counts the kernels that two lanes share in the first step.
  [[nodiscard]] std::size_t likeness(std::uint32_t a, std::uint32_t b) const {
    std::map<std::uint64_t, std::size_t> counts;
    for (const WorkId w : places(kA).lane_works[a])
      ++counts[keys_[kA][execution(kA).works[w].kernel]];
    std::size_t shared = 0;
    for (const WorkId w : places(kB).lane_works[b]) {
      const auto found = counts.find(keys_[kB][execution(kB).works[w].kernel]);
      if (found == counts.end() || found->second == 0) continue;
      --found->second;
      ++shared;
    }
    return shared;
  }

  // Takes lanes with the same kernels for one, then those most alike. The rest stay alone.
  [[nodiscard]] std::vector<MergedElement> lane_pairs(std::uint16_t rank) const {
    std::vector<std::uint32_t> a = lanes_of(kA, rank);
    std::vector<std::uint32_t> b = lanes_of(kB, rank);
    std::vector<MergedElement> pairs;
    const auto pair_up = [&](std::size_t i, std::size_t j) {
      pairs.push_back({a[i], b[j]});
      a.erase(a.begin() + static_cast<std::ptrdiff_t>(i));
      b.erase(b.begin() + static_cast<std::ptrdiff_t>(j));
    };
    for (std::size_t i = 0; i < a.size();) {
      const auto same = std::find_if(b.begin(), b.end(), [&](std::uint32_t lane) {
        return places(kB).role[lane] == places(kA).role[a[i]];
      });
      if (same == b.end()) {
        ++i;
      } else {
        pair_up(i, static_cast<std::size_t>(same - b.begin()));
      }
    }
    while (!a.empty() && !b.empty()) {
      std::size_t most = 0;
      std::size_t best_i = 0;
      std::size_t best_j = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < b.size(); ++j) {
          if (const std::size_t shared = likeness(a[i], b[j]); shared > most) {
            most = shared;
            best_i = i;
            best_j = j;
          }
        }
      }
      if (most == 0) break;
      pair_up(best_i, best_j);
    }
    for (const std::uint32_t lane : a)
      pairs.push_back({lane, kAbsentPosition});
    for (const std::uint32_t lane : b)
      pairs.push_back({kAbsentPosition, lane});
    return pairs;
  }

  void add_rank(std::uint16_t rank) {
    for (const MergedElement& lanes : lanes_[rank]) {
      std::uint32_t before = kNoNodeId;
      for (std::size_t s = 0; s < graph_.steps; ++s)
        before = add_step(rank, lanes, s, before);
    }
  }

  [[nodiscard]] std::span<const WorkId> works_of(Side side,
                                                 std::uint32_t lane,
                                                 std::size_t s) const {
    if (lane == kAbsentPosition) return {};
    return places(side).works_of(lane, graph_.first_step[side] + s);
  }

  [[nodiscard]] std::vector<std::uint64_t> keys_of(Side side, std::span<const WorkId> works) const {
    std::vector<std::uint64_t> keys;
    keys.reserve(works.size());
    for (const WorkId w : works)
      keys.push_back(keys_[side][execution(side).works[w].kernel]);
    return keys;
  }

  using Key = std::array<std::uint64_t, 4>;

  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = 0;
      for (const std::uint64_t part : key)
        hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
      return hash ^ (hash >> 29);
    }
  };

  // Instead of the number of works of a step, in the keys of computations.
  static constexpr std::uint64_t kComputations = ~std::uint64_t{0};

  // Adds the works of a step on a lane and returns the last node.
  std::uint32_t add_step(std::uint16_t rank,
                         const MergedElement& lanes,
                         std::size_t s,
                         std::uint32_t before) {
    const std::array<std::span<const WorkId>, 2> works = {works_of(kA, lanes.a, s),
                                                          works_of(kB, lanes.b, s)};
    const auto merged = merged_sequences(keys_of(kA, works[kA]), keys_of(kB, works[kB]));
    const auto node_at = [&](const MergedElement& element) {
      PairNode node{.before = before, .rank = rank, .step = static_cast<std::uint16_t>(s)};
      if (element.a != kAbsentPosition) node.work[kA] = works[kA][element.a];
      if (element.b != kAbsentPosition) node.work[kB] = works[kB][element.b];
      return node;
    };
    const Key computations = key_of_computations(rank, works, s);
    std::map<Key, std::uint32_t> counts;
    for (const MergedElement& element : merged)
      if (in_other_orders_[s]) ++counts[launch_of(node_at(element))];
    std::uint32_t number = 0;
    std::uint32_t computation = 0;
    for (const MergedElement& element : merged) {
      const auto id = static_cast<std::uint32_t>(graph_.nodes.size());
      PairNode node = node_at(element);
      for (const Side side : {kA, kB})
        if (node.has(side)) node_of_[side][node.work[side]] = id;
      Key key{lanes.a == kAbsentPosition ? 0 : places(kA).role[lanes.a],
              lanes.b == kAbsentPosition ? 0 : places(kB).role[lanes.b],
              (std::uint64_t{s} << 32) | number++, merged.size()};
      if (!communicates(node) && in_other_orders_[s]) {
        key = key_of_repeated(node, counts.at(launch_of(node)));
      } else if (!communicates(node)) {
        key = computations;
        key[2] |= computation++;
      }
      const auto [place, is_new] = groups_.try_emplace(key, graph_.groups);
      if (is_new) ++graph_.groups;
      node.group = place->second;
      graph_.nodes.push_back(node);
      before = id;
    }
    return before;
  }

  [[nodiscard]] bool communicates(const PairNode& node) const {
    return graph_.work(node, node.has(kA) ? kA : kB).kind == GpuWork::kCommunication;
  }

  // The stages of a pipeline compute the same and communicate differently, so what they compute is
  // told by that alone. Lanes of one rank that compute the same are told apart by their order.
  [[nodiscard]] Key key_of_computations(std::uint16_t rank,
                                        const std::array<std::span<const WorkId>, 2>& works,
                                        std::size_t s) {
    Key key{0, 0, std::uint64_t{s} << 32, kComputations};
    for (const Side side : {kA, kB})
      for (const WorkId w : works[side])
        if (execution(side).works[w].kind != GpuWork::kCommunication)
          key[side] = KeyHash()({key[side], keys_[side][execution(side).works[w].kernel], 0, 0});
    key[3] -= alike_lanes_[{key[0], key[1], key[2], rank}]++;
    return key;
  }

  // The code and the launch of a kernel.
  [[nodiscard]] std::uint64_t launch_of(Side side, WorkId work) const {
    const std::uint32_t number = execution(side).works[work].kernel;
    const path::Kernel& kernel = execution(side).kernels[number];
    return KeyHash()({keys_[side][number], kernel.blocks, kernel.threads, 1});
  }

  [[nodiscard]] Key launch_of(const PairNode& node) const {
    Key key{};
    for (const Side side : {kA, kB})
      if (node.has(side)) key[side] = launch_of(side, node.work[side]);
    return key;
  }

  // Stages of a pipeline run forwards and backwards in orders of their own (1F1B), and the first
  // and the last one have kernels more. There the k-th run of a kernel is the k-th one of the other
  // ranks that run it as often in the step: micro-batches come in order.
  [[nodiscard]] Key key_of_repeated(const PairNode& node, std::uint32_t count) {
    Key key = launch_of(node);
    key[2] = (std::uint64_t{node.step} << 32) | count;
    key[3] = kComputations - alike_lanes_[{key[0], key[1], key[2], node.rank}]++;
    return key;
  }

  // The sequences of computations of a rank in a step, by lane. Lanes that only communicate have
  // none.
  struct Orders {
    std::vector<Key> by_name;
    std::vector<Key> by_launch;
  };

  [[nodiscard]] Orders orders_of(const std::vector<MergedElement>& lanes, std::size_t s) const {
    Orders orders;
    for (const MergedElement& lane : lanes) {
      Key names{};
      Key launches{};
      for (const Side side : {kA, kB}) {
        for (const WorkId w : works_of(side, side == kA ? lane.a : lane.b, s)) {
          const Work& work = execution(side).works[w];
          if (work.kind == GpuWork::kCommunication) continue;
          names[side] = KeyHash()({names[side], keys_[side][work.kernel], 0, 0});
          launches[side] = KeyHash()({launches[side], launch_of(side, w), 0, 0});
        }
      }
      if (names == Key{}) continue;
      orders.by_name.push_back(names);
      orders.by_launch.push_back(launches);
    }
    std::sort(orders.by_name.begin(), orders.by_name.end());
    std::sort(orders.by_launch.begin(), orders.by_launch.end());
    return orders;
  }

  // Returns the launches of each kernel of a rank in a step.
  [[nodiscard]] std::map<std::pair<int, std::uint64_t>, std::set<std::uint64_t>> launches_of(
      const std::vector<MergedElement>& lanes, std::size_t s) const {
    std::map<std::pair<int, std::uint64_t>, std::set<std::uint64_t>> launches;
    for (const MergedElement& lane : lanes)
      for (const Side side : {kA, kB})
        for (const WorkId w : works_of(side, side == kA ? lane.a : lane.b, s))
          if (const Work& work = execution(side).works[w]; work.kind != GpuWork::kCommunication)
            launches[{side, keys_[side][work.kernel]}].insert(launch_of(side, w));
    return launches;
  }

  // Returns whether ranks that run a kernel launch it alike. What has other launches on each rank,
  // as the work of experts by their tokens, is not the same work.
  [[nodiscard]] bool are_launched_alike(std::size_t s) const {
    std::map<std::pair<int, std::uint64_t>, std::set<std::uint64_t>> all;
    for (const std::vector<MergedElement>& lanes : lanes_)
      for (auto& [kernel, launches] : launches_of(lanes, s))
        if (const auto& known = all.try_emplace(kernel, launches).first->second; known != launches)
          return false;
    return true;
  }

  // Finds the steps in which ranks compute in different orders. Where launches of one order differ
  // among ranks, as with the tokens of experts, they do not tell what is the same in another order.
  void find_orders() {
    for (std::size_t s = 0; s < graph_.steps; ++s) {
      std::set<std::vector<Key>> by_name;
      std::set<std::vector<Key>> by_launch;
      for (const std::vector<MergedElement>& lanes : lanes_) {
        Orders orders = orders_of(lanes, s);
        by_name.insert(std::move(orders.by_name));
        by_launch.insert(std::move(orders.by_launch));
      }
      in_other_orders_.push_back(by_name.size() > 1 && by_launch.size() == by_name.size() &&
                                 are_launched_alike(s));
    }
  }

  void find_step_begins() {
    graph_.step_begin.assign(graph_.ranks * graph_.steps, {kNoNodeId, kNoNodeId});
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      const PairNode& node = graph_.nodes[n];
      for (const Side side : {kA, kB}) {
        if (!node.has(side)) continue;
        std::uint32_t& first = graph_.step_begin[node.rank * graph_.steps + node.step][side];
        const bool earlier =
            first == kNoNodeId ||
            graph_.work(node, side).start_ns < graph_.work(graph_.nodes[first], side).start_ns;
        if (earlier) first = n;
      }
    }
  }

  // A clock that was set back can leave a rank without work in a step.
  [[nodiscard]] core::Status check_step_begins() const {
    const auto idle = std::find_if(
        graph_.step_begin.begin(), graph_.step_begin.end(),
        [](const auto& first) { return first[kA] == kNoNodeId || first[kB] == kNoNodeId; });
    if (idle == graph_.step_begin.end()) return {};
    const auto at = static_cast<std::size_t>(idle - graph_.step_begin.begin());
    return core::Error{fmt::format("rank {} has a step without GPU work",
                                   execution(kA).ranks[at / graph_.steps].number)};
  }

  void find_step_lasts() {
    if (graph_.steps < 2 || !execution(kA).has_steps) return;
    graph_.step_last.assign(graph_.ranks * graph_.steps, {kNoNodeId, kNoNodeId});
    for (const Side side : {kA, kB}) {
      for (std::size_t r = 0; r < graph_.ranks; ++r) {
        for (std::size_t s = 0; s < graph_.steps; ++s) {
          const WorkId work = execution(side).ranks[r].step_last[graph_.first_step[side] + s];
          if (work == path::kNone || node_of_[side][work] == kNoNodeId)
            return graph_.step_last.clear();
          graph_.step_last[r * graph_.steps + s][side] = node_of_[side][work];
        }
      }
    }
  }

  void add_joins() {
    for (const Side side : {kA, kB})
      for (const path::Join& join : execution(side).joins)
        add_join(side, join);
    for (PairJoin& join : graph_.joins) {
      for (const Side side : {kA, kB}) {
        const bool is_absent =
            std::none_of(join.nodes.begin(), join.nodes.end(),
                         [&](std::uint32_t n) { return graph_.nodes[n].has(side); });
        if (is_absent) join.joins[side] = true;
      }
      for (const std::uint32_t n : join.nodes)
        if (graph_.nodes[n].is_sender) graph_.nodes[n].join = kNoNodeId;
    }
  }

  // A collective of both runs is one join only if it joins the same nodes. A sender that was ever
  // seen to wait for nobody does not.
  void add_join(Side side, const path::Join& join) {
    std::vector<std::uint32_t> nodes;
    for (const WorkId w : execution(side).members_of(join))
      if (node_of_[side][w] != kNoNodeId) nodes.push_back(node_of_[side][w]);
    if (nodes.size() != join.size) return;
    std::sort(nodes.begin(), nodes.end());
    const std::uint32_t known = graph_.nodes[nodes.front()].join;
    if (known == kNoNodeId || graph_.joins[known].nodes != nodes) {
      const bool is_free = std::all_of(nodes.begin(), nodes.end(), [&](std::uint32_t n) {
        return graph_.nodes[n].join == kNoNodeId;
      });
      if (!is_free) return;
      for (const std::uint32_t n : nodes)
        graph_.nodes[n].join = static_cast<std::uint32_t>(graph_.joins.size());
      graph_.joins.push_back({.nodes = nodes});
    }
    PairJoin& joined = graph_.joins[graph_.nodes[nodes.front()].join];
    joined.joins[side] = true;
    joined.lacks_ranks = joined.lacks_ranks || join.lacks_ranks;
    if (join.sender != path::kNone) graph_.nodes[node_of_[side][join.sender]].is_sender = true;
  }

  using Edges = std::vector<std::vector<std::uint32_t>>;

  // Whether `node` never started clearly before `other` had ended, in either run.
  [[nodiscard]] bool may_wait(std::uint32_t node, std::uint32_t other) const {
    const PairNode& v = graph_.nodes[node];
    const PairNode& u = graph_.nodes[other];
    for (const Side side : {kA, kB}) {
      if (!v.has(side) || !u.has(side)) continue;
      const Work& late = graph_.work(v, side);
      const Work& early = graph_.work(u, side);
      if (late.start_ns < early.end_ns - kEarlyStartNs || late.start_ns <= early.start_ns)
        return false;
    }
    return true;
  }

  void add_wait(Edges& edges, std::uint32_t node, std::uint32_t other) const {
    std::vector<std::uint32_t>& own = edges[node];
    if (other == kNoNodeId || std::find(own.begin(), own.end(), other) != own.end()) return;
    if (may_wait(node, other)) own.push_back(other);
  }

  void add_waits(bool both_sides) {
    Edges edges(graph_.nodes.size());
    for (const Side side : {kA, kB}) {
      if (side == kB && !both_sides) break;
      for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) {
        const WorkId w = graph_.nodes[n].work[side];
        if (w == path::kNone) continue;
        for (const WorkId other : graph_.runs[side]->waits.of(w))
          add_wait(edges, n, node_of_[side][other]);
      }
      explain_pauses(edges, side);
    }
    graph_.first_wait.assign(1, 0);
    graph_.waits.clear();
    for (const auto& own : edges) {
      graph_.waits.insert(graph_.waits.end(), own.begin(), own.end());
      graph_.first_wait.push_back(static_cast<std::uint32_t>(graph_.waits.size()));
    }
  }

  // A work that paused for no known reason waits for what its rank finished last before it.
  void explain_pauses(Edges& edges, Side side) const {
    for (const path::Rank& rank : execution(side).ranks) {
      std::vector<WorkId> by_end;
      for (WorkId w = rank.first; w < rank.last; ++w)
        by_end.push_back(w);
      const auto& works = execution(side).works;
      std::sort(by_end.begin(), by_end.end(),
                [&](WorkId a, WorkId b) { return works[a].end_ns < works[b].end_ns; });
      for (WorkId w = rank.first; w < rank.last; ++w)
        explain_pause(edges, side, w, by_end);
    }
  }

  void explain_pause(Edges& edges, Side side, WorkId w, const std::vector<WorkId>& by_end) const {
    const std::uint32_t node = node_of_[side][w];
    if (node == kNoNodeId) return;
    const auto& works = execution(side).works;
    std::int64_t ready_ns =
        works[w].before == path::kNone ? path::kUnknownTime : works[works[w].before].end_ns;
    for (const std::uint32_t other : edges[node])
      if (graph_.nodes[other].has(side))
        ready_ns = std::max(ready_ns, graph_.work(graph_.nodes[other], side).end_ns);
    if (ready_ns >= works[w].start_ns - kShortPauseNs) return;
    auto at = std::upper_bound(
        by_end.begin(), by_end.end(), works[w].start_ns + kEarlyStartNs,
        [&](std::int64_t time, WorkId other) { return time < works[other].end_ns; });
    for (std::size_t tried = 0; at != by_end.begin() && tried < kMostCandidates; ++tried) {
      const WorkId other = *--at;
      if (works[other].end_ns <= ready_ns) return;
      const bool ran_before = other != w && works[other].start_ns < works[w].start_ns;
      const std::uint32_t other_node = node_of_[side][other];
      if (!ran_before || other_node == kNoNodeId || !may_wait(node, other_node)) continue;
      return add_wait(edges, node, other_node);
    }
  }

  // Calls link(from, to) for every dependence. Joins are numbered after the nodes.
  template <class Link>
  void each_dependence(const Link& link) const {
    const auto nodes = static_cast<std::uint32_t>(graph_.nodes.size());
    const auto finish = [&](std::uint32_t n) {
      const std::uint32_t join = graph_.nodes[n].join;
      return join == kNoNodeId ? n : nodes + join;
    };
    for (std::uint32_t n = 0; n < nodes; ++n) {
      if (graph_.nodes[n].before != kNoNodeId) link(finish(graph_.nodes[n].before), n);
      for (std::uint32_t w = graph_.first_wait[n]; w < graph_.first_wait[n + 1]; ++w)
        link(finish(graph_.waits[w]), n);
    }
    for (std::uint32_t j = 0; j < graph_.joins.size(); ++j)
      for (const std::uint32_t n : graph_.joins[j].nodes)
        link(n, nodes + j);
  }

  // Orders nodes and joins by their dependences (A. B. Kahn, 1962). Returns whether there is one.
  bool put_in_order() {
    const auto nodes = static_cast<std::uint32_t>(graph_.nodes.size());
    const std::size_t items = nodes + graph_.joins.size();
    std::vector<std::uint32_t> missing(items, 0);
    std::vector<std::uint32_t> first_after(items + 1, 0);
    each_dependence([&](std::uint32_t from, std::uint32_t to) {
      ++first_after[from + 1];
      ++missing[to];
    });
    std::partial_sum(first_after.begin(), first_after.end(), first_after.begin());
    std::vector<std::uint32_t> after(first_after.back());
    std::vector<std::uint32_t> filled = first_after;
    each_dependence([&](std::uint32_t from, std::uint32_t to) { after[filled[from]++] = to; });
    graph_.order.clear();
    const auto take = [&](std::uint32_t item) {
      graph_.order.push_back({item >= nodes ? item - nodes : item, item >= nodes});
    };
    for (std::uint32_t item = 0; item < items; ++item)
      if (missing[item] == 0) take(item);
    for (std::size_t i = 0; i < graph_.order.size(); ++i) {
      const std::uint32_t item = graph_.order[i].index + (graph_.order[i].is_join ? nodes : 0);
      for (std::uint32_t a = first_after[item]; a < first_after[item + 1]; ++a)
        if (--missing[after[a]] == 0) take(after[a]);
    }
    return graph_.order.size() == items;
  }

  PairGraph graph_;
  std::array<std::vector<std::uint64_t>, 2> keys_;
  std::vector<std::vector<MergedElement>> lanes_;  // by rank
  std::vector<bool> in_other_orders_;              // by step
  std::unordered_map<Key, std::uint64_t, KeyHash> alike_lanes_;
  std::array<std::vector<std::uint32_t>, 2> node_of_;
  std::unordered_map<Key, std::uint32_t, KeyHash> groups_;
};

}  // namespace

core::Result<PairGraph> pair_graph(const PreparedRun& a, const PreparedRun& b) {
  return GraphBuilder(a, b).build();
}

}  // namespace assay::trace::attribution
