#include "simulate/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include "core/counted.h"
#include "core/statistics.h"
#include "core/text.h"
#include "simulate/stuck.h"

namespace assay::simulate {
namespace {

using model::Better;
using model::Cell;
using model::Column;
using model::Table;

double us(std::int64_t ns) {
  return static_cast<double>(ns) / 1000;
}

Cell count(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

Column time_column(const char* name, const char* description = "") {
  return {.name = name, .unit = "us", .better = Better::kLower, .description = description};
}

// Returns whether a receive that has its message is one for exactly that size.
bool has_own_size(const Record& record, OpId id) {
  const model::ScheduleOp& op = record.op(id);
  if (op.kind != model::OpKind::kReceive || record.state(id).phase() != Phase::kDone) return true;
  if (op.peer == model::kAnyPeer || op.tag == model::kAnyTag) return true;
  return op.size == record.message_bytes(id);
}

// Counts what arrives at a NIC of a rank, at the rate of its links.
struct Arriving {
  std::uint32_t rank = 0;
  std::uint8_t nic = 0;
  std::uint64_t bytes = 0;
  std::int64_t passing_ns = 0;
};

// Returns what arrives at that NIC of the rank that has the most to let pass.
Arriving busiest_nic(const Record& record, std::uint32_t rank) {
  std::map<std::uint8_t, Arriving> nics;
  Arriving busiest;
  for (std::uint32_t i = 0; i < record.schedule().ranks()[rank].ops.size(); ++i) {
    const OpId id{rank, i};
    const model::ScheduleOp& op = record.op(id);
    if (op.kind != model::OpKind::kReceive || record.state(id).phase() != Phase::kDone) continue;
    Arriving& nic = nics[op.nic];
    const std::uint64_t bytes = record.message_bytes(id);
    nic = {rank, op.nic, nic.bytes + bytes, nic.passing_ns + record.link(id).bandwidth_ns(bytes)};
    if (nic.passing_ns > busiest.passing_ns) busiest = nic;
  }
  return busiest;
}

Arriving busiest_nic(const LaunchOutcome& outcome, std::uint32_t rank) {
  Arriving busiest;
  for (std::uint8_t nic = 0; nic < model::kNics; ++nic) {
    const model::NicWork& work = outcome.nic_work[rank][nic];
    if (work.receiving_ns > busiest.passing_ns)
      busiest = {rank, nic, work.received_bytes, work.receiving_ns};
  }
  return busiest;
}

// `busiest` returns the busiest NIC of a rank.
template <class Busiest>
std::string overfull_in_words(const std::vector<std::int64_t>& finish_ns, const Busiest& busiest) {
  std::uint64_t ranks = 0;
  Arriving worst;
  double most = 1;
  for (std::uint32_t rank = 0; rank < finish_ns.size(); ++rank) {
    const Arriving nic = busiest(rank);
    const std::int64_t end_ns = finish_ns[rank];
    if (nic.passing_ns <= end_ns) continue;
    ++ranks;
    const double over = static_cast<double>(nic.passing_ns) / static_cast<double>(end_ns);
    if (over <= most) continue;
    most = over;
    worst = nic;
  }
  if (ranks == 0) return "";
  return fmt::format(
      "{} more than a NIC lets pass: NIC {} of rank {} gets {} bytes until {:.1f} us, which take "
      "{:.1f} us at G. LogGOPS lets messages arrive side by side; --network FILE.yaml makes them "
      "share links",
      core::counted(ranks, "rank receives", "ranks receive"), worst.nic, worst.rank, worst.bytes,
      us(finish_ns[worst.rank]), us(worst.passing_ns));
}

}  // namespace

std::string overfull_receivers(const Outcome& outcome) {
  if (outcome.transfers() != nullptr) return "";
  return overfull_in_words(outcome.finish_ns,
                           [&](std::uint32_t rank) { return busiest_nic(outcome.record(), rank); });
}

std::string overfull_receivers(const LaunchOutcome& outcome) {
  return overfull_in_words(outcome.finish_ns,
                           [&](std::uint32_t rank) { return busiest_nic(outcome, rank); });
}

std::string unequal_sizes(const Outcome& outcome) {
  const Record& record = outcome.record();
  std::uint64_t receives = 0;
  OpId first;
  for (std::uint32_t rank = 0; rank < record.schedule().ranks().size(); ++rank) {
    for (std::uint32_t op = 0; op < record.schedule().ranks()[rank].ops.size(); ++op) {
      if (has_own_size(record, {rank, op})) continue;
      if (receives++ == 0) first = {rank, op};
    }
  }
  if (receives == 0) return "";
  return fmt::format(
      "{} than the message that arrives, whose size counts: {}, got {} bytes; see 'assay goal "
      "check'",
      core::counted(receives, "receive is for another size", "receives are for another size"),
      describe(record, first), record.message_bytes(first));
}

Table ends_table(const std::vector<std::int64_t>& finish_ns) {
  std::vector<double> ends;
  for (const std::int64_t end : finish_ns)
    ends.push_back(us(end));
  Table table{.name = "simulation",
              .title = "When the ranks are done",
              .columns = {{.name = "ranks"},
                          time_column("finish", "of the rank that ends last"),
                          time_column("mean finish"),
                          time_column("first finish", "of the rank that ends first")}};
  table.add_row({count(ends.size()), model::cell_of(core::maximum(ends)),
                 model::cell_of(core::mean(ends)), model::cell_of(core::minimum(ends))});
  return table;
}

Table overview(const Totals& totals) {
  std::vector<double> ends;
  for (const std::int64_t end : totals.finish_ns)
    ends.push_back(us(end));
  Table table{.name = "simulation",
              .title = "When the ranks are done",
              .columns = {{.name = "ranks"},
                          {.name = "operations"},
                          {.name = "messages"},
                          {.name = "events", .description = "operations and messages"},
                          time_column("finish", "of the rank that ends last"),
                          time_column("mean finish"),
                          time_column("first finish", "of the rank that ends first")}};
  table.add_row({count(ends.size()), count(totals.operations), count(totals.messages),
                 count(totals.operations + totals.messages), model::cell_of(core::maximum(ends)),
                 model::cell_of(core::mean(ends)), model::cell_of(core::minimum(ends))});
  return table;
}

namespace {

void add_link(const char* messages, const LogGops& link, bool has_latency, Table& table) {
  const double gap = link.gap_ns_per_byte;
  table.add_row({std::string(messages), has_latency ? Cell(link.latency_ns) : Cell(),
                 link.overhead_ns, link.gap_ns, gap, gap > 0 ? Cell(1 / gap) : Cell(),
                 link.overhead_ns_per_byte, link.rendezvous_bytes});
}

}  // namespace

Table parameters_table(const Options& options, const Fabric* fabric) {
  Table table{.name = "parameters",
              .title = "Parameters of messages",
              .columns = {{.name = "messages"},
                          {.name = "L", .unit = "ns"},
                          {.name = "o", .unit = "ns"},
                          {.name = "g", .unit = "ns"},
                          {.name = "G", .unit = "ns/byte"},
                          {.name = "1/G", .unit = "GB/s"},
                          {.name = "O", .unit = "ns/byte"},
                          {.name = "S", .unit = "bytes"}}};
  std::vector<std::string> replaced;
  if (fabric != nullptr) replaced = fabric->replaced();
  const auto has = [&](const char* name) {
    return std::find(replaced.begin(), replaced.end(), name) == replaced.end();
  };
  const bool contends = fabric != nullptr;
  const FabricParameters links =
      contends ? fabric->parameters() : FabricParameters{options.inter, options.intra};
  const auto& nodes = contends ? fabric->domain_of_rank() : options.node_of_rank;
  const std::size_t num_nodes = std::set(nodes.begin(), nodes.end()).size();
  const bool shares = num_nodes < nodes.size();
  const bool has_intra = links.intra && shares;
  if (num_nodes != 1 || !has_intra) add_link("between nodes", links.inter, has("L"), table);
  if (has_intra) add_link("within a node", *links.intra, has("intra-L"), table);
  if (!replaced.empty()) {
    const bool sums = !has("L") || !has("intra-L");
    table.notes.push_back(fmt::format("{} says {}{}", fabric->name(), core::join(replaced, ", "),
                                      sums ? ": L is the sum of the latencies on a way." : "."));
  }
  if (links.intra && options.node_of_rank.empty() && !shares) {
    table.notes.emplace_back("Each rank is a node of its own, because nothing says otherwise.");
  }
  return table;
}

std::string describe(Alone alone) {
  const std::string one = "One processor simulated all ranks, because ";
  switch (alone) {
    case Alone::kNo:
      break;
    case Alone::kSharedLinks:
      return one + "messages share links.";
    case Alone::kRendezvous:
      return one + "messages of more than S bytes wait for their receives.";
    case Alone::kNoTime:
      return one + "messages take no time.";
  }
  return "";
}

Table rank_table(const std::vector<std::int64_t>& finish_ns, std::size_t most) {
  std::vector<std::size_t> order(finish_ns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool all = most >= order.size();
  if (!all) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return finish_ns[a] > finish_ns[b]; });
    order.resize(most);
  }
  Table table{
      .name = "ranks",
      .title = all ? "When each rank is done" : "The ranks that are done last",
      .columns = {
          {.name = "rank"}, time_column("finish"), {.name = "before the last", .unit = "us"}}};
  const std::int64_t last =
      finish_ns.empty() ? 0 : *std::max_element(finish_ns.begin(), finish_ns.end());
  for (const std::size_t rank : order) {
    const std::int64_t end = finish_ns[rank];
    table.add_row({count(rank), us(end), us(last - end)});
  }
  return table;
}

