#include "plan/price/step_prices.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "model/serving/attention_chunks.h"
#include "plan/price/local_attention.h"

namespace assay::plan {
namespace {

using serving::Amount;
using serving::OperatorUse;
using serving::Phase;

constexpr std::size_t kMostKnown = std::size_t{1} << 15U;
constexpr std::size_t kKnownPrompts = std::size_t{1} << 12U;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Decoding's price runs in straight lines between these numbers of tokens in the cache: 0, 64, and
// on in steps of a half doubling.
constexpr double kFirstNode = 64;
constexpr std::size_t kNodes = 34;

double tokens_of_node(std::size_t node) {
  return node == 0 ? 0 : kFirstNode * std::exp2(0.5 * static_cast<double>(node - 1));
}

std::size_t node_below(double cached) {
  if (cached < kFirstNode) return 0;
  const double steps = std::floor(2 * std::log2(cached / kFirstNode));
  return std::min(kNodes - 2, 1 + static_cast<std::size_t>(steps));
}

bool is_same_work(const OperatorUse& a, const OperatorUse& b) {
  const auto same_key = [](const model::PerfField& left, const model::PerfField& right) {
    return left.column == right.column && left.value == right.value;
  };
  return a.role == b.role && a.table == b.table && a.op_name == b.op_name && a.sizes == b.sizes &&
         a.count == b.count &&
         std::equal(a.key.begin(), a.key.end(), b.key.begin(), b.key.end(), same_key);
}

bool is_only_by(Amount amount, const OperatorUse& use) {
  return use.sizes.size() == 1 && use.sizes.front().amount == amount;
}

double sum_at(const std::vector<OperatorPrice>& prices, const Amounts& amounts) {
  double sum = 0;
  for (const OperatorPrice& price : prices)
    sum += price.at(amounts).ms;
  return sum;
}

enum class Part : std::uint8_t { kExperts, kOthers };

double sum_at(Part part, const std::vector<OperatorPrice>& prices, const Amounts& amounts) {
  double sum = 0;
  for (const OperatorPrice& price : prices) {
    const bool is_of_experts = is_only_by(Amount::kExpertTokens, price.use());
    if (is_of_experts == (part == Part::kExperts)) sum += price.at(amounts).ms;
  }
  return sum;
}

template <typename Ask>
double remembered(std::vector<double>& known, std::int64_t at, const Ask& ask) {
  const auto place = static_cast<std::size_t>(at);
  if (place >= kMostKnown) return ask();
  if (place >= known.size()) known.resize(std::max(place + 1, 2 * known.size()), kUnknown);
  if (std::isnan(known[place])) known[place] = ask();
  return known[place];
}

// Prices of more tokens than this run in straight lines over pieces of a thirty-second of the
// number, which begin behind a multiple of their length: kernels fill tiles up to such multiples.
constexpr std::int64_t kExactTokens = 256;
constexpr std::int64_t kFirstDoubling = 8;    // which ends behind kExactTokens
constexpr std::int64_t kStepsOfDoubling = 5;  // in doublings
constexpr std::int64_t kPieceNumbers = std::int64_t{2} << kStepsOfDoubling;  // above all of them

// `ask` gives the price of a number of tokens.
template <typename Ask>
double between_nodes(std::vector<double>& known, std::int64_t tokens, const Ask& ask) {
  const auto at = [&](std::int64_t place, std::int64_t node) {
    return remembered(known, place, [&] { return ask(node); });
  };
  if (tokens <= kExactTokens) return at(tokens, tokens);
  const auto doublings =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(tokens))) - 1;
  const std::int64_t step = std::int64_t{1} << (doublings - kStepsOfDoubling);
  const std::int64_t piece = (tokens - 1) / step;
  const std::int64_t first = piece * step + 1;
  const std::int64_t place =
      kExactTokens + 1 + 2 * ((doublings - kFirstDoubling) * kPieceNumbers + piece);
  const double share = static_cast<double>(tokens - first) / static_cast<double>(step - 1);
  return std::lerp(at(place, first), at(place + 1, first + step - 1), share);
}

Amounts amounts_of(const Chunks& chunks) {
  const auto requests = static_cast<double>(chunks.requests);
  const auto new_tokens = static_cast<double>(chunks.new_tokens);
  return {.tokens = requests * new_tokens,
          .requests = requests,
          .new_tokens = new_tokens,
          .cached_tokens = static_cast<double>(chunks.cached_tokens)};
}

