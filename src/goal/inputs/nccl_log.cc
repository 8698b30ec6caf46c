#include "goal/inputs/nccl_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <string_view>

#include "goal/inputs/input_files.h"
#include "goal/inputs/nccl_log_line.h"

namespace assay::goal {
namespace {

// Reads an enumerator by its name, or by its number as NCCL before 2.24 logs it.
std::optional<model::NcclAlgorithm> algorithm_of(std::string_view word) {
  int number = 0;
  if (take_number(word, number)) {
    if (number < 0 || number > static_cast<int>(model::NcclAlgorithm::kPat)) return std::nullopt;
    return static_cast<model::NcclAlgorithm>(number);
  }
  return model::nccl_algorithm(word);
}

std::optional<model::NcclProtocol> protocol_of(std::string_view word) {
  int number = 0;
  if (take_number(word, number)) {
    if (number < 0 || number > static_cast<int>(model::NcclProtocol::kSimple)) return std::nullopt;
    return static_cast<model::NcclProtocol>(number);
  }
  return model::nccl_protocol(word);
}

// A communicator as one process logged it. NCCL identifies it by a pointer, which is valid in that
// process only.
struct ProcessCommunicator {
  std::string name = {};  // commId; empty until it was logged
  std::int32_t rank = -1;
  std::uint32_t num_ranks = 0;
  std::uint32_t num_nodes = 0;
  std::uint64_t p2p_chunk_bytes = 0;
  LoggedRank own = {};
  std::vector<LoggedChoice> choices = {};
};

class LogReader {
 public:
  explicit LogReader(model::Warnings& warnings) : warnings_(warnings) {}

  void add(std::string_view text, const std::string& file) {
    const std::optional<NcclLine> line = split_nccl_line(text);
    if (!line) return;
    file_ = &file;
    const std::string_view message = line->message;
    Thread& thread = thread_of(*line);
    if (take_version(message)) return;
    if (contains(message, " Bytes -> Algo ")) {
      add_choice(message, *line, thread);
    } else if (contains(message, ": opCount ")) {
      add_call(message, *line, thread);
    } else if (contains(message, "comm 0x")) {
      add_communicator(message, *line, thread);
    } else if (thread.current) {
      add_fact(message, *thread.current);
    }
  }

  NcclLog finish() {
    for (ProcessCommunicator& communicator : communicators_)
      merge(communicator);
    return std::move(log_);
  }

 private:
  // A logged call. The choice for it is logged at the end of its group.
  struct Call {
    model::NcclFunction function;
    std::uint64_t bytes;
    ProcessCommunicator* communicator;
  };

  struct Thread {
    ProcessCommunicator* current = nullptr;
    std::deque<Call> calls = {};
  };

  static std::string process_key(const NcclLine& line) {
    return fmt::format("{}:{}", line.host, line.process_id);
  }

  Thread& thread_of(const NcclLine& line) {
    return threads_[fmt::format("{}:{}", process_key(line), line.thread_id)];
  }

  bool take_version(std::string_view message) {
    constexpr std::string_view kKey = "NCCL version ";
    if (!message.starts_with(kKey)) return false;
    const std::string_view version = word_after(message, kKey);
    log_.nccl_version = version.substr(0, version.find('+'));
    return true;
  }

  ProcessCommunicator* by_pointer(std::string_view message, const NcclLine& line) {
    const auto found =
        by_pointer_.find({process_key(line), std::string(word_after(message, "comm "))});
    return found == by_pointer_.end() ? nullptr : found->second;
  }

  void add_communicator(std::string_view message, const NcclLine& line, Thread& thread) {
    std::int32_t rank = -1;
    std::uint32_t num_ranks = 0;
    if (!number_after(message, " rank ", rank) || contains(message, "Destroy")) return;
    if (!number_after(message, " nranks ", num_ranks)) number_after(message, " nRanks ", num_ranks);
    ProcessCommunicator* communicator = by_pointer(message, line);
    // NCCL reuses a pointer for a new communicator after the end of the old one.
    if (communicator == nullptr || contains(message, "Init START")) {
      communicator = &communicators_.emplace_back();
      by_pointer_[{process_key(line), std::string(word_after(message, "comm "))}] = communicator;
      communicator->own.host = line.host;
      communicator->own.process_id = line.process_id;
      communicator->own.device = line.device;
    }
    communicator->rank = rank;
    if (num_ranks > 0) communicator->num_ranks = num_ranks;
    number_after(message, " nNodes ", communicator->num_nodes);
    number_after(message, " localRank ", communicator->own.local_rank);
    number_after(message, " cudaDev ", communicator->own.device);
    const std::string_view id = word_after(message, " commId ");
    if (!id.empty()) communicator->name = id;
    if (id.empty() && contains(message, " parent ")) name_split(message, line, *communicator);
    thread.current = communicator;
  }