Table critical_path_table(const Outcome& outcome, const CriticalPath& path) {
  Table table{.name = "critical_path",
              .title = "What the end hangs on: the time of the critical path",
              .columns = {{.name = "spent on"},
                          time_column("time"),
                          {.name = "share", .unit = "%"},
                          {.name = "segments"}}};
  const std::int64_t total =
      std::accumulate(path.total_ns.begin(), path.total_ns.end(), std::int64_t{0});
  for (std::size_t i = 0; i < kNumSpent; ++i) {
    const auto spent = static_cast<Spent>(i);
    if (spent == Spent::kContention && outcome.transfers() == nullptr) continue;
    const auto segments =
        std::count_if(path.segments.begin(), path.segments.end(),
                      [&](const Segment& segment) { return segment.spent == spent; });
    const double share = 100.0 * us(path.total_ns[i]) / us(std::max<std::int64_t>(total, 1));
    table.add_row(
        {std::string(name_of(spent)), us(path.total_ns[i]), share, std::int64_t{segments}});
  }
  table.notes.push_back(fmt::format("It goes through {} and {}.",
                                    core::counted(path.messages, "message"),
                                    core::counted(path.ranks.size(), "rank")));
  return table;
}

Table segment_table(const Outcome& outcome, const CriticalPath& path, std::size_t most) {
  Table table{.name = "critical_path_segments",
              .title = "The longest segments of the critical path",
              .columns = {{.name = "rank"},
                          {.name = "operation"},
                          {.name = "spent on"},
                          {.name = "start", .unit = "us"},
                          time_column("time"),
                          {.name = "what"}}};
  for (const Segment& segment : path.longest(most)) {
    table.add_row({count(segment.id.rank), count(segment.id.op),
                   std::string(name_of(segment.spent)), us(segment.start_ns),
                   us(segment.end_ns - segment.start_ns), describe(outcome.record(), segment.id)});
  }
  return table;
}

}  // namespace assay::simulate
