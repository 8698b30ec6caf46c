// Conversations as a workload: turns that hold all that was said before them.
#pragma once

#include <cstdint>
#include <span>

#include "core/result.h"
#include "plan/schedule/workload.h"

namespace assay::plan {

// A mean with a normal deviation.
struct NormalSpread {
  double mean = 0;
  double deviation = 0;
};

struct ConversationSpec {
  std::int64_t conversations = 0;
  Lengths prompt;  // what a turn adds to the conversation
  Lengths output;
  NormalSpread turns = {.mean = 1};  // rounded; at least one
  NormalSpread delay_ms = {};        // from an answer to the next turn; at least none
  // So many clients hold the conversations, one after the other. 0: conversations begin at random
  // (a Poisson process), so many a second.
  std::int64_t clients = 0;
  double per_second = 0;
  std::uint64_t seed = 0;
};

// The same spec gives the same conversations on every machine. Error: the spec makes no sense, or a
// prompt grows beyond a million tokens.
core::Result<Workload> make_conversations(const ConversationSpec& spec);

// A turn as it is said.
struct SaidTurn {
  std::int64_t new_tokens = 1;
  std::int64_t output_tokens = 1;
  double delay_ms = 0;  // from the answer before it; not read of the first turn
};

// Adds a conversation of a client. Its first turn follows the request `after`, or arrives at
// `arrival_ms` where there is none. Errors: there are no turns, or a prompt grows too long.
core::Status add_conversation(std::span<const SaidTurn> said,
                              std::size_t client,
                              std::size_t after,
                              double arrival_ms,
                              Workload& workload);

// A workload to which conversations are added: its pieces are short, because histories end
// anywhere.
Workload no_conversations();

}  // namespace assay::plan