  // NCCL logs no id for the parts of a split communicator, but all ranks of a part log the same
  // parent, count and color.
  void name_split(std::string_view message,
                  const NcclLine& line,
                  ProcessCommunicator& communicator) {
    const auto parent =
        by_pointer_.find({process_key(line), std::string(word_after(message, " parent "))});
    if (parent == by_pointer_.end() || parent->second->name.empty()) return;
    communicator.name =
        fmt::format("{} split {} color {}", parent->second->name,
                    word_after(message, " splitCount "), word_after(message, " color "));
  }

  // A line without a pointer belongs to the communicator that its thread is making.
  static void add_fact(std::string_view message, ProcessCommunicator& communicator) {
    number_after(message, "P2P Chunksize set to ", communicator.p2p_chunk_bytes);
    if (message.starts_with("Ring ")) add_ring(message.substr(5), communicator);
    if (message.starts_with("Trees ")) add_trees(message.substr(6), communicator);
  }

  static model::ChannelLinks* links_of(std::uint32_t channel, ProcessCommunicator& communicator) {
    if (channel >= model::kMostNcclChannels) return nullptr;
    auto& channels = communicator.own.channels;
    if (channels.size() <= channel) channels.resize(channel + 1);
    return &channels[channel];
  }

  // Reads "05 : 3 -> 0 -> 1".
  static void add_ring(std::string_view text, ProcessCommunicator& communicator) {
    std::uint32_t channel = 0;
    std::int32_t previous = -1;
    std::int32_t own = -1;
    std::int32_t next = -1;
    if (!take_number(text, channel) || !take_text(text, " : ") || !take_number(text, previous) ||
        !take_text(text, " -> ") || !take_number(text, own) || !take_text(text, " -> ") ||
        !take_number(text, next)) {
      return;
    }
    model::ChannelLinks* links = links_of(channel, communicator);
    if (links == nullptr || own != communicator.rank) return;
    links->ring_previous = previous;
    links->ring_next = next;
  }

  // Reads "[0] 3/-1/-1->2->0 [1] 3/0/-1->2->-1".
  static void add_trees(std::string_view text, ProcessCommunicator& communicator) {
    while (take_text(text, "[")) {
      std::uint32_t channel = 0;
      std::array<std::int32_t, 3> down = {-1, -1, -1};
      std::int32_t own = -1;
      std::int32_t up = -1;
      if (!take_number(text, channel) || !take_text(text, "] ") || !take_number(text, down[0]) ||
          !take_text(text, "/") || !take_number(text, down[1]) || !take_text(text, "/") ||
          !take_number(text, down[2]) || !take_text(text, "->") || !take_number(text, own) ||
          !take_text(text, "->") || !take_number(text, up)) {
        return;
      }
      model::ChannelLinks* links = links_of(channel, communicator);
      if (links == nullptr) return;
      links->tree_down = down;
      links->tree_up = up;
      take_text(text, " ");
    }
  }

  // Reads "AllReduce: opCount 4 sendbuff .. count 1024 datatype 7 op 0 root 0 comm 0x.. ..".
  void add_call(std::string_view message, const NcclLine& line, Thread& thread) {
    constexpr std::size_t kMostWaiting = 4096;  // far above the calls of a group
    std::uint64_t count = 0;
    int type = 0;
    if (!number_after(message, " count ", count) || !number_after(message, " datatype ", type)) {
      return;
    }
    ProcessCommunicator* communicator = by_pointer(message, line);
    if (communicator == nullptr) return;
    const auto function = model::nccl_function(message.substr(0, message.find(':')));
    // NCCL logs no choice for sends, receives and the functions that it makes of them.
    if (!function || model::is_point_to_point(*function) ||
        *function == model::NcclFunction::kAllToAll) {
      return;
    }
    thread.calls.push_back({*function, count * model::nccl_element_bytes(type), communicator});
    if (thread.calls.size() > kMostWaiting) thread.calls.pop_front();
  }

