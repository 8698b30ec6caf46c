#include "plan/schedule/group.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "plan/speculation.h"

namespace assay::plan {
namespace {

// Blocks of up to this many tokens are followed exactly when steps are taken at once.
constexpr std::int64_t kExactBlock = 256;

// The name under which a preempted request keeps its own blocks; names of pieces are smaller.
std::uint64_t own_name(std::size_t request) {
  return kPieceNames + request;
}

}  // namespace

Group::Group(const Policy& policy, const Limits& limits, const Workload& workload)
    : policy_(&policy),
      limits_(&limits),
      workload_(&workload),
      pool_(limits.kv_tokens / limits.kv_block_tokens, limits.kv_block_tokens) {}

std::int64_t Group::free_slots() const {
  return limits_->max_batch - static_cast<std::int64_t>(running_.size() + ended_.size());
}

std::optional<std::size_t> Group::first_waiting() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front().request;
}

bool Group::take_blocks(Sequence& sequence, std::int64_t tokens) {
  const std::int64_t lacking = pool_.blocks_for(sequence.cached + tokens) - sequence.blocks;
  if (!pool_.take(lacking)) return false;
  sequence.blocks += lacking;
  return true;
}

// The pieces of its prompt that it fills, so that their blocks can be shared.
Group::Names Group::whole_pieces(const Sequence& sequence) const {
  const Request& request = workload_->requests[sequence.request];
  if (request.pieces == 0 || limits_->prefix_cache == Limits::PrefixCache::kOff) return {};
  const auto whole = static_cast<std::size_t>(sequence.prompt / workload_->piece_tokens);
  return workload_->pieces_of(request).first(std::min(request.pieces, whole));
}

// The same, and those that its answer fills, where another turn of its conversation may follow.
Group::Names Group::pieces_with_answer(const Sequence& sequence) const {
  if (workload_->turns.empty() || limits_->prefix_cache == Limits::PrefixCache::kOff)
    return whole_pieces(sequence);
  const Request& request = workload_->requests[sequence.request];
  return Names(workload_->pieces)
      .subspan(request.first_piece,
               request.pieces + workload_->turns[sequence.request].answer_pieces);
}

// Blocks that end in a piece: a block that holds tokens of two pieces belongs to the second.
std::int64_t Group::piece_blocks(std::size_t piece) const {
  const auto end = [&](std::size_t pieces) {
    return static_cast<std::int64_t>(pieces) * workload_->piece_tokens / pool_.block_tokens();
  };
  return end(piece + 1) - end(piece);
}

Group::Offer Group::offer() const {
  const Sequence& sequence = waiting_.front();
  Offer offer{.available = pool_.available()};
  if (sequence.transferred) {
    offer.cached = sequence.target;
    return offer;
  }
  const auto names = whole_pieces(sequence);
  for (const std::uint64_t name : names) {
    const KvPool::Entry* entry = pool_.find(name);
    if (entry == nullptr) break;
    if (entry->users == 0) offer.available -= entry->blocks;
    offer.shared_blocks += piece_blocks(offer.shared_pieces++);
  }
  offer.found_blocks = offer.shared_blocks;
  if (sequence.kept_behind == offer.shared_blocks) {
    if (const KvPool::Entry* own = pool_.find(own_name(sequence.request)); own != nullptr) {
      offer.found_blocks += own->blocks;
      offer.available -= own->blocks;
    }
  }
  // The last token must be computed, with its block: logits come of it.
  const std::int64_t most = (sequence.target - 1) / pool_.block_tokens();
  offer.cached = std::min(offer.found_blocks, most) * pool_.block_tokens();
  offer.prompt_left = sequence.target - offer.cached;
  return offer;
}

bool Group::admit(const Offer& offer, std::int64_t tokens) {
  const std::int64_t lacking =
      std::max<std::int64_t>(0, pool_.blocks_for(offer.cached + tokens) - offer.found_blocks);
  if (lacking > offer.available) return false;
  Sequence sequence = waiting_.front();
  waiting_.pop_front();
  const auto names = whole_pieces(sequence);
  for (std::size_t piece = 0; piece < offer.shared_pieces; ++piece)
    pool_.use(names[piece]);
  if (sequence.kept_behind >= 0) {
    const std::int64_t own = pool_.take_over(own_name(sequence.request));
    // What does not follow what it found is of no use.
    if (offer.found_blocks == offer.shared_blocks) pool_.give(own);
    sequence.kept_behind = -1;
  }
  pool_.take(lacking);
  if (sequence.found < 0) sequence.found = offer.cached;
  sequence.cached = offer.cached;
  sequence.blocks = offer.found_blocks + lacking;
  sequence.shared_pieces = offer.shared_pieces;
  sequence.shared_blocks = offer.shared_blocks;
  sequence.tokens_now = tokens;
  running_.push_back(sequence);
  return true;
}

