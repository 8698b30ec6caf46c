#include "goal/inputs/nccl_log_line.h"

namespace assay::goal {

std::optional<NcclLine> split_nccl_line(std::string_view text) {
  constexpr std::string_view kMark = " NCCL INFO ";
  const std::size_t mark = text.find(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  NcclLine line;
  line.message = text.substr(mark + kMark.size());
  if (!line.message.empty() && line.message.back() == '\r') line.message.remove_suffix(1);
  std::string_view prefix = text.substr(0, mark);
  const std::size_t bracket = prefix.rfind(" [");
  if (bracket == std::string_view::npos) return std::nullopt;
  std::string_view device = prefix.substr(bracket + 2);
  take_number(device, line.device);
  prefix = prefix.substr(0, bracket);
  prefix.remove_prefix(prefix.rfind(' ') + 1);  // npos + 1 is 0
  const std::size_t first = prefix.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  line.host = prefix.substr(0, first);
  prefix.remove_prefix(first + 1);
  if (!take_number(prefix, line.process_id) || !take_text(prefix, ":") ||
      !take_number(prefix, line.thread_id)) {
    return std::nullopt;
  }
  return line;
}

}  // namespace assay::goal