std::vector<Amounts> amounts_of_parts(const Chunks& chunks, std::int64_t length) {
  std::vector<Amounts> all;
  for (const Chunks& part : serving::cut_at_chunks(chunks, length))
    all.push_back(amounts_of(part));
  return all;
}

// The mean of what requests that draft have in the cache: those that decode, or whose prompt ends.
double cached_of_drafts(const Step& step) {
  if (step.decodes > 0 || step.chunks.empty()) return step.decode_cached;
  const Chunks& last = step.chunks.back();
  return static_cast<double>(last.cached_tokens + last.new_tokens);
}

std::size_t slot_of(const Chunks& chunks) {
  std::uint64_t hash = 0;
  for (const std::int64_t value : {chunks.requests, chunks.new_tokens, chunks.cached_tokens})
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL;
  return (hash >> 40U) % kKnownPrompts;
}

}  // namespace

core::Result<StepPrices> StepPrices::bind(const serving::Model& model,
                                          const serving::Deployment& deployment,
                                          Tables& tables) {
  ASSAY_TRY(serving::check_deployment(model, deployment));
  const std::vector<OperatorUse> context = uses_of(model, deployment, Phase::kContext);
  const std::vector<OperatorUse> generation = uses_of(model, deployment, Phase::kGeneration);
  const auto is_in = [](const std::vector<OperatorUse>& uses, const OperatorUse& use) {
    return std::any_of(uses.begin(), uses.end(),
                       [&](const OperatorUse& other) { return is_same_work(use, other); });
  };
  StepPrices prices;
  const double groups = static_cast<double>(deployment.moe_tp * deployment.moe_ep) /
                        static_cast<double>(deployment.tp);
  prices.most_tokens_ = deployment.most_tokens;
  prices.groups_ = model.has_experts() ? std::max(1.0, groups) : 1;
  for (const OperatorUse& use : context) {
    const bool is_shared = is_in(generation, use);
    OperatorPrice price = ASSAY_TRY(OperatorPrice::bind(use, tables));
    prices.chunk_ = std::max(prices.chunk_, use.chunk);
    std::vector<OperatorPrice>& part = use.chunk > 0 ? prices.chunked_prompts_
                                       : !is_shared  ? prices.prompts_
                                       : is_only_by(Amount::kRequests, use) ? prices.logits_
                                                                            : prices.shared_;
    part.push_back(std::move(price));
  }
  for (const OperatorUse& use : generation) {
    if (is_in(context, use)) continue;
    ByCache& part = use.chunk > 0 ? prices.chunked_decodes_ : prices.decodes_;
    part.prices.push_back(ASSAY_TRY(OperatorPrice::bind(use, tables)));
  }
  prices.decodes_.tokens_each = 1 + deployment.speculative_tokens;
  prices.chunked_decodes_.tokens_each = prices.decodes_.tokens_each;
  for (const OperatorUse& use : draft_uses_of(model, deployment))
    prices.drafts_.prices.push_back(ASSAY_TRY(OperatorPrice::bind(use, tables)));
  prices.prompts_known_.resize(kKnownPrompts);
  return prices;
}

double StepPrices::shared_ms(std::int64_t tokens) const {
  return between_nodes(shared_known_, tokens, [&](std::int64_t node) {
    const auto amount = static_cast<double>(node);
    return sum_at(Part::kOthers, shared_, {.tokens = amount, .requests = amount});
  });
}

double StepPrices::experts_ms(std::int64_t tokens) const {
  return between_nodes(experts_known_, std::max<std::int64_t>(1, tokens), [&](std::int64_t node) {
    return sum_at(Part::kExperts, shared_, {.expert_tokens = static_cast<double>(node)});
  });
}

double StepPrices::logits_ms(std::int64_t rows) const {
  if (rows == 0) return 0;
  return remembered(logits_known_, rows, [&] {
    return sum_at(logits_,
                  {.tokens = static_cast<double>(rows), .requests = static_cast<double>(rows)});
  });
}

double StepPrices::prompt_ms(const Chunks& chunks) const {
  if (chunks.requests == 1 && chunks.cached_tokens == 0) {
    return between_nodes(whole_prompts_known_, chunks.new_tokens, [&](std::int64_t node) {
      return prompt_ms_at({.requests = 1, .new_tokens = node});
    });
  }
  KnownPrompt& known = prompts_known_[slot_of(chunks)];
  if (!(known.chunks == chunks)) known = {.chunks = chunks, .ms = prompt_ms_at(chunks)};
  return known.ms;
}

