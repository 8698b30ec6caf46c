#include "trace/pipelines/spread.h"

#include <algorithm>
#include <string>
#include <utility>

#include "trace/pipelines/packed_part.h"
#include "trace/pipelines/prepare.h"

namespace assay::trace {
namespace {

namespace fs = std::filesystem;

enum class Order : std::uint8_t { kRead, kWrite };

core::Error not_understood() {
  return core::Error{"a message of another process is damaged: is it another version of assay?"};
}

template <class Take>
core::Status for_each_other(const core::ProcessGroup& processes, const Take& take) {
  for (int process = 1; process < processes.size(); ++process)
    ASSAY_TRY(take(process));
  return {};
}

void pack(const Keep& keep, core::Packer& packer) {
  for (const bool part :
       {keep.individual, keep.timelines, keep.overview, keep.communication, keep.works})
    packer.add(part);
}

Keep unpack_keep(core::Unpacker& unpacker) {
  Keep keep;
  for (bool* part :
       {&keep.individual, &keep.timelines, &keep.overview, &keep.communication, &keep.works})
    *part = unpacker.integer() != 0;
  return keep;
}

void pack_error(const core::Error& error, core::Packer& packer) {
  packer.add(false);
  packer.add(error.message);
}

// What a process that follows has between two orders.
class Follower {
 public:
  Follower(const Request& request, core::ProcessGroup& processes)
      : request_(request), processes_(processes) {}

  core::Result<std::string> carry_out(const std::string& order) {
    core::Unpacker unpacker(order);
    const auto kind = static_cast<Order>(unpacker.below(2));
    const std::string answer = kind == Order::kRead ? read(unpacker) : write(unpacker);
    if (!unpacker.done()) return not_understood();
    return answer;
  }

 private:
  std::string read(core::Unpacker& unpacker) {
    const Keep keep = unpack_keep(unpacker);
    const auto damage = static_cast<FileDamage>(unpacker.below(2));
    std::vector<RankFile> files(unpacker.integer<std::uint32_t>());
    std::vector<std::size_t> positions;
    for (std::size_t left = unpacker.count(); left > 0 && !unpacker.failed(); --left) {
      positions.push_back(unpacker.below(files.size()));
      RankFile file;
      if (unpacker.integer() != 0) file.rank = unpacker.integer<int>();
      file.path = unpacker.text();
      if (!unpacker.failed()) files[positions.back()] = std::move(file);
    }
    return unpacker.failed() ? "" : read(files, positions, keep, damage);
  }

  std::string read(std::span<const RankFile> files,
                   std::span<const std::size_t> positions,
                   const Keep& keep,
                   FileDamage damage) {
    core::Packer packer;
    books_.clear();
    const auto options = complete_options(request_);
    ReadParts parts(files.size());
    if (options.ok()) {
      core::Progress silent("", core::Progress::Show::kNever);
      const unsigned threads = request_.threads == 0 ? 1 : request_.threads;
      read_share(files, positions, {options.value(), keep, threads, &processes_, damage}, silent,
                 parts);
    }
    for (const std::size_t position : positions) {
      if (!parts[position]) continue;
      packer.add(position);
      add(*parts[position], keep, packer);
      parts[position].reset();
    }
    return packer.take();
  }

  void add(core::Result<RankPart>& part, const Keep& keep, core::Packer& packer) {
    if (!part.ok()) return pack_error(part.error(), packer);
    packer.add(true);
    trace::pack(part.value(), packer);
    if (keep.individual)
      books_.emplace_back(part.value().facts.rank, std::move(part.value().individual));
  }

  std::string write(core::Unpacker& unpacker) {
    const fs::path folder = unpacker.text();
    const auto names = static_cast<ReportNames>(unpacker.below(2));
    core::Packer packer;
    for (std::size_t left = unpacker.count(); left > 0 && !unpacker.failed(); --left)
      write(unpacker.integer<int>(), folder, names, packer);
    return packer.take();
  }

  void write(int rank, const fs::path& folder, ReportNames names, core::Packer& packer) {
    const auto own = std::find_if(books_.begin(), books_.end(),
                                  [&](const auto& book) { return book.first == rank; });
    if (own == books_.end()) return pack_error(not_understood(), packer);
    const auto written = write_individual_report(own->second, rank, request_, folder, names);
    if (!written.ok()) return pack_error(written.error(), packer);
    packer.add(true);
    packer.add(written.value().size());
    for (const fs::path& path : written.value())
      packer.add(path.string());
  }

