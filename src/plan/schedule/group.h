// The requests of one group of GPUs that share a scheduler and a cache: those that wait, those that
// run, and the blocks that they hold. Policies move them with the functions below.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "plan/schedule/kv_pool.h"
#include "plan/schedule/limits.h"
#include "plan/schedule/policy.h"
#include "plan/schedule/workload.h"
#include "plan/step.h"

namespace assay::plan {

// A request inside an engine. What it has generated but its last token is in the cache once it
// decodes.
struct Sequence {
  std::size_t request = 0;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  // Tokens that must be in the cache before it decodes: its prompt, and what it had generated when
  // it was preempted.
  std::int64_t target = 0;
  std::int64_t cached = 0;
  std::int64_t generated = 0;
  std::int64_t tokens_now = 0;  // that the next step computes of it

  std::int64_t blocks = 0;         // that it holds, shared ones included
  std::int64_t shared_blocks = 0;  // of its first shared_pieces
  std::size_t shared_pieces = 0;
  std::int64_t kept_behind = -1;  // blocks before those that it left when it was preempted

  // With speculation what is left behind the first `drawn_from` tokens comes out evenly in so many
  // steps that decode; 0: in a step for each token.
  std::int64_t drawn_from = 0;
  std::int64_t drawn_steps = 0;
  std::int64_t steps_done = 0;

  std::int64_t found = -1;   // tokens that were in the cache when it first ran; -1: it has not
  bool transferred = false;  // its prompt was computed elsewhere
  double last_token_ms = 0;

  [[nodiscard]] bool decodes() const { return cached >= target; }

  [[nodiscard]] std::int64_t prompt_left() const { return target - cached; }

  [[nodiscard]] std::int64_t output_left() const { return output - generated; }

  // What it will have generated when it has decoded in so many further steps.
  [[nodiscard]] std::int64_t generated_after(std::int64_t steps) const {
    if (drawn_steps == 0) return generated + steps;
    return drawn_from + (output - drawn_from) * (steps_done + steps) / drawn_steps;
  }

  // Steps that decode until it ends.
  [[nodiscard]] std::int64_t steps_left() const {
    return drawn_steps == 0 ? output_left() : drawn_steps - steps_done;
  }

  // Tokens that come out of a step, in the mean.
  [[nodiscard]] double tokens_per_step() const {
    if (drawn_steps == 0) return 1;
    return static_cast<double>(output - drawn_from) / static_cast<double>(drawn_steps);
  }
};

// What a policy remembers from step to step.
struct PolicyMemory {
  double new_token_ratio = -1;  // SGLang's; below 0 before the first step
  bool full = false;            // nothing more is admitted until a request leaves
};

class Group {
 public:
  Group(const Policy& policy, const Limits& limits, const Workload& workload);

  // For policies.
  [[nodiscard]] const Limits& limits() const { return *limits_; }

  [[nodiscard]] std::vector<Sequence>& running() { return running_; }

  [[nodiscard]] const std::deque<Sequence>& waiting() const { return waiting_; }

  [[nodiscard]] KvPool& pool() { return pool_; }

  [[nodiscard]] PolicyMemory& memory() { return memory_; }

  // Requests that may still begin.
  [[nodiscard]] std::int64_t free_slots() const;

  // Whether this step threw a request out.
  [[nodiscard]] bool preempted() const { return preempted_; }

  // Tokens of a running request that decodes which a step computes, as far as there is use for
  // them.
  [[nodiscard]] std::int64_t decode_tokens(const Sequence& sequence) const {
    const std::int64_t left = std::max<std::int64_t>(1, sequence.output_left());
    return std::min(limits_->speculation.verified(), left);
  }

  // Blocks for so many more tokens of a running request; false where there are too few.
  bool grow(Sequence& sequence, std::int64_t tokens) {
    if (sequence.cached + tokens <= sequence.blocks * pool_.block_tokens()) return true;
    return take_blocks(sequence, tokens);
  }