double StepPrices::prompt_ms_at(const Chunks& chunks) const {
  double sum = sum_at(prompts_, amounts_of(chunks));
  if (chunked_prompts_.empty()) return sum;
  for (const Amounts& part : amounts_of_parts(chunks, chunk_))
    sum += sum_at(chunked_prompts_, part);
  return sum;
}

Amounts StepPrices::amounts_of_cache(const ByCache& part, double requests, double cached) const {
  const double tokens = requests * static_cast<double>(part.tokens_each);
  return {.tokens = tokens,
          .requests = requests,
          .new_tokens = 1,
          .cached_tokens = cached,
          .expert_tokens = tokens * groups_};
}

double StepPrices::by_cache_ms_at(const ByCache& part,
                                  std::int64_t requests,
                                  std::size_t node) const {
  const auto ask = [&] {
    return sum_at(part.prices,
                  amounts_of_cache(part, static_cast<double>(requests), tokens_of_node(node)));
  };
  const auto place = static_cast<std::size_t>(requests);
  if (place >= kMostKnown) return ask();
  if (place >= part.known.size()) part.known.resize(place + 1);
  Known& known = part.known[place];
  if (known.empty()) known.resize(kNodes, kUnknown);
  if (std::isnan(known[node])) known[node] = ask();
  return known[node];
}

double StepPrices::by_cache_ms(const ByCache& part, std::int64_t requests, double cached) const {
  if (requests == 0 || part.prices.empty()) return 0;
  const std::size_t node = node_below(cached);
  const double low = tokens_of_node(node);
  const double share = (cached - low) / (tokens_of_node(node + 1) - low);
  return (1 - share) * by_cache_ms_at(part, requests, node) +
         share * by_cache_ms_at(part, requests, node + 1);
}

double StepPrices::ms(const Step& step) const {
  const std::int64_t tokens = tokens_of(step);
  if (tokens == 0) return 0;
  double sum = glue_ms_ + shared_ms(tokens) + experts_ms(std::llround(expert_tokens_of(step))) +
               logits_ms(logits_rows(step)) +
               by_cache_ms(decodes_, step.decodes, step.decode_cached);
  if (!chunked_decodes_.prices.empty())
    sum += by_cache_ms(chunked_decodes_, step.decodes,
                       keys_in_chunk(step.decode_cached, chunk_, most_tokens_));
  if (!drafts_.prices.empty())
    sum += by_cache_ms(drafts_, step.finished_prompts + step.decodes, cached_of_drafts(step));
  for (const Chunks& chunks : step.chunks)
    sum += prompt_ms(chunks);
  return sum;
}

std::vector<OperatorCost> StepPrices::operators(const Step& step) const {
  std::vector<OperatorCost> costs;
  const auto add = [&](const std::vector<OperatorPrice>& prices, const Amounts& amounts) {
    for (const OperatorPrice& price : prices)
      costs.push_back({&price, price.at(amounts), amounts});
  };
  const auto tokens = static_cast<double>(tokens_of(step));
  add(shared_, {.tokens = tokens, .requests = tokens, .expert_tokens = expert_tokens_of(step)});
  for (const Chunks& chunks : step.chunks) {
    add(prompts_, amounts_of(chunks));
    if (chunked_prompts_.empty()) continue;
    for (const Amounts& part : amounts_of_parts(chunks, chunk_))
      add(chunked_prompts_, part);
  }
  const auto decodes = static_cast<double>(step.decodes);
  if (step.decodes > 0)
    add(decodes_.prices, amounts_of_cache(decodes_, decodes, step.decode_cached));
  if (step.decodes > 0 && !chunked_decodes_.prices.empty())
    add(chunked_decodes_.prices,
        amounts_of_cache(chunked_decodes_, decodes,
                         keys_in_chunk(step.decode_cached, chunk_, most_tokens_)));
  const auto rows = static_cast<double>(logits_rows(step));
  if (rows > 0) add(logits_, {.tokens = rows, .requests = rows});
  const auto drafting = static_cast<double>(step.finished_prompts + step.decodes);
  if (drafting > 0)
    add(drafts_.prices, amounts_of_cache(drafts_, drafting, cached_of_drafts(step)));
  return costs;
}

void add_power(std::vector<OperatorCost>& costs) {
  for (OperatorCost& one : costs)
    one.power = one.price->power(one.amounts);
}

std::vector<OperatorCost> StepPrices::powered_operators(const Step& step) const {
  std::vector<OperatorCost> costs = operators(step);
  add_power(costs);
  return costs;
}

}  // namespace assay::plan
