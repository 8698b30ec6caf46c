#include "plan/schedule/request_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/json_fields.h"
#include "plan/schedule/conversations.h"

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

core::Status check_time(double ms) {
  if (std::abs(ms) > kLatest) return core::Error{fmt::format("a time of {} ms", ms)};
  return {};
}

// `what` names the first of both: of a turn it is what the turn adds to the prompt.
core::Status check_tokens(const char* what, std::int64_t tokens, std::int64_t output) {
  const auto is_sound = [](std::int64_t count) { return count >= 1 && count <= kMostTokens; };
  if (is_sound(tokens) && is_sound(output)) return {};
  return core::Error{
      fmt::format("{} {} and {} output tokens: at least one of each is needed, and at most {}",
                  tokens, what, output, kMostTokens)};
}

core::Status add_request(const fields::json& object, PieceNames& names, Workload& workload) {
  Request request;
  request.arrival_ms =
      ASSAY_TRY(fields::field<double>(object, present_name(object, "timestamp", "created_time")));
  request.prompt_tokens = ASSAY_TRY(
      fields::field<std::int64_t>(object, present_name(object, "input_length", "input_tokens")));
  request.output_tokens = ASSAY_TRY(
      fields::field<std::int64_t>(object, present_name(object, "output_length", "output_tokens")));
  ASSAY_TRY(check_time(request.arrival_ms));
  ASSAY_TRY(check_tokens("prompt", request.prompt_tokens, request.output_tokens));
  ASSAY_TRY(add_pieces(object, names, request, workload));
  workload.requests.push_back(request);
  return {};
}

// Conversations of a trace: lines with one session_id are its turns, in their order.
class Conversations {
 public:
  [[nodiscard]] bool empty() const { return sessions_.empty(); }

  core::Status add_turn(const fields::json& object) {
    const fields::json& id = *fields::find(object, "session_id");
    if (!id.is_string() && !id.is_number_integer())
      return core::Error{"'session_id' is neither a text nor a whole number"};
    if (fields::find(object, "hash_ids") != nullptr)
      return core::Error{
          "a turn of a conversation has 'hash_ids': its prompt is what was said before it and "
          "input_length new tokens"};
    const auto [known, is_new] = places_.try_emplace(id.dump(), sessions_.size());
    if (is_new) sessions_.emplace_back();
    Session& session = sessions_[known->second];
    SaidTurn said;
    said.new_tokens = ASSAY_TRY(
        fields::field<std::int64_t>(object, present_name(object, "input_length", "input_tokens")));
    said.output_tokens = ASSAY_TRY(fields::field<std::int64_t>(
        object, present_name(object, "output_length", "output_tokens")));
    ASSAY_TRY(check_tokens("new", said.new_tokens, said.output_tokens));
    const char* time = present_name(object, "timestamp", "created_time");
    if (fields::find(object, time) != nullptr) {
      if (!is_new)
        return core::Error{
            fmt::format("'{}' is of the first turn of a session: later ones come 'delay' ms after "
                        "the answer before them",
                        time)};
      session.arrival_ms = ASSAY_TRY(fields::field<double>(object, time));
      ASSAY_TRY(check_time(session.arrival_ms));
    }
    if (fields::find(object, "delay") != nullptr) {
      said.delay_ms = ASSAY_TRY(fields::field<double>(object, "delay"));
      if (!(said.delay_ms >= 0) || said.delay_ms > kLatest)
        return core::Error{fmt::format("a delay of {} ms", said.delay_ms)};
    }
    session.said.push_back(said);
    return {};
  }

  core::Result<Workload> workload(double speed) {
    std::stable_sort(sessions_.begin(), sessions_.end(), [](const Session& a, const Session& b) {
      return a.arrival_ms < b.arrival_ms;
    });
    const double begin = sessions_.front().arrival_ms;
    Workload made = no_conversations();
    for (std::size_t i = 0; i < sessions_.size(); ++i)
      ASSAY_TRY(add_conversation(sessions_[i].said, i, Turn::kNone,
                                 (sessions_[i].arrival_ms - begin) / speed, made));
    return made;
  }

 private:
  struct Session {
    double arrival_ms = 0;
    std::vector<SaidTurn> said = {};
  };

  std::unordered_map<std::string, std::size_t> places_;
  std::vector<Session> sessions_;
};

core::Status add_line(std::string_view line,
                      PieceNames& names,
                      Conversations& conversations,
                      Workload& workload) {
  const fields::json object = ASSAY_TRY(fields::object_of_line(line));
  const bool is_turn = fields::find(object, "session_id") != nullptr;
  const bool is_mixed = is_turn ? !workload.requests.empty() : !conversations.empty();
  if (is_mixed)
    return core::Error{"some lines have a 'session_id' and some have none: a file is of one kind"};
  return is_turn ? conversations.add_turn(object) : add_request(object, names, workload);
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
  Conversations conversations;
  std::int64_t number = 0;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (const core::Status added = add_line(line, names, conversations, workload); !added.ok())
      return added.error().context(fmt::format("{}, line {}", name, number));
  }
  if (!conversations.empty()) {
    auto made = conversations.workload(options.speed);
    if (!made.ok()) return made.error().context(name);
    return made;
  }
  if (workload.requests.empty()) return core::Error{fmt::format("{} has no requests", name)};
  sort_by_arrival(workload, options.speed);
  return workload;
}

}  // namespace assay::plan
