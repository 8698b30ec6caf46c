// SGLang's scheduler: prompts first. While prompts wait and there is room, steps compute prompts
// only and decoding stands still; one prompt at a time may be cut, and goes on in the next step.
// How much room there is follows from an estimate: a running request will fill new_token_ratio of
// the output that it may still have. The ratio falls with every step of decoding and rises when the
// cache was too small after all: then those with the least output give up their blocks.
#include <algorithm>
#include <limits>

#include "plan/schedule/group.h"

namespace assay::plan {
namespace {

// The engine's constants: environment variables SGLANG_INIT_NEW_TOKEN_RATIO, ..._MIN_..._FACTOR,
// ..._DECAY_STEPS, ..._CLIP_MAX_NEW_TOKENS_ESTIMATION and ..._RETRACT_DECODE_STEPS.
constexpr double kFirstRatio = 0.7;
constexpr double kLeastRatio = kFirstRatio * 0.14;
constexpr double kRatioDecay = (kFirstRatio - kLeastRatio) / 600;
constexpr std::int64_t kMostNewTokens = 4096;
constexpr std::int64_t kRetractSteps = 20;
// --num-reserved-decode-tokens of instances that decode.
constexpr std::int64_t kReservedDecodeTokens = 512;

Limits sglang_defaults() {
  Limits limits{.max_batch = 2048,
                .max_tokens = 8192,
                .max_prefill_tokens = 16384,
                .overlap = Limits::Overlap::kOneStep,
                .kv_block_tokens = 1,
                .graph_batches = {1, 2, 4, 8, 12}};
  for (std::int64_t batch = 16; batch <= 256; batch += 8)
    limits.graph_batches.push_back(batch);
  return limits;
}

std::int64_t expected_output(const Sequence& sequence) {
  return std::min(sequence.output_left(), kMostNewTokens);
}

// What a step of prompts may still take.
struct PromptRoom {
  double tokens = 0;  // of the cache, less what running requests are expected to fill
  std::int64_t chunk = std::numeric_limits<std::int64_t>::max();
  std::int64_t input = 0;
  bool any = false;

  void spend(std::int64_t computed, std::int64_t output) {
    tokens -= static_cast<double>(computed + output);
    chunk -= computed;
    input -= computed;
    any = true;
  }

