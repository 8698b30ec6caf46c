#include "model/schedule.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "model/schedule_writer.h"

namespace assay::model {
namespace {

core::Error bad_rank(std::uint32_t rank, std::string_view what) {
  return core::Error{fmt::format("rank {}: {}", rank, what)};
}

bool in_range(std::uint64_t first, std::uint64_t count, std::size_t size) {
  return first <= size && count <= size - first;
}

core::Status check_op(const RankView& view, std::size_t index, std::uint32_t rank) {
  const ScheduleOp& op = view.ops[index];
  const auto problem = [&](std::string_view what) {
    return bad_rank(rank, fmt::format("operation {}: {}", index, what));
  };
  if (op.kind < OpKind::kSend || op.kind > OpKind::kCalc) {
    return problem(fmt::format("unknown kind {}", static_cast<int>(op.kind)));
  }
  if (!in_range(op.first_finish_dependent, op.finish_dependents, view.dependents.size()) ||
      !in_range(op.first_start_dependent, op.start_dependents, view.dependents.size())) {
    return problem("its dependents lie outside of the rank's data");
  }
  return {};
}

// Fails unless the counts in the file match its edges; otherwise a simulation would never end, or
// would start an operation too early.
core::Status check_dependency_counts(const RankView& view, std::uint32_t rank) {
  std::vector<std::uint32_t> counts(view.ops.size());
  for (const ScheduleOp& op : view.ops) {
    for (const auto& list : {view.after_finish(op), view.after_start(op)}) {
      for (const PackedIndex& dependent : list) {
        if (dependent.value >= counts.size()) {
          return bad_rank(rank, fmt::format("a dependent {} is no operation of the {}",
                                            std::uint32_t{dependent.value}, counts.size()));
        }
        ++counts[dependent.value];
      }
    }
  }
  std::size_t roots = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != view.ops[i].dependencies) {
      return bad_rank(rank, fmt::format("operation {} names {} dependencies but has {}", i,
                                        std::uint32_t{view.ops[i].dependencies}, counts[i]));
    }
    if (counts[i] > 0) continue;
    if (roots >= view.roots.size() || view.roots[roots].value != i) {
      return bad_rank(rank, fmt::format("operation {} waits for nothing but is no root", i));
    }
    ++roots;
  }
  if (roots != view.roots.size()) return bad_rank(rank, "a root waits for another operation");
  return {};
}

core::Status check_peers(const std::vector<RankView>& ranks) {
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t i = 0; i < ranks[rank].ops.size(); ++i) {
      const ScheduleOp& op = ranks[rank].ops[i];
      const bool any = op.kind == OpKind::kReceive && op.peer == kAnyPeer;
      if (op.kind == OpKind::kCalc || any || op.peer < ranks.size()) continue;
      return bad_rank(rank, fmt::format("operation {}: there is no rank {} among {}", i,
                                        std::uint32_t{op.peer}, ranks.size()));
    }
  }
  return {};
}

}  // namespace

core::Result<RankView> view_rank(std::span<const char> bytes, std::uint32_t rank) {
  const std::size_t fixed = 2 * sizeof(PackedIndex);
  if (bytes.size() < fixed) return bad_rank(rank, "its data end before its counts");
  const auto* index = reinterpret_cast<const PackedIndex*>(bytes.data());
  const std::uint64_t num_ops = index[0].value;
  const std::uint64_t num_roots = index[1].value;
  const std::uint64_t needed =
      fixed + num_roots * sizeof(PackedIndex) + num_ops * sizeof(ScheduleOp);
  if (bytes.size() < needed) {
    return bad_rank(rank, fmt::format("{} operations need {} bytes, the file has {}", num_ops,
                                      needed, bytes.size()));
  }
  RankView view;
  view.roots = {index + 2, num_roots};
  const char* ops = bytes.data() + fixed + num_roots * sizeof(PackedIndex);
  view.ops = {reinterpret_cast<const ScheduleOp*>(ops), num_ops};
  view.dependents = {reinterpret_cast<const PackedIndex*>(bytes.data() + needed),
                     (bytes.size() - needed) / sizeof(PackedIndex)};
  for (std::size_t i = 0; i < view.ops.size(); ++i)
    ASSAY_TRY(check_op(view, i, rank));
  ASSAY_TRY(check_dependency_counts(view, rank));
  return view;
}

bool is_binary_schedule(std::string_view first_bytes) {
  std::uint64_t magic = 0;
  if (first_bytes.size() < sizeof(magic)) return false;
  std::memcpy(&magic, first_bytes.data(), sizeof(magic));
  return magic == kScheduleMagic || magic == kSpoiltScheduleMagic;
}

core::Result<Schedule> Schedule::parse(std::shared_ptr<const void> owner,
                                       std::span<const char> bytes,
                                       std::string_view name) {
  const auto failed = [&](std::string_view what) {
    return core::Error{fmt::format("{}: {}", name, what)};
  };
  ScheduleStart start;
  if (!is_binary_schedule({bytes.data(), bytes.size()})) {
    return failed("not a binary GOAL schedule");
  }
  if (bytes.size() < sizeof(start)) return failed("ends within its header");
  std::memcpy(&start, bytes.data(), sizeof(start));
  if (start.magic == kSpoiltScheduleMagic) {
    return failed("a simulator has worked on this file and spoilt it; make it again");
  }
  const std::size_t table = sizeof(start) + std::size_t{start.num_ranks} * sizeof(RankExtent);
  if (bytes.size() < table) return failed("ends within its table of ranks");

  Schedule schedule;
  schedule.owner_ = std::move(owner);
  schedule.max_cpu_ = start.max_cpu;
  schedule.max_nic_ = start.max_nic;
  for (std::uint32_t rank = 0; rank < start.num_ranks; ++rank) {
    RankExtent extent;
    std::memcpy(&extent, bytes.data() + sizeof(start) + rank * sizeof(extent), sizeof(extent));
    if (extent.end < extent.start ||
        !in_range(extent.start, extent.end - extent.start, bytes.size() - kOffsetOrigin)) {
      return failed(fmt::format("rank {} lies outside of the file: cut short?", rank));
    }
    auto view =
        view_rank(bytes.subspan(kOffsetOrigin + extent.start, extent.end - extent.start), rank);
    if (!view.ok()) return view.error().context(std::string(name));
    schedule.ranks_.push_back(view.value());
  }
  if (auto peers = check_peers(schedule.ranks_); !peers.ok()) {
    return peers.error().context(std::string(name));
  }
  return schedule;
}

core::Result<Schedule> Schedule::from_bytes(std::vector<char> bytes, std::string_view name) {
  auto owner = std::make_shared<const std::vector<char>>(std::move(bytes));
  const std::span<const char> all(owner->data(), owner->size());
  return parse(std::move(owner), all, name);
}

core::Result<Schedule> Schedule::from_file(core::MappedFile file, std::string_view name) {
  auto owner = std::make_shared<const core::MappedFile>(std::move(file));
  const std::string_view all = owner->bytes();
  return parse(std::move(owner), {all.data(), all.size()}, name);
}

core::Result<Schedule> Schedule::open(const std::filesystem::path& path) {
  return from_file(ASSAY_TRY(core::MappedFile::open(path)), path.string());
}

}  // namespace assay::model
