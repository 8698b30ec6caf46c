#include "plan/schedule/request_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/json_fields.h"

namespace assay::plan {
namespace {

namespace fields = core::fields;

// Milliseconds; 30,000 years.
constexpr double kLatest = 1e15;
constexpr double kSlowest = 1e-6;

// Names of pieces in the order in which they come: those of a trace may be any number.
class PieceNames {
 public:
  std::uint64_t of(std::uint64_t hash) {
    return names_.try_emplace(hash, names_.size()).first->second;
  }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> names_;
};

const char* present_name(const fields::json& object, const char* name, const char* other) {
  return fields::find(object, name) == nullptr && fields::find(object, other) != nullptr ? other
                                                                                         : name;
}

core::Status add_pieces(const fields::json& object,
                        PieceNames& names,
                        Request& request,
                        Workload& workload) {
  const fields::json* hashes = fields::find(object, "hash_ids");
  request.first_piece = workload.pieces.size();
  if (hashes == nullptr) return {};
  if (!hashes->is_array()) return core::Error{"'hash_ids' is not an array"};
  for (const fields::json& hash : *hashes) {
    if (!hash.is_number_integer())
      return core::Error{"'hash_ids' holds something that is not a whole number"};
    workload.pieces.push_back(names.of(hash.is_number_unsigned()
                                           ? hash.get<std::uint64_t>()
                                           : static_cast<std::uint64_t>(hash.get<std::int64_t>())));
    ++request.pieces;
  }
  return {};
}

core::Status add_request(std::string_view line, PieceNames& names, Workload& workload) {
  const fields::json object = ASSAY_TRY(fields::object_of_line(line));
  Request request;
  request.arrival_ms =
      ASSAY_TRY(fields::field<double>(object, present_name(object, "timestamp", "created_time")));
  request.prompt_tokens = ASSAY_TRY(
      fields::field<std::int64_t>(object, present_name(object, "input_length", "input_tokens")));
  request.output_tokens = ASSAY_TRY(
      fields::field<std::int64_t>(object, present_name(object, "output_length", "output_tokens")));
  if (std::abs(request.arrival_ms) > kLatest)
    return core::Error{fmt::format("a time of {} ms", request.arrival_ms)};
  if (request.prompt_tokens < 1 || request.output_tokens < 1)
    return core::Error{fmt::format("{} prompt and {} output tokens: at least one of each is needed",
                                   request.prompt_tokens, request.output_tokens)};
  ASSAY_TRY(add_pieces(object, names, request, workload));
  workload.requests.push_back(request);
  return {};
}

// Time begins with the first request.
void sort_by_arrival(Workload& workload, double speed) {
  auto& requests = workload.requests;
  std::stable_sort(requests.begin(), requests.end(),
                   [](const Request& a, const Request& b) { return a.arrival_ms < b.arrival_ms; });
  const double begin = requests.front().arrival_ms;
  for (Request& request : requests)
    request.arrival_ms = (request.arrival_ms - begin) / speed;
}

}  // namespace

core::Result<Workload> parse_request_trace(std::string_view lines,
                                           const std::string& name,
                                           const RequestTraceOptions& options) {
  if (options.tokens_of_hash < 1)
    return core::Error{fmt::format("a hash for {} tokens: it must stand for at least one",
                                   options.tokens_of_hash)};
  if (!(options.speed >= kSlowest) || !std::isfinite(options.speed))
    return core::Error{
        fmt::format("arrivals {} times as fast: say a number above {}", options.speed, kSlowest)};
  Workload workload{.piece_tokens = options.tokens_of_hash};
  PieceNames names;
  std::int64_t number = 0;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (const core::Status added = add_request(line, names, workload); !added.ok())
      return added.error().context(fmt::format("{}, line {}", name, number));
  }
  if (workload.requests.empty()) return core::Error{fmt::format("{} has no requests", name)};
  sort_by_arrival(workload, options.speed);
  return workload;
}

}  // namespace assay::plan
