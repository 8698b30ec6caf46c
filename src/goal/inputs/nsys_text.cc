#include "goal/inputs/nsys_text.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace assay::goal {
namespace {

using model::NcclFunction;

// Walks forward through the fields of a text. A field that is absent does not move it.
class Fields {
 public:
  explicit Fields(std::string_view rest) : rest_(rest) {}

  // Reads the number after the next occurrence of the key: decimal, 0x hexadecimal or "(nil)".
  template <class Integer>
  bool take(std::string_view key, Integer& value) {
    // Usually the key follows at once, and a search would cost more than all else here.
    const std::size_t found = rest_.starts_with(key) ? 0 : rest_.find(key);
    if (found == std::string_view::npos) return false;
    std::string_view number = rest_.substr(found + key.size());
    if (!number_at_front(number, value)) return false;
    rest_ = number;
    return true;
  }

  // Reads an enumerator by its number; returns false for a number above the last one.
  template <class Enum>
  bool take_enum(std::string_view key, Enum last, Enum& value) {
    int number = 0;
    if (!take(key, number) || number < 0 || number > static_cast<int>(last)) return false;
    value = static_cast<Enum>(number);
    return true;
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  template <class Integer>
  static bool number_at_front(std::string_view& text, Integer& value) {
    if (text.starts_with("(nil)")) {
      value = 0;
      text.remove_prefix(5);
      return true;
    }
    const bool hexadecimal = text.starts_with("0x");
    if (hexadecimal) text.remove_prefix(2);
    const char* last = text.data() + text.size();
    const auto [end, error] = hexadecimal ? std::from_chars(text.data(), last, value, 16)
                                          : std::from_chars(text.data(), last, value);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  }

  std::string_view rest_;
};

NvtxText when(bool complete, NvtxText text, NvtxKind kind) {
  text.kind = complete ? kind : NvtxKind::kOther;
  return text;
}

bool take_process(Fields& fields, NvtxText& text) {
  return fields.take("pid ", text.process_id);
}

NvtxText read_ring(Fields fields, NvtxText text) {
  const bool complete = fields.take(" [", text.channel) &&
                        fields.take("] ", text.links.ring_previous) &&
                        fields.take("->", text.rank) && fields.take("->", text.links.ring_next) &&
                        take_process(fields, text);
  return when(complete, text, NvtxKind::kRing);
}

NvtxText read_tree(Fields fields, NvtxText text) {
  auto& down = text.links.tree_down;
  const bool complete = fields.take(" [", text.channel) && fields.take("] ", down[0]) &&
                        fields.take("/", down[1]) && fields.take("/", down[2]) &&
                        fields.take("->", text.rank) && fields.take("->", text.links.tree_up) &&
                        take_process(fields, text);
  return when(complete, text, NvtxKind::kTree);
}

NvtxText read_communicator(std::string_view whole) {
  NvtxText text;
  Fields fields(whole);
  if (!fields.take("commHash ", text.communicator_hash)) return text;
  if (fields.rest().starts_with(" Rings")) return read_ring(fields, text);
  if (fields.rest().starts_with(" Trees")) return read_tree(fields, text);
  fields.take(" commId ", text.communicator_id);
  const bool ranks = fields.take(" rank ", text.rank) && fields.take(" nranks ", text.num_ranks);
  if (text.communicator_id == 0) fields.take(" ncclUniqueIdHash ", text.communicator_id);
  return when(ranks && take_process(fields, text), text, NvtxKind::kCommunicator);
}

std::optional<NcclFunction> called_function(std::string_view name) {
  if (name == "Bcast") return NcclFunction::kBroadcast;
  return model::nccl_function(name);
}

NvtxText read_call(std::string_view name, Fields fields) {
  NvtxText text;
  const std::optional<NcclFunction> function = called_function(name);
  if (!function) return text;
  text.function = *function;
  const bool complete =
      fields.take("commHash ", text.communicator_hash) && fields.take(" stream ", text.stream) &&
      fields.take(" data_size ", text.bytes) && fields.take(" type_size ", text.element_bytes);
  if (*function == NcclFunction::kSend) {
    fields.take(" receiver_rank ", text.peer);
  } else if (*function == NcclFunction::kRecv) {
    fields.take(" sender_rank ", text.peer);
  } else {
    fields.take(" root ", text.root);
  }
  return when(complete && take_process(fields, text), text, NvtxKind::kCall);
}

NvtxText read_api(std::string_view whole) {
  constexpr std::size_t kPrefix = 4;  // "nccl"
  const std::size_t end = whole.find("(): ");
  if (end == std::string_view::npos) return {};
  const std::string_view name = whole.substr(kPrefix, end - kPrefix);
  Fields fields(whole.substr(end + 3));
  NvtxText text;
  NvtxKind kind = NvtxKind::kOther;
  if (name == "GroupStart") kind = NvtxKind::kGroupStart;
  if (name == "GroupEnd") kind = NvtxKind::kGroupEnd;
  if (name == "LaunchKernel") kind = NvtxKind::kLaunch;
  if (kind == NvtxKind::kOther) return read_call(name, fields);
  return when(take_process(fields, text), text, kind);
}

NvtxText read_collective(std::string_view whole) {
  NvtxText text;
  Fields fields(whole);
  const bool complete =
      fields.take_enum("collType ", NcclFunction::kGather, text.function) &&
      fields.take(" root ", text.root) &&
      fields.take_enum(" algo ", model::NcclAlgorithm::kPat, text.algorithm) &&
      fields.take_enum(" proto ", model::NcclProtocol::kSimple, text.protocol) &&
      fields.take(" commHash ", text.communicator_hash) && fields.take(" stream ", text.stream) &&
      fields.take(" data_size ", text.bytes) && fields.take(" type_size ", text.element_bytes);
  fields.take(" chunkSteps ", text.chunk_steps);
  fields.take(" sliceSteps ", text.slice_steps);
  fields.take(" stepSize ", text.step_bytes);
  return when(complete && take_process(fields, text), text, NvtxKind::kCollective);
}

NvtxText read_collective_part(std::string_view whole) {
  NvtxText text;
  Fields fields(whole);
  const bool complete = fields.take(" count ", text.count) &&
                        fields.take(" chunkCount ", text.chunk_count) &&
                        fields.take(" workCount ", text.work_count) &&
                        fields.take(" lastChunkCount ", text.last_chunk_count);
  fields.take(" workOffset ", text.work_offset);
  fields.take(" sendbuff ", text.send_buffer);
  fields.take(" recvbuff ", text.receive_buffer);
  return when(complete && take_process(fields, text), text, NvtxKind::kCollectivePart);
}

NvtxText read_point_to_point_part(std::string_view whole) {
  constexpr int kSendType = 1;
  NvtxText text;
  Fields fields(whole);
  int type = 0;
  const bool complete = fields.take("Bytes ", text.bytes) && fields.take(" p2pType ", type) &&
                        fields.take(" peer ", text.peer) &&
                        fields.take_enum(" proto ", model::NcclProtocol::kSimple, text.protocol) &&
                        fields.take(" chunkSize ", text.chunk_count) && take_process(fields, text);
  text.function = type == kSendType ? NcclFunction::kSend : NcclFunction::kRecv;
  return when(complete, text, NvtxKind::kPointToPointPart);
}

NvtxText read_window(std::string_view whole) {
  NvtxText text;
  Fields fields(whole);
  const bool start = whole.starts_with("nsys profiling start");
  return when(fields.take("pid: ", text.process_id), text,
              start ? NvtxKind::kWindowStart : NvtxKind::kWindowStop);
}

using Read = NvtxText (*)(std::string_view);

struct Beginning {
  std::string_view text;
  Read read;
};

constexpr std::array<Beginning, 7> kBeginnings = {{
    {"nWarps ", read_collective_part},
    {"nccl", read_api},
    {"collType ", read_collective},
    {"Bytes ", read_point_to_point_part},
    {"commHash ", read_communicator},
    {"Init START commHash ", read_communicator},
    {"nsys profiling st", read_window},
}};

}  // namespace

bool may_be_nccl_text(std::string_view text) {
  for (const Beginning& beginning : kBeginnings) {
    if (text.starts_with(beginning.text)) return true;
  }
  return false;
}

NvtxText read_nvtx_text(std::string_view text) {
  for (const Beginning& beginning : kBeginnings) {
    if (text.starts_with(beginning.text)) return beginning.read(text);
  }
  return {};
}

}  // namespace assay::goal