void Group::preempt(std::size_t index, Queue queue, std::int64_t kept_tokens) {
  Sequence sequence = running_[index];
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  leave_pieces(sequence);
  std::int64_t kept = 0;
  if (limits_->prefix_cache == Limits::PrefixCache::kOn) {
    const std::int64_t whole = std::min(kept_tokens, sequence.cached) / pool_.block_tokens();
    kept = std::clamp<std::int64_t>(whole - sequence.shared_blocks, 0,
                                    sequence.blocks - sequence.shared_blocks);
  }
  pool_.give(sequence.blocks - sequence.shared_blocks - kept);
  sequence.kept_behind = -1;
  if (kept > 0) {
    pool_.keep(own_name(sequence.request), kept);
    sequence.kept_behind = sequence.shared_blocks;
  }
  sequence.transferred = false;
  sequence.target = sequence.prompt + sequence.generated;
  sequence.cached = 0;
  sequence.tokens_now = 0;
  sequence.blocks = 0;
  sequence.shared_blocks = 0;
  sequence.shared_pieces = 0;
  if (queue == Queue::kFront)
    waiting_.push_front(sequence);
  else
    waiting_.push_back(sequence);
  ++preemptions_;
  preempted_ = true;
}

void Group::arrive(std::size_t request) {
  const Request& asked = workload_->requests[request];
  waiting_.push_back({.request = request,
                      .prompt = asked.prompt_tokens,
                      .output = asked.output_tokens,
                      .target = asked.prompt_tokens});
}

void Group::arrive_cached(std::size_t request, double first_token_ms) {
  arrive(request);
  Sequence& sequence = waiting_.back();
  sequence.transferred = true;
  sequence.generated = 1;
  sequence.last_token_ms = first_token_ms;
  draw_steps(sequence);
}

// What is left of a request comes out in so many steps that decode; of one that was thrown out, in
// those that it had left, but for the token that computing it again brings.
void Group::draw_steps(Sequence& sequence) const {
  const std::int64_t left = sequence.output_left();
  if (limits_->speculation.tokens == 0 || left <= 0) return;
  const std::int64_t least = (left + limits_->speculation.tokens) / limits_->speculation.verified();
  const std::int64_t steps = sequence.drawn_steps > 0
                                 ? sequence.steps_left() - 1
                                 : drawn_steps(limits_->speculation, left, sequence.request);
  sequence.drawn_steps = std::clamp(steps, least, left);
  sequence.drawn_from = sequence.generated;
  sequence.steps_done = 0;
}

// Tokens of the cache, behind those that are in it, which so many steps that decode need: those of
// the last step are there whether they are accepted or not.
std::int64_t Group::tokens_needed_for(const Sequence& sequence, std::int64_t steps) const {
  const std::int64_t before = sequence.generated_after(steps - 1);
  const std::int64_t left = std::max<std::int64_t>(1, sequence.output - before);
  return before - sequence.generated + std::min(limits_->speculation.verified(), left);
}

const Step& Group::choose() {
  preempted_ = false;
  ended_now_.clear();
  for (Sequence& sequence : running_)
    sequence.tokens_now = 0;
  policy_->schedule(*this);
  build_step();
  return step_;
}

// Equal chunks of neighbours count together.
void Group::add_chunk(const Sequence& sequence) {
  if (sequence.tokens_now == sequence.prompt_left()) ++step_.finished_prompts;
  if (!chunks_.empty() && chunks_.back().new_tokens == sequence.tokens_now &&
      chunks_.back().cached_tokens == sequence.cached)
    ++chunks_.back().requests;
  else
    chunks_.push_back(
        {.requests = 1, .new_tokens = sequence.tokens_now, .cached_tokens = sequence.cached});
}

void Group::build_step() {
  chunks_.clear();
  step_ = {};
  std::int64_t decode_cached = 0;
  const bool drafts = limits_->speculation.tokens > 0;
  double growth = 0;
  bool all = true;
  for (const Sequence& sequence : running_) {
    if (sequence.tokens_now == 0) {
      all = false;
    } else if (sequence.decodes()) {
      ++step_.decodes;
      decode_cached += sequence.cached;
      if (drafts) growth += sequence.tokens_per_step();
    } else {
      add_chunk(sequence);
    }
  }
  tokens_per_step_ = drafts && step_.decodes > 0 ? growth / static_cast<double>(step_.decodes) : 1;
  if (policy_->ended == Policy::Ended::kComputedOnceMore && step_.decodes > 0) {
    for (const Sequence& sequence : ended_) {
      ++step_.decodes;
      decode_cached += sequence.cached;
      all = false;
    }
  }
  step_.chunks = chunks_;
  if (step_.decodes > 0)
    step_.decode_cached = static_cast<double>(decode_cached) / static_cast<double>(step_.decodes);
  // What ended in the step before, or was thrown out in this one, may let others begin in the next.
  steady_ = all && chunks_.empty() && (waiting_.empty() || (ended_.empty() && !preempted_));
}