  const Request& request_;
  core::ProcessGroup& processes_;
  std::vector<std::pair<int, model::Book>> books_;  // the individual reports of its ranks
};

core::Status unpack_parts(const std::string& answer, ReadParts& parts) {
  core::Unpacker unpacker(answer);
  while (!unpacker.at_end()) {
    const std::size_t position = unpacker.below(parts.size());
    const bool is_read = unpacker.integer() != 0;
    if (unpacker.failed()) return not_understood();
    if (is_read)
      parts[position].emplace(ASSAY_TRY(unpack_part(unpacker)));
    else
      parts[position].emplace(core::Error{unpacker.text()});
  }
  return unpacker.done() ? core::Status() : not_understood();
}

core::Result<std::vector<fs::path>> unpack_written(core::Unpacker& unpacker) {
  if (unpacker.integer() == 0) return core::Error{unpacker.text()};
  std::vector<fs::path> paths;
  for (std::size_t left = unpacker.count(); left > 0 && !unpacker.failed(); --left)
    paths.emplace_back(unpacker.text());
  return paths;
}

std::vector<std::size_t> ranks_read_by(int process, const ReducedRun& run) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < run.readers.size(); ++i)
    if (run.readers[i] == process) positions.push_back(i);
  return positions;
}

}  // namespace

int reader_of(std::size_t position, const core::ProcessGroup& processes) {
  return static_cast<int>(position % static_cast<std::size_t>(processes.size()));
}

core::Status send_shares(std::span<const RankFile> files,
                         const ShareWork& work,
                         core::ProcessGroup& processes) {
  std::vector<core::Packer> orders(static_cast<std::size_t>(processes.size()));
  std::vector<std::size_t> counts(orders.size());
  for (std::size_t i = 0; i < files.size(); ++i)
    ++counts[static_cast<std::size_t>(reader_of(i, processes))];
  for (std::size_t process = 0; process < orders.size(); ++process) {
    orders[process].add(static_cast<int>(Order::kRead));
    pack(work.keep, orders[process]);
    orders[process].add(static_cast<int>(work.damage));
    orders[process].add(files.size());
    orders[process].add(counts[process]);
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    core::Packer& order = orders[static_cast<std::size_t>(reader_of(i, processes))];
    order.add(i);
    order.add(files[i].rank.has_value());
    if (files[i].rank) order.add(*files[i].rank);
    order.add(files[i].path.string());
  }
  return for_each_other(processes, [&](int process) {
    return processes.send(process, orders[static_cast<std::size_t>(process)].take());
  });
}

core::Status receive_parts(core::ProcessGroup& processes, ReadParts& parts) {
  ASSAY_TRY(for_each_other(processes, [&](int process) -> core::Status {
    return unpack_parts(ASSAY_TRY(processes.receive(process)), parts);
  }));
  const bool all =
      std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.has_value(); });
  return all ? core::Status() : not_understood();
}

core::Status send_writing(const ReducedRun& run,
                          const fs::path& folder,
                          ReportNames names,
                          core::ProcessGroup& processes) {
  return for_each_other(processes, [&](int process) {
    const std::vector<std::size_t> positions = ranks_read_by(process, run);
    core::Packer order;
    order.add(static_cast<int>(Order::kWrite));
    order.add(folder.string());
    order.add(static_cast<int>(names));
    order.add(positions.size());
    for (const std::size_t i : positions)
      order.add(run.ranks[i].rank);
    return processes.send(process, order.take());
  });
}

core::Status receive_written(const ReducedRun& run,
                             core::ProcessGroup& processes,
                             WrittenReports& written) {
  return for_each_other(processes, [&](int process) -> core::Status {
    const std::string answer = ASSAY_TRY(processes.receive(process));
    core::Unpacker unpacker(answer);
    for (const std::size_t i : ranks_read_by(process, run))
      written[i] = unpack_written(unpacker);
    return unpacker.done() ? core::Status() : not_understood();
  });
}

core::Status follow(const Request& request, core::ProcessGroup& processes) {
  Follower follower(request, processes);
  while (true) {
    const std::string order = ASSAY_TRY(processes.receive(0));
    if (order.empty()) return {};
    ASSAY_TRY(processes.send(0, ASSAY_TRY(follower.carry_out(order))));
  }
}

void dismiss(core::ProcessGroup& processes) {
  for (int process = 1; process < processes.size(); ++process)
    static_cast<void>(processes.send(process, ""));
}

}  // namespace assay::trace
