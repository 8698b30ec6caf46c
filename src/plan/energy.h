// What a load's kernels take in energy, as far as the rows that price them tell their power. Rows
// that do not tell it add nothing, so that every energy is that of the known part of the time.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/table.h"
#include "plan/closed_form.h"
#include "plan/price/step_prices.h"

namespace assay::plan {

// Of one GPU.
struct StepEnergy {
  double ms = 0;
  double measured_ms = 0;  // of operators whose very rows tell their power
  double between_ms = 0;   // of operators whose power lies between that of other rows
  double joules = 0;       // of both

  [[nodiscard]] double known_ms() const { return measured_ms + between_ms; }

  [[nodiscard]] double known_share() const { return ms > 0 ? known_ms() / ms : 0; }

  // While what is known runs; 0 where nothing is.
  [[nodiscard]] double watts() const { return known_ms() > 0 ? 1000 * joules / known_ms() : 0; }

  // `times`: how often the step counts.
  void add(const StepEnergy& step, double times);
};

StepEnergy energy_of(std::span<const OperatorCost> costs);

struct LoadEnergy {
  StepEnergy decoding = {};            // a step without prompts
  StepEnergy mean = {};                // of the steps of a request
  double joules_per_request = 0;       // of all GPUs
  std::int64_t tokens_of_request = 1;  // that come out

  [[nodiscard]] double joules_per_token() const {
    return joules_per_request / static_cast<double>(tokens_of_request);
  }
};

// `gpus`: those that compute a layer for one batch together.
LoadEnergy energy_of_load(const StepPrices& prices, const SteadyLoad& load, std::int64_t gpus);

// A table of it; std::nullopt where no row tells its power.
std::optional<model::Table> energy_table(const LoadEnergy& energy);

// That no row tells its power, in a sentence.
std::string no_energy_note();

// Tokens per joule are told only where so much of the time has known power.
inline constexpr double kLeastKnownShare = 0.9;

// Why they are not told, where this is the largest share that is known.
std::string little_energy_note(double known_share);

}  // namespace assay::plan