  // What the first waiting request would find in the cache, and what it would need.
  struct Offer {
    std::int64_t cached = 0;       // tokens of it that are there
    std::int64_t prompt_left = 0;  // tokens that it must compute before it decodes
    std::int64_t available = 0;    // blocks for what it lacks; what it finds no longer counts
    std::int64_t found_blocks = 0;
    std::size_t shared_pieces = 0;
    std::int64_t shared_blocks = 0;

    // What it computes next: of its prompt, or a token where the prompt is there.
    [[nodiscard]] std::int64_t wanted() const { return std::max<std::int64_t>(1, prompt_left); }
  };

  [[nodiscard]] Offer offer() const;
  // The first waiting request runs and computes so many tokens in this step; false where their
  // blocks are not there.
  bool admit(const Offer& offer, std::int64_t tokens);

  enum class Queue : std::uint8_t { kFront, kBack };
  // A running request gives up its blocks and waits again, to compute its prompt and what it has
  // generated once more. What of the first `kept_tokens` no one needs meanwhile it finds again.
  void preempt(std::size_t index, Queue queue, std::int64_t kept_tokens);

  // For the simulation.
  void arrive(std::size_t request);
  // It comes from another instance, with its prompt's cache and its first token, which came out
  // then.
  void arrive_cached(std::size_t request, double first_token_ms);
  // The next step, chosen by the policy; tokens_now of every running request says it, too.
  const Step& choose();
  // What the step before left behind is known: ended requests give up their slots and blocks.
  void let_ended_go();

  [[nodiscard]] bool any_ended() const { return !ended_.empty(); }

  [[nodiscard]] bool idle() const { return running_.empty() && waiting_.empty(); }

  // For how many steps the policy would choose the same again, this one included.
  [[nodiscard]] std::int64_t steady_steps(std::int64_t most) const;
  // So many steps as chosen are done. Those that ended are in ended_now(), in the order in which
  // they run.
  void advance(std::int64_t steps);

  [[nodiscard]] const std::vector<Sequence>& ended_now() const { return ended_now_; }

  [[nodiscard]] std::int64_t preemptions() const { return preemptions_; }

  // Tokens that came out so far: the first of requests, and all others.
  [[nodiscard]] std::int64_t first_tokens() const { return first_tokens_; }

  [[nodiscard]] std::int64_t further_tokens() const { return further_tokens_; }

  // Tokens by which the caches of requests that decode grow in this step, in the mean.
  [[nodiscard]] double tokens_per_step() const { return tokens_per_step_; }

  [[nodiscard]] std::int64_t held_tokens() const { return pool_.held() * pool_.block_tokens(); }

  // The requests' names in messages.
  [[nodiscard]] std::optional<std::size_t> first_waiting() const;

 private:
  using Names = std::span<const std::uint64_t>;
  bool take_blocks(Sequence& sequence, std::int64_t tokens);
  void decode(Sequence& sequence, std::int64_t steps);
  void compute_prompt(Sequence& sequence);
  [[nodiscard]] Names whole_pieces(const Sequence& sequence) const;
  [[nodiscard]] Names pieces_with_answer(const Sequence& sequence) const;
  [[nodiscard]] std::int64_t piece_blocks(std::size_t piece) const;
  void share_pieces(Sequence& sequence, Names names);
  void leave_pieces(const Sequence& sequence);
  void end(Sequence& sequence);
  void release(const Sequence& sequence);
  void add_chunk(const Sequence& sequence);
  void build_step();
  void draw_steps(Sequence& sequence) const;
  [[nodiscard]] std::int64_t tokens_needed_for(const Sequence& sequence, std::int64_t steps) const;

  const Policy* policy_;
  const Limits* limits_;
  const Workload* workload_;
  KvPool pool_;
  PolicyMemory memory_;
  std::deque<Sequence> waiting_;
  std::vector<Sequence> running_;
  std::vector<Sequence> ended_;  // they hold their slots and blocks until the host knows
  std::vector<Sequence> ended_now_;
  std::vector<Chunks> chunks_;
  Step step_;
  double tokens_per_step_ = 1;
  bool preempted_ = false;
  bool steady_ = false;  // the step computes nothing but one token of every running request
  std::int64_t preemptions_ = 0;
  std::int64_t first_tokens_ = 0;
  std::int64_t further_tokens_ = 0;
};

}  // namespace assay::plan
