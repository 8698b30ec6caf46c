#include "collect/worker/team.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace assay::collect {
namespace {

using Kind = TeamOrder::Kind;

void say(TeamAnswer& answer, TeamAnswer::Kind kind, const std::string& text) {
  answer.kind = kind;
  const std::size_t length = std::min(text.size(), sizeof(answer.text) - 1);
  std::memcpy(answer.text, text.data(), length);
  answer.text[length] = '\0';
}

void fill(TeamAnswer& answer, const core::Status& status) {
  if (!status.ok()) say(answer, TeamAnswer::Kind::kError, status.error().message);
}

void make(TeamRank& rank, const TeamOrder& order, TeamAnswer& answer) {
  const auto made = rank.make(order.spec);
  if (!made.ok()) {
    say(answer, TeamAnswer::Kind::kError, made.error().message);
  } else if (made.value()) {
    say(answer, TeamAnswer::Kind::kUnsupported, made.value()->reason);
  }
}

void check(TeamRank& rank, TeamAnswer& answer) {
  const core::Result<Accuracy> accuracy = rank.check();
  if (!accuracy.ok()) {
    say(answer, TeamAnswer::Kind::kError, accuracy.error().message);
    return;
  }
  answer.worst = accuracy.value().worst;
  answer.compared = accuracy.value().compared;
  say(answer, TeamAnswer::Kind::kOk, accuracy.value().where);
}

void sample(TeamRank& rank, const TeamOrder& order, TeamAnswer& answer) {
  const auto times_ms = rank.sample(std::min(order.count, kMostTeamSamples));
  if (times_ms.ok()) {
    std::copy(times_ms.value().begin(), times_ms.value().end(), answer.times_ms);
  } else {
    say(answer, TeamAnswer::Kind::kError, times_ms.error().message);
  }
}

}  // namespace

TeamAnswer carry_out(TeamRank& rank, const TeamOrder& order) {
  TeamAnswer answer;
  switch (order.kind) {
    case Kind::kMake:
      make(rank, order, answer);
      break;
    case Kind::kLaunch:
      fill(answer, rank.launch());
      break;
    case Kind::kFinish:
      fill(answer, rank.finish());
      break;
    case Kind::kCheck:
      check(rank, answer);
      break;
    case Kind::kWatch:
      fill(answer, rank.watch({order.launch, order.launches}));
      break;
    case Kind::kSample:
      sample(rank, order, answer);
      break;
    case Kind::kForget:
    case Kind::kQuit:
      rank.forget();
      break;
  }
  answer.is_lost = rank.is_lost() ? 1 : 0;
  return answer;
}

}  // namespace assay::collect