// The last piece goes first when room is needed, as in engines: without the first ones the others
// cannot be found.
void Group::leave_pieces(const Sequence& sequence) {
  const Names names = pieces_with_answer(sequence);
  for (std::size_t piece = sequence.shared_pieces; piece > 0; --piece)
    pool_.leave(names[piece - 1]);
}

void Group::release(const Sequence& sequence) {
  leave_pieces(sequence);
  pool_.give(sequence.blocks - sequence.shared_blocks);
}

void Group::let_ended_go() {
  if (ended_.empty()) return;
  for (const Sequence& sequence : ended_)
    release(sequence);
  ended_.clear();
  memory_.full = false;
}

std::int64_t Group::steady_steps(std::int64_t most) const {
  if (running_.empty()) return waiting_.empty() ? most : 1;
  if (!steady_) return 1;
  const std::int64_t block = pool_.block_tokens();
  const auto requests = static_cast<std::int64_t>(running_.size());
  std::int64_t steps = most;
  for (const Sequence& sequence : running_)
    steps = std::min(steps, sequence.steps_left());
  const std::int64_t available = pool_.available();
  std::int64_t further = available / requests * block;
  // Each step takes at most what it verifies.
  if (limits_->speculation.tokens > 0)
    return std::min(steps, 1 + further / limits_->speculation.verified());
  if (further >= steps - 1) return steps;
  if (block > kExactBlock) return std::min(steps, 1 + further);
  // Tokens that fit the blocks of each request behind this step.
  std::array<std::int64_t, kExactBlock> with_slack{};
  for (const Sequence& sequence : running_) {
    const std::int64_t slack = sequence.blocks * block - sequence.cached - 1;
    ++with_slack[static_cast<std::size_t>(std::min(slack, block - 1))];
  }
  // A request whose blocks have room for s tokens takes its next block for the token s + 1.
  std::int64_t taken = available / requests * requests;
  for (std::int64_t slack = 0; slack < block; ++slack, ++further) {
    taken += with_slack[static_cast<std::size_t>(slack)];
    if (taken > available) break;
  }
  return std::min(steps, 1 + further);
}

void Group::share_pieces(Sequence& sequence, Names names) {
  while (sequence.shared_pieces < names.size()) {
    const std::size_t piece = sequence.shared_pieces;
    if (static_cast<std::int64_t>(piece + 1) * workload_->piece_tokens > sequence.cached) return;
    const std::int64_t blocks = piece_blocks(piece);
    pool_.share(names[piece], blocks);
    sequence.shared_blocks += blocks;
    ++sequence.shared_pieces;
  }
}

void Group::end(Sequence& sequence) {
  // Where the prompt was computed elsewhere, the next turn's will be, too.
  if (!workload_->turns.empty() && !sequence.transferred)
    share_pieces(sequence, pieces_with_answer(sequence));
  ended_now_.push_back(sequence);
}

void Group::decode(Sequence& sequence, std::int64_t steps) {
  ASSAY_CHECK(steps == 1 || grow(sequence, tokens_needed_for(sequence, steps)),
              "steady_steps() counts blocks");
  const std::int64_t tokens = sequence.generated_after(steps) - sequence.generated;
  sequence.cached += tokens;
  sequence.generated += tokens;
  sequence.steps_done += steps;
  further_tokens_ += tokens;
}

void Group::compute_prompt(Sequence& sequence) {
  sequence.cached += sequence.tokens_now;
  if (sequence.decodes()) {
    ++(sequence.generated++ == 0 ? first_tokens_ : further_tokens_);
    draw_steps(sequence);
  }
  share_pieces(sequence, whole_pieces(sequence));
}

void Group::advance(std::int64_t steps) {
  if (steps > 1 && policy_->skipped != nullptr) policy_->skipped(*this, steps - 1);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Sequence& sequence = running_[i];
    if (sequence.tokens_now > 0) {
      if (sequence.decodes()) {
        decode(sequence, steps);
      } else {
        compute_prompt(sequence);
      }
      if (sequence.generated >= sequence.output && sequence.decodes()) {
        end(sequence);
        continue;
      }
    }
    if (kept != i) running_[kept] = sequence;
    ++kept;
  }
  running_.resize(kept);
  ended_.insert(ended_.end(), ended_now_.begin(), ended_now_.end());
}

}  // namespace assay::plan
