// What a load's kernels take in energy, as far as the rows that price them tell their power, or a
// model of such rows does. What neither tells adds nothing, so that every energy is that of the
// known part of the time.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/table.h"
#include "plan/load_costs.h"
#include "plan/price/step_prices.h"
#include "plan/schedule/step_log.h"
#include "plan/schedule/workload.h"

namespace assay::plan {

// Shares of the time of kernels, by where their power is from.
struct PowerShares {
  double measured = 0;
  double between = 0;
  double modelled = 0;
  double error = 0;  // a part of the energy of all three, that the model's errors come to

  [[nodiscard]] double known() const { return measured + between + modelled; }
};

// Of one GPU.
struct StepEnergy {
  double ms = 0;
  double measured_ms = 0;   // of operators whose very rows tell their power
  double between_ms = 0;    // of operators whose power lies between that of other rows
  double modelled_ms = 0;   // of operators whose power is of a model of other rows
  double joules = 0;        // of all three
  double error_joules = 0;  // the median errors of the model, as if all were off to the same side

  [[nodiscard]] double known_ms() const { return measured_ms + between_ms + modelled_ms; }

  [[nodiscard]] PowerShares shares() const;

  [[nodiscard]] double known_share() const { return ms > 0 ? known_ms() / ms : 0; }

  // While what is known runs; 0 where nothing is.
  [[nodiscard]] double watts() const { return known_ms() > 0 ? 1000 * joules / known_ms() : 0; }

  // `times`: how often the step counts.
  void add(const StepEnergy& step, double times);
};

StepEnergy energy_of(std::span<const OperatorCost> costs);

struct LoadEnergy {
  StepEnergy decoding = {};       // a step without prompts
  StepEnergy mean = {};           // of the steps of a request
  double joules_per_request = 0;  // of all GPUs
  double tokens_of_request = 1;   // that come out
  // Of GPUs that compute prompts alone, and of those that then decode; nothing where all do both.
  StepEnergy prompt_pool = {};
  StepEnergy decode_pool = {};

  [[nodiscard]] double joules_per_token() const { return joules_per_request / tokens_of_request; }
};

// `costs` are those of this load by `prices`; `gpus`: those that compute a layer for one batch
// together.
LoadEnergy energy_of_load(const StepPrices& prices,
                          const LoadCosts& costs,
                          const SteadyLoad& load,
                          std::int64_t gpus);

// Steps of a pool that so many requests share, on so many GPUs that compute a layer together.
struct PoolEnergy {
  StepEnergy step = {};
  double steps = 1;  // of a request
  std::int64_t gpus = 1;
  std::int64_t requests = 1;
};

// Of a request whose prompt is computed by one pool, and which another decodes. The mean is that of
// all their GPUs.
LoadEnergy energy_of_pools(const PoolEnergy& prompts,
                           const PoolEnergy& decoding,
                           double output_tokens);

// Steps that were simulated, on so many GPUs that compute a layer together.
struct RunSteps {
  const StepPrices* prices = nullptr;
  const StepLog* steps = nullptr;
  std::int64_t gpus = 1;
};

// The requests that were served, and their tokens that came out.
struct ServedRequests {
  std::int64_t requests = 1;
  std::int64_t output_tokens = 1;
};

ServedRequests served_requests(const Workload& workload);

// Of all steps that ran; there is no step that would stand for them.
LoadEnergy energy_of_run(const RunSteps& run, const ServedRequests& served);
LoadEnergy energy_of_run(const RunSteps& prompts,
                         const RunSteps& decoding,
                         const ServedRequests& served);

// Adds the table to a book, or says in its first table why there is none.
void add_energy(const LoadEnergy& energy, model::Book& book);

// The power of a small part of the time says nothing of the rest.
inline constexpr double kLeastToldShare = 0.5;

// A table of it; std::nullopt where the power of less than kLeastToldShare of the time is known.
std::optional<model::Table> energy_table(const LoadEnergy& energy);

// "powers by a model ...": what a model's part in the energy means for its error; "" where there is
// none.
std::string modelled_power_note(const PowerShares& shares);

// That rows tell the power of none of the time, or of too little, in a sentence.
std::string no_energy_note(double known_share);

// Tokens per joule are told only where so much of the time has known power.
inline constexpr double kLeastKnownShare = 0.9;

// Why they are not told, where this is the largest share that is known.
std::string little_energy_note(double known_share);

}  // namespace assay::plan
