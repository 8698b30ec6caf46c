#include "plan/uncertainty/step_parts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"

namespace assay::plan {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// Scans of state spaces stand where attention does in other layers.
double StepParts::*part_of_table(std::string_view table) {
  if (has_any(table, {"nccl", "allreduce", "deepep", "p2p"})) return &StepParts::communication_ms;
  if (has_any(table, {"attention", "mla", "dsa", "msa", "gdn", "kda", "mamba"}))
    return &StepParts::attention_ms;
  if (has_any(table, {"moe"})) return &StepParts::experts_ms;
  if (has_any(table, {"gemm"})) return &StepParts::products_ms;
  return &StepParts::other_ms;
}

struct NamedPart {
  std::string_view name;
  double StepParts::*ms;
};

constexpr std::array<NamedPart, 5> kNamedParts = {{{"attention", &StepParts::attention_ms},
                                                   {"products", &StepParts::products_ms},
                                                   {"experts", &StepParts::experts_ms},
                                                   {"communication", &StepParts::communication_ms},
                                                   {"other", &StepParts::other_ms}}};

const NamedPart& largest(const StepParts& parts) {
  return *std::max_element(
      kNamedParts.begin(), kNamedParts.end(),
      [&](const NamedPart& a, const NamedPart& b) { return parts.*a.ms < parts.*b.ms; });
}

// `weight`: how often the step counts.
void add_priced(std::vector<PricedPart>& parts,
                const std::vector<OperatorCost>& costs,
                double weight) {
  for (const OperatorCost& one : costs) {
    parts.push_back({.table = one.price->use().table,
                     .source = one.price->source(),
                     .ms = weight * one.cost.ms,
                     .sigma = one.cost.sigma,
                     .fidelity = one.price->fidelity_of_rows()});
  }
}

}  // namespace

double StepParts::experts_share() const {
  const double all = all_ms();
  return all > 0 ? experts_ms / all : 0;
}

StepParts parts_of(std::span<const PricedPart> priced) {
  using TableOfSource = std::pair<std::string_view, std::string_view>;
  StepParts parts;
  std::map<TableOfSource, double> sigma_ms;
  std::map<std::string_view, double StepParts::*> part_of;
  for (const PricedPart& one : priced) {
    const auto [part, is_new] = part_of.try_emplace(one.table, nullptr);
    if (is_new) part->second = part_of_table(one.table);
    parts.*part->second += one.ms;
    if (one.fidelity == Fidelity::kKernels) parts.kernels_ms += one.ms;
    if (one.fidelity == Fidelity::kBound) parts.bound_ms += one.ms;
    if (one.fidelity == Fidelity::kLinks) parts.links_ms += one.ms;
    if (one.sigma > 0) sigma_ms[{one.table, one.source}] += one.ms * one.sigma;
  }
  double squares = 0;
  for (const auto& [table, sigma] : sigma_ms)
    squares += sigma * sigma;
  if (const double all = parts.all_ms(); all > 0) parts.price_sigma = std::sqrt(squares) / all;
  return parts;
}

StepParts parts_of(const std::vector<OperatorCost>& costs) {
  std::vector<PricedPart> parts;
  add_priced(parts, costs, 1);
  return parts_of(parts);
}

LoadParts parts_of_load(const LoadCosts& costs) {
  std::vector<PricedPart> mean;
  add_priced(mean, costs.decoding, 1 - costs.steps.mixed_share);
  add_priced(mean, costs.mixed, costs.steps.mixed_share);
  return {.mean = parts_of(mean), .prompt = parts_of(costs.mixed)};
}

LoadParts parts_of_pools(const StepPrices& prefill,
                         const Step& prompts,
                         const StepPrices& decode,
                         const Step& decoding) {
  return {.mean = parts_of(decode.operators(decoding)),
          .prompt = parts_of(prefill.operators(prompts))};
}

std::string bound_note(const StepParts& parts) {
  std::vector<std::string> notes;
  if (parts.bound_ms > 0)
    notes.push_back(fmt::format(
        "{:.2g} % of a step are a lower bound, the bytes of state spaces over the bandwidth: no "
        "table that was asked has rows of them, and assay does not measure them yet; a step takes "
        "longer than this, and error bars do not know how much",
        100 * parts.bound_ms / parts.all_ms()));
  if (parts.links_ms > 0)
    notes.push_back(fmt::format(
        "{:.2g} % of a step are collectives between nodes, by rows of a node's GPUs and the links' "
        "own figures: no table has any, so that nobody knows how far they are off",
        100 * parts.links_ms / parts.all_ms()));
  return core::join(notes, "; ");
}

void add_note(std::string note, model::Table& table) {
  if (!note.empty()) table.notes.push_back(std::move(note));
}

std::string_view largest_part(const StepParts& parts) {
  return largest(parts).name;
}

double largest_percent(const StepParts& parts) {
  const double all = parts.all_ms();
  return all > 0 ? 100 * parts.*largest(parts).ms / all : 0;
}

}  // namespace assay::plan