  [[nodiscard]] bool left() const { return chunk > 0 && input > 0; }
};

PromptRoom room_of(Group& group) {
  PromptRoom room{.input = group.limits().max_prefill_tokens};
  if (group.limits().prompts == Limits::Prompts::kChunked) room.chunk = group.limits().max_tokens;
  std::int64_t expected = 0;
  for (const Sequence& sequence : group.running())
    if (sequence.decodes()) expected += expected_output(sequence);
  room.tokens = static_cast<double>(group.pool().available() * group.limits().kv_block_tokens) -
                group.memory().new_token_ratio * static_cast<double>(expected);
  return room;
}

// The prompt that was cut in the step before goes on first.
void continue_prompt(Group& group, PromptRoom& room) {
  if (group.running().empty() || group.running().back().decodes()) return;
  Sequence& sequence = group.running().back();
  const std::int64_t tokens = std::min(sequence.prompt_left(), room.chunk);
  if (!group.grow(sequence, tokens)) return;
  sequence.tokens_now = tokens;
  room.spend(tokens, tokens == sequence.prompt_left() ? expected_output(sequence) : 0);
}

// False where the first waiting request does not begin in this step, or is the last that does.
bool begin_prompt(Group& group, PromptRoom& room) {
  const Group::Offer offer = group.offer();
  const Sequence& first = group.waiting().front();
  const std::int64_t output = expected_output(first);
  const double taken_over = static_cast<double>((group.pool().available() - offer.available) *
                                                group.limits().kv_block_tokens);
  if (static_cast<double>(offer.prompt_left + output) >= room.tokens - taken_over) {
    group.memory().full = true;
    return false;
  }
  if (room.any && offer.prompt_left >= room.input) return false;
  const bool whole = offer.prompt_left <= room.chunk;
  const std::int64_t block = group.limits().kv_block_tokens;
  const std::int64_t tokens = whole ? offer.prompt_left : room.chunk / block * block;
  if (tokens == 0 || !group.admit(offer, tokens)) return false;
  room.tokens -= taken_over;
  room.spend(tokens, whole ? output : 0);
  if (room.tokens <= 0) group.memory().full = true;
  return whole && room.tokens > 0;
}

// Requests whose prompts came from another instance join the decoding ones, where the cache keeps
// some tokens for each of them.
void join_transferred(Group& group) {
  while (!group.waiting().empty() && group.waiting().front().transferred &&
         group.free_slots() > 0) {
    const auto running = static_cast<std::int64_t>(group.running().size());
    const std::int64_t kept = running == 0 ? 0 : kReservedDecodeTokens * (running + 1);
    const std::int64_t needed = group.pool().blocks_for(group.waiting().front().target + kept);
    if (needed > group.pool().available() || !group.admit(group.offer(), 1)) return;
    group.running().back().tokens_now = 0;  // as every decoding request it gets its token below
  }
}

bool schedule_prompts(Group& group) {
  const bool cut = !group.running().empty() && !group.running().back().decodes();
  const bool none = group.waiting().empty() || group.waiting().front().transferred;
  if (!cut && (group.memory().full || none)) return false;
  PromptRoom room = room_of(group);
  continue_prompt(group, room);
  if (cut && !room.any) return false;
  while (!group.waiting().empty() && !group.waiting().front().transferred && room.left()) {
    if (group.free_slots() <= 0) {
      group.memory().full = true;
      break;
    }
    if (!begin_prompt(group, room)) break;
  }
  return room.any;
}

// The first to go has the least output, and of those the longest prompt.
std::size_t first_to_go(const std::vector<Sequence>& running) {
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < running.size(); ++i) {
    const Sequence& best = running[chosen];
    const Sequence& other = running[i];
    if (other.generated < best.generated ||
        (other.generated == best.generated && other.prompt >= best.prompt))
      chosen = i;
  }
  return chosen;
}

double ratio_after_retraction(const std::vector<Sequence>& running) {
  std::int64_t generated = 0;
  std::int64_t output = 0;
  for (const Sequence& sequence : running) {
    generated += sequence.generated + kRetractSteps;
    output += sequence.output;
  }
  if (output == 0) return kFirstRatio;
  return std::min(1.0, static_cast<double>(generated) / static_cast<double>(output));
}

std::int64_t blocks_for_step(Group& group) {
  std::int64_t blocks = 0;
  for (const Sequence& sequence : group.running())
    if (sequence.decodes())
      blocks += std::max<std::int64_t>(
          0, group.pool().blocks_for(sequence.cached + group.decode_tokens(sequence)) -
                 sequence.blocks);
  return blocks;
}

// Enough for some steps, so that it does not happen again at once.
bool enough_behind_retraction(Group& group) {
  const auto requests = static_cast<std::int64_t>(group.running().size());
  return requests <= 1 ||
         group.pool().available() * group.limits().kv_block_tokens >= requests * kRetractSteps;
}

void lower_ratio(Group& group, std::int64_t steps) {
  double& ratio = group.memory().new_token_ratio;
  ratio = std::max(kLeastRatio, ratio - kRatioDecay * static_cast<double>(steps));
}

void schedule_decodes(Group& group) {
  std::vector<Sequence>& running = group.running();
  if (blocks_for_step(group) > group.pool().available()) {
    // Of what is thrown out only the prompt stays in the cache.
    do {
      const std::size_t chosen = first_to_go(running);
      group.preempt(chosen, Group::Queue::kBack, running[chosen].prompt);
    } while (!enough_behind_retraction(group));
    group.memory().new_token_ratio = ratio_after_retraction(running);
    group.memory().full = false;
  } else {
    lower_ratio(group, 1);
  }
  for (Sequence& sequence : running)
    if (sequence.decodes() && group.grow(sequence, group.decode_tokens(sequence)))
      sequence.tokens_now = 1;
}

void schedule_sglang(Group& group) {
  if (group.running().empty()) {
    group.memory().full = false;
    group.memory().new_token_ratio = kFirstRatio;
  }
  join_transferred(group);
  if (schedule_prompts(group) || group.running().empty()) return;
  schedule_decodes(group);
}

const Policy kSglang{.name = "sglang",
                     .engine = Engine::kSglang,
                     .defaults = sglang_defaults,
                     .ended = Policy::Ended::kComputedOnceMore,
                     .schedule = schedule_sglang,
                     .skipped = lower_ratio};
ASSAY_REGISTER(Policy, kSglang);

}  // namespace
}  // namespace assay::plan