  // Reads "AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..23}" or, before NCCL
  // 2.24, "1024 Bytes -> Algo 1 proto 0 time 12.3", without the function's name.
  void add_choice(std::string_view message, const NcclLine& line, Thread& thread) {
    LoggedChoice choice;
    const std::size_t colon = message.find(": ");
    const bool named = colon != std::string_view::npos;
    if (named) {
      const auto function = model::nccl_function(message.substr(0, colon));
      if (!function) return;
      choice.function = *function;
    }
    if (!read_choice(named ? message.substr(colon + 2) : message, choice)) return;
    const auto call = std::find_if(thread.calls.begin(), thread.calls.end(), [&](const Call& c) {
      return c.bytes == choice.bytes && (!named || c.function == choice.function);
    });
    ProcessCommunicator* communicator = named ? only_rank_0_of(line) : nullptr;
    if (call != thread.calls.end()) {
      communicator = call->communicator;
      choice.function = call->function;
      thread.calls.erase(call);
    }
    if (communicator == nullptr && named) {
      log_.untied.push_back({std::string(line.host), line.process_id, choice});
      return;
    }
    if (communicator == nullptr) {
      warnings_.add("choices of an algorithm whose communicator the NCCL log does not tell",
                    "left out (NCCL_DEBUG_SUBSYS needs COLL beside TUNING)", *file_);
      return;
    }
    communicator->choices.push_back(choice);
  }

  // Reads "1024 Bytes -> Algo RING proto LL .."; returns false when the line is incomplete.
  static bool read_choice(std::string_view text, LoggedChoice& choice) {
    const auto algorithm = algorithm_of(word_after(text, " Algo "));
    const auto protocol = protocol_of(word_after(text, " proto "));
    if (!take_number(text, choice.bytes) || !algorithm || !protocol) return false;
    choice.algorithm = *algorithm;
    choice.protocol = *protocol;
    constexpr std::string_view kRange = "={";
    if (const std::size_t range = text.find(kRange); range != std::string_view::npos) {
      text.remove_prefix(range + kRange.size());
      return take_number(text, choice.first_channel) && take_text(text, "..") &&
             take_number(text, choice.last_channel);
    }
    return true;
  }

  // Returns the only communicator in which this process is rank 0, because only rank 0 logs; null
  // when there are several.
  ProcessCommunicator* only_rank_0_of(const NcclLine& line) {
    ProcessCommunicator* only = nullptr;
    for (ProcessCommunicator& communicator : communicators_) {
      if (communicator.own.host != line.host || communicator.own.process_id != line.process_id ||
          communicator.rank != 0) {
        continue;
      }
      if (only != nullptr) return nullptr;
      only = &communicator;
    }
    return only;
  }

  void merge(ProcessCommunicator& from) {
    if (from.name.empty()) {
      warnings_.add("communicators whose id the NCCL log does not tell", "left out",
                    fmt::format("rank {} of process {} on {}", from.rank, from.own.process_id,
                                from.own.host));
      return;
    }
    const auto same_name = [&](const LoggedCommunicator& c) { return c.name == from.name; };
    auto found = std::find_if(log_.communicators.begin(), log_.communicators.end(), same_name);
    if (found == log_.communicators.end()) {
      log_.communicators.push_back({.name = from.name});
      found = std::prev(log_.communicators.end());
    }
    found->num_ranks = std::max(found->num_ranks, from.num_ranks);
    found->num_nodes = std::max(found->num_nodes, from.num_nodes);
    found->p2p_chunk_bytes = std::max(found->p2p_chunk_bytes, from.p2p_chunk_bytes);
    found->ranks.emplace(from.rank, std::move(from.own));
    std::move(from.choices.begin(), from.choices.end(), std::back_inserter(found->choices));
  }

  model::Warnings& warnings_;
  const std::string* file_ = nullptr;
  NcclLog log_;
  std::deque<ProcessCommunicator> communicators_;  // stable addresses
  std::map<std::pair<std::string, std::string>, ProcessCommunicator*> by_pointer_;
  std::map<std::string, Thread> threads_;
};

}  // namespace

core::Result<NcclLog> read_nccl_logs(const std::vector<std::filesystem::path>& files,
                                     model::Warnings& warnings) {
  LogReader reader(warnings);
  for (const std::filesystem::path& file : files) {
    const std::string name = file.string();
    bool is_log = false;
    ASSAY_TRY(for_each_line(file, [&](std::string_view line) {
      is_log = is_log || contains(line, kNcclMark);
      reader.add(line, name);
    }));
    if (!is_log) warnings.add("logs without a line of NCCL", "they tell nothing", name);
  }
  return reader.finish();
}

core::Result<NcclLog> read_nccl_log(core::ByteSource& log,
                                    const std::string& name,
                                    model::Warnings& warnings) {
  LogReader reader(warnings);
  ASSAY_TRY(for_each_line(log, name, [&](std::string_view line) { reader.add(line, name); }));
  return reader.finish();
}

bool is_nccl_log(const std::filesystem::path& file) {
  constexpr std::size_t kLookedAtBytes = std::size_t{1} << 16U;
  const std::string extension = file.extension().string();
  if (extension != ".log" && extension != ".out" && extension != ".txt") return false;
  return contains(first_bytes(file, kLookedAtBytes), kNcclMark);
}

}  // namespace assay::goal
