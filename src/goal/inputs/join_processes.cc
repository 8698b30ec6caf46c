#include "goal/inputs/join_processes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "goal/inputs/links.h"

namespace assay::goal {
namespace {

using Processes = std::vector<ProcessRecording>;

constexpr std::uint32_t kMostRanks = 1U << 17U;  // only a damaged recording has more

std::string_view digits_at(std::string_view text, std::size_t position) {
  std::size_t end = position;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0)
    ++end;
  std::string_view digits = text.substr(position, end - position);
  while (digits.size() > 1 && digits.front() == '0')
    digits.remove_prefix(1);
  return digits;
}

std::size_t after_digits(std::string_view text, std::size_t position) {
  while (position < text.size() && std::isdigit(static_cast<unsigned char>(text[position])) != 0)
    ++position;
  return position;
}

std::string place_of(const ProcessRecording& process) {
  return fmt::format("process {} of {} ({})", process.gpu.process_id, process.gpu.node,
                     process.file);
}

// Identifies a process. Node and process id do not suffice, because containers number their
// processes alike.
std::string identity(const ProcessRecording& process) {
  std::string text = fmt::format("{}/{}", process.gpu.node, process.gpu.process_id);
  for (const CommunicatorView& view : process.communicators) {
    text += fmt::format("/{}:{}", view.name, view.rank);
  }
  return text;
}

void drop_repeated(Processes& processes, model::Warnings& warnings) {
  std::set<std::string> seen;
  const auto repeated = [&](const ProcessRecording& process) {
    if (seen.insert(identity(process)).second) return false;
    warnings.add("a process was recorded twice", "its first recording counts", place_of(process));
    return true;
  };
  processes.erase(std::remove_if(processes.begin(), processes.end(), repeated), processes.end());
}

// Returns the communicator with most ranks; of several, the one whose name comes first.
std::string largest_communicator(const Processes& processes) {
  std::map<std::string, std::uint32_t> sizes;
  for (const ProcessRecording& process : processes) {
    for (const CommunicatorView& view : process.communicators) {
      std::uint32_t& size = sizes[view.name];
      size = std::max(size, view.num_ranks);
    }
  }
  const auto largest = std::max_element(
      sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == sizes.end() ? "" : largest->first;
}

// Returns -1 when the process is not in the communicator or does not know its rank.
std::int32_t rank_in(const ProcessRecording& process, const std::string& communicator) {
  for (const CommunicatorView& view : process.communicators) {
    if (view.name == communicator && view.rank >= 0) return view.rank;
  }
  return -1;
}

// Returns the nodes on which all processes have a rank in the communicator.
std::set<std::string> covered_nodes(const Processes& processes, const std::string& communicator) {
  std::set<std::string> covered;
  for (const ProcessRecording& process : processes)
    covered.insert(process.gpu.node);
  for (const ProcessRecording& process : processes) {
    if (rank_in(process, communicator) < 0) covered.erase(process.gpu.node);
  }
  return covered;
}

void sort_processes(Processes& processes) {
  const std::string world = largest_communicator(processes);
  const std::set<std::string> ranked = covered_nodes(processes, world);
  const auto key = [&](const ProcessRecording& process) {
    const bool by_rank = ranked.count(process.gpu.node) > 0;
    return std::tuple(by_rank ? rank_in(process, world) : 0, process.gpu.device,
                      process.gpu.process_id);
  };
  std::stable_sort(processes.begin(), processes.end(),
                   [&](const ProcessRecording& a, const ProcessRecording& b) {
                     if (a.gpu.node != b.gpu.node) return less_by_number(a.gpu.node, b.gpu.node);
                     return key(a) < key(b);
                   });
}

// A communicator while its ranks are collected.
struct Gathered {
  struct Member {
    std::uint32_t gpu;
    const CommunicatorView* view;
  };

  std::vector<Member> members = {};
  std::uint32_t num_ranks = 0;           // as the members say
  std::uint32_t highest_named = 0;       // the highest rank that is named as a root or peer, plus 1
  std::vector<std::uint32_t> gpus = {};  // by rank
};

class Joiner {
 public:
  explicit Joiner(Processes processes) : processes_(std::move(processes)) {}

  model::Job join() {
    drop_repeated(processes_, job_.warnings);
    sort_processes(processes_);
    gather();
    for (std::size_t i = 0; i < gathered_.size(); ++i)
      make_communicator(i);
    for (ProcessRecording& process : processes_)
      drop_impossible(process);
    for (ProcessRecording& process : processes_) {
      job_.matches.by_correlation += process.matches.by_correlation;
      job_.matches.by_order += process.matches.by_order;
      job_.matches.by_time += process.matches.by_time;
      job_.warnings.merge(process.warnings);
      job_.gpus.push_back(std::move(process.gpu));
    }
    return std::move(job_);
  }

 private:
  void gather() {
    for (std::uint32_t gpu = 0; gpu < processes_.size(); ++gpu) {
      ProcessRecording& process = processes_[gpu];
      std::vector<std::uint32_t> index_of;
      for (const CommunicatorView& view : process.communicators) {
        const std::uint32_t index = index_of_name(view.name);
        index_of.push_back(index);
        gathered_[index].members.push_back({gpu, &view});
        gathered_[index].num_ranks = std::max(gathered_[index].num_ranks, view.num_ranks);
      }
      for (model::Operation& operation : process.gpu.operations) {
        operation.communicator = index_of[operation.communicator];
        Gathered& used = gathered_[operation.communicator];
        const std::int64_t named = std::max<std::int64_t>(operation.root, operation.peer) + 1;
        used.highest_named = std::max(used.highest_named,
                                      static_cast<std::uint32_t>(std::max<std::int64_t>(named, 0)));
      }
    }
  }

  std::uint32_t index_of_name(const std::string& name) {
    const auto [found, added] = index_of_name_.emplace(name, gathered_.size());
    if (added) {
      gathered_.emplace_back();
      job_.communicators.push_back({.name = name, .gpus = {}, .channels = {}});
    }
    return found->second;
  }

  void make_communicator(std::size_t index) {
    Gathered& gathered = gathered_[index];
    model::Communicator& communicator = job_.communicators[index];
    const auto num_members = static_cast<std::uint32_t>(gathered.members.size());
    if (gathered.num_ranks == 0) {
      job_.warnings.add("a communicator's making was not recorded",
                        "its ranks are the GPUs that used it, by node and process id",
                        communicator.name);
      gathered.num_ranks = std::max(num_members, gathered.highest_named);
    }
    if (gathered.num_ranks > kMostRanks) {
      job_.warnings.add("communicators of more ranks than any job has",
                        "only the GPUs that used it count",
                        fmt::format("{}: {} ranks", communicator.name, gathered.num_ranks));
      gathered.num_ranks = num_members;
    }
    communicator.gpus.assign(std::max(gathered.num_ranks, 1U), model::kNoGpu);
    place_known(gathered, communicator);
    place_unknown(gathered, communicator);
    set_channels(communicator);
    const auto missing =
        std::count(communicator.gpus.begin(), communicator.gpus.end(), model::kNoGpu);
    if (missing > 0) {
      job_.warnings.add(
          "ranks of a communicator are not among the recordings", "they have no GPU",
          fmt::format("{} of the {} of {}", missing, communicator.gpus.size(), communicator.name),
          missing);
    }
  }

  // Later stages rely on every peer and root being a rank of the communicator.
  void drop_impossible(ProcessRecording& process) {
    auto& operations = process.gpu.operations;
    const auto impossible = [&](const model::Operation& operation) {
      const std::size_t num_ranks = job_.communicators[operation.communicator].gpus.size();
      const auto outside = [&](std::int32_t rank) {
        return rank < -1 || (rank >= 0 && static_cast<std::size_t>(rank) >= num_ranks);
      };
      const bool no_peer = model::is_point_to_point(operation.function) && operation.peer < 0;
      return no_peer || outside(operation.peer) || outside(operation.root);
    };
    const auto kept = std::remove_if(operations.begin(), operations.end(), impossible);
    if (kept == operations.end()) return;
    job_.warnings.add("operations that name a rank which their communicator lacks", "left out",
                      place_of(process), operations.end() - kept);
    operations.erase(kept, operations.end());
  }

  void place_known(const Gathered& gathered, model::Communicator& communicator) {
    for (const auto& [gpu, view] : gathered.members) {
      if (view->rank < 0) continue;
      const auto rank = static_cast<std::size_t>(view->rank);
      if (rank < communicator.gpus.size() && communicator.gpus[rank] == model::kNoGpu) {
        communicator.gpus[rank] = gpu;
      } else {
        job_.warnings.add(
            "two processes say they are the same rank of a communicator", "the first one counts",
            fmt::format("rank {} of {}: {}", rank, communicator.name, place_of(processes_[gpu])));
      }
    }
  }

  void place_unknown(const Gathered& gathered, model::Communicator& communicator) {
    for (const auto& [gpu, view] : gathered.members) {
      if (view->rank >= 0) continue;
      const auto free =
          std::find(communicator.gpus.begin(), communicator.gpus.end(), model::kNoGpu);
      if (free != communicator.gpus.end()) *free = gpu;
    }
  }

  void set_channels(model::Communicator& communicator) {
    for (std::uint32_t rank = 0; rank < communicator.gpus.size(); ++rank) {
      const std::uint32_t gpu = communicator.gpus[rank];
      if (gpu == model::kNoGpu) continue;
      for (const CommunicatorView& view : processes_[gpu].communicators) {
        if (view.name == communicator.name) set_links(communicator, rank, view.channels);
      }
    }
    const std::uint32_t incomplete = complete_links(communicator);
    if (incomplete > 0) {
      job_.warnings.add("ranks without neighbours in a recorded ring", "left without",
                        communicator.name, incomplete);
    }
  }

  Processes processes_;
  model::Job job_;
  std::vector<Gathered> gathered_;  // parallel to job_.communicators
  std::map<std::string, std::uint32_t> index_of_name_;
};

}  // namespace

bool less_by_number(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const std::string_view x = digits_at(a, i);
    const std::string_view y = digits_at(b, j);
    if (!x.empty() && !y.empty()) {
      if (x != y) return std::pair(x.size(), x) < std::pair(y.size(), y);
      i = after_digits(a, i);
      j = after_digits(b, j);
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;
}

model::Job join_processes(std::vector<ProcessRecording> processes) {
  return Joiner(std::move(processes)).join();
}

}  // namespace assay::goal
