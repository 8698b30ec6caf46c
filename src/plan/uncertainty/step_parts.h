// Of what a step's time consists, and how sure its prices are.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/table.h"
#include "plan/load_costs.h"
#include "plan/price/step_prices.h"

namespace assay::plan {

// Milliseconds of a step by what they are spent on.
struct StepParts {
  double attention_ms = 0;
  double products_ms = 0;
  double experts_ms = 0;
  double communication_ms = 0;
  double other_ms = 0;  // norms, activations, the embedding

  double kernels_ms = 0;  // of all, what assay's own measurements of kernels priced
  double bound_ms = 0;    // of all, what was priced by a lower bound
  double links_ms = 0;    // of all, collectives between nodes, which nobody measured
  // One sigma of the logarithm of the whole, from rows that lie between measured ones. Errors of
  // rows of one table and source go together: one sweep measured them and one surface interpolates
  // them. Different tables err each for itself.
  double price_sigma = 0;

  [[nodiscard]] double all_ms() const {
    return attention_ms + products_ms + experts_ms + communication_ms + other_ms;
  }

  [[nodiscard]] double experts_share() const;  // 0 of no time

  [[nodiscard]] bool is_of_kernels() const { return 2 * kernels_ms > all_ms(); }
};

// What one operator adds to a step.
struct PricedPart {
  std::string_view table = {};
  std::string_view source = {};
  double ms = 0;
  double sigma = 0;  // of its logarithm
  Fidelity fidelity = Fidelity::kEngine;
};

StepParts parts_of(std::span<const PricedPart> priced);

// Of one step.
StepParts parts_of(const std::vector<OperatorCost>& costs);

// The parts of the mean step of a load, which tell TPOT, and those of a step with prompts, which
// tell TTFT.
struct LoadParts {
  StepParts mean;
  StepParts prompt;
};

LoadParts parts_of_load(const LoadCosts& costs);

// The same where some instances compute prompts and others decode: a step of each.
LoadParts parts_of_pools(const StepPrices& prefill,
                         const Step& prompts,
                         const StepPrices& decode,
                         const Step& decoding);

// That a part of the step has a lower bound for a price, or one of links, in sentences; "" where
// none has.
std::string bound_note(const StepParts& parts);

// Adds a note that says anything.
void add_note(std::string note, model::Table& table);

// What most of a step's time goes to: "experts".
std::string_view largest_part(const StepParts& parts);

// Its share of the step, in percent.
double largest_percent(const StepParts& parts);

}  // namespace assay::plan
