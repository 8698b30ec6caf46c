#include "plan/energy.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace assay::plan {
namespace {

constexpr double kMsPerS = 1e3;

StepEnergy energy_with_power(std::vector<OperatorCost> costs) {
  add_power(costs);
  return energy_of(costs);
}

// Engines with prompts in steps of their own decode in the others alone.
LoadEnergy of_steps_apart(const LoadCosts& costs) {
  const SteadySteps& steps = costs.steps;
  LoadEnergy energy{.decoding = energy_with_power(costs.decoding)};
  const double of_decoding = steps.decode_steps / static_cast<double>(steps.decoding().decodes);
  energy.mean.add(energy_with_power(costs.prompts_apart), steps.prompt_steps);
  energy.mean.add(energy.decoding, of_decoding);
  return energy;
}

// Prompts of which a step computes so many at once; between whole numbers the mean of steps with
// one less and one more.
StepEnergy energy_with_prompts(const StepPrices& prices, const SteadySteps& steps, double prompts) {
  const auto energy_with = [&](double whole) {
    std::array<Chunks, 1> chunks = steps.chunks;
    chunks.front().requests = std::llround(whole);
    return energy_of(prices.powered_operators({.chunks = chunks,
                                               .finished_prompts = chunks.front().requests,
                                               .decodes = steps.decodes,
                                               .decode_cached = steps.decode_cached}));
  };
  const double fewer = std::floor(prompts);
  StepEnergy energy;
  energy.add(energy_with(fewer), 1 - (prompts - fewer));
  if (prompts > fewer) energy.add(energy_with(fewer + 1), prompts - fewer);
  return energy;
}

// As many requests share a step as are in flight. Where more than one prompt begins in a step, all
// steps have as many as the budget lets in, and fewer requests decode while others wait.
LoadEnergy of_mixed_steps(const StepPrices& prices,
                          const LoadCosts& costs,
                          const SteadyLoad& load) {
  SteadySteps steps = costs.steps;
  LoadEnergy energy{.decoding = energy_with_power(costs.decoding)};
  const double stay = steps.stay / static_cast<double>(load.concurrency);
  const double begun = steps.prompt_steps / stay;
  if (begun <= 1) {
    energy.mean.add(energy.decoding, stay * (1 - steps.mixed_share));
    energy.mean.add(energy_with_power(costs.mixed), stay * steps.mixed_share);
    return energy;
  }
  const std::int64_t room = load.token_budget - steps.decodes * load.speculation.verified();
  const auto most =
      static_cast<double>(std::max<std::int64_t>(1, room / steps.chunks.front().new_tokens));
  const double chunks = std::min(begun, most);
  const double of_request = steps.prompt_steps / chunks;
  steps.decodes = std::llround(steps.decode_steps / of_request);
  energy.mean.add(energy_with_prompts(prices, steps, chunks), of_request);
  return energy;
}

// Of all GPUs together.
StepEnergy energy_of_all(const RunSteps& run) {
  StepEnergy all;
  for (const AlikeSteps& alike : run.steps->alike())
    all.add(energy_of(run.prices->powered_operators(alike.step())),
            alike.steps * static_cast<double>(run.gpus));
  return all;
}

double& time_of(PowerSource source, StepEnergy& energy) {
  switch (source) {
    case PowerSource::kMeasured:
      return energy.measured_ms;
    case PowerSource::kBetween:
      return energy.between_ms;
    case PowerSource::kModelled:
      break;
  }
  return energy.modelled_ms;
}

void add_served(const ServedRequests& served, LoadEnergy& energy) {
  const auto requests = static_cast<double>(served.requests);
  energy.joules_per_request = energy.mean.joules / requests;
  energy.tokens_of_request = static_cast<double>(served.output_tokens) / requests;
}

}  // namespace

void StepEnergy::add(const StepEnergy& step, double times) {
  ms += times * step.ms;
  measured_ms += times * step.measured_ms;
  between_ms += times * step.between_ms;
  modelled_ms += times * step.modelled_ms;
  joules += times * step.joules;
  error_joules += times * step.error_joules;
}

PowerShares StepEnergy::shares() const {
  if (ms <= 0) return {};
  return {.measured = measured_ms / ms,
          .between = between_ms / ms,
          .modelled = modelled_ms / ms,
          .error = joules > 0 ? error_joules / joules : 0};
}

StepEnergy energy_of(std::span<const OperatorCost> costs) {
  StepEnergy energy;
  for (const OperatorCost& one : costs) {
    energy.ms += one.cost.ms;
    if (!one.power) continue;
    time_of(one.power->source, energy) += one.cost.ms;
    const double joules = one.power->watts * one.cost.ms / kMsPerS;
    energy.joules += joules;
    energy.error_joules += one.power->error * joules;
  }
  return energy;
}

LoadEnergy energy_of_load(const StepPrices& prices,
                          const LoadCosts& costs,
                          const SteadyLoad& load,
                          std::int64_t gpus) {
  LoadEnergy energy = load.prompts == PromptSteps::kApart ? of_steps_apart(costs)
                                                          : of_mixed_steps(prices, costs, load);
  energy.joules_per_request = static_cast<double>(gpus) * energy.mean.joules;
  energy.tokens_of_request = static_cast<double>(load.output_tokens);
  return energy;
}

LoadEnergy energy_of_pools(const PoolEnergy& prompts,
                           const PoolEnergy& decoding,
                           double output_tokens) {
  LoadEnergy energy{.decoding = decoding.step,
                    .tokens_of_request = output_tokens,
                    .prompt_pool = prompts.step,
                    .decode_pool = decoding.step};
  for (const PoolEnergy* pool : {&prompts, &decoding})
    energy.mean.add(pool->step, pool->steps * static_cast<double>(pool->gpus) /
                                    static_cast<double>(pool->requests));
  energy.joules_per_request = energy.mean.joules;
  return energy;
}

ServedRequests served_requests(const Workload& workload) {
  ServedRequests served{.requests = static_cast<std::int64_t>(workload.requests.size()),
                        .output_tokens = 0};
  for (const Request& request : workload.requests)
    served.output_tokens += request.output_tokens;
  return served;
}

LoadEnergy energy_of_run(const RunSteps& run, const ServedRequests& served) {
  LoadEnergy energy{.mean = energy_of_all(run)};
  add_served(served, energy);
  return energy;
}

LoadEnergy energy_of_run(const RunSteps& prompts,
                         const RunSteps& decoding,
                         const ServedRequests& served) {
  LoadEnergy energy{.prompt_pool = energy_of_all(prompts), .decode_pool = energy_of_all(decoding)};
  energy.mean.add(energy.prompt_pool, 1);
  energy.mean.add(energy.decode_pool, 1);
  add_served(served, energy);
  return energy;
}

void add_energy(const LoadEnergy& energy, model::Book& book) {
  if (auto table = energy_table(energy)) {
    book.tables.push_back(std::move(*table));
  } else {
    book.tables.front().notes.push_back(no_energy_note(energy.mean.known_share()));
  }
}

std::optional<model::Table> energy_table(const LoadEnergy& energy) {
  const StepEnergy& mean = energy.mean;
  if (mean.known_share() < kLeastToldShare) return std::nullopt;
  model::Table table{.name = "energy",
                     .title = "Power of the part of the time of which it is known",
                     .columns = {{.name = "figure"}, {.name = "value"}, {.name = "unit"}}};
  const PowerShares shares = mean.shares();
  table.add_row({"time with known power", 100 * shares.known(), "%"});
  table.add_row({"power measured with the row", 100 * shares.measured, "%"});
  table.add_row({"power between measured rows", 100 * shares.between, "%"});
  table.add_row({"power by a model of measured rows", 100 * shares.modelled, "%"});
  table.add_row({"power unknown", 100 - 100 * mean.known_share(), "%"});
  table.add_row({"mean power of a GPU", mean.watts(), "W"});
  if (energy.prompt_pool.known_ms() > 0)
    table.add_row({"mean power of a GPU of prompts", energy.prompt_pool.watts(), "W"});
  if (energy.decode_pool.known_ms() > 0)
    table.add_row({"mean power of a GPU that decodes", energy.decode_pool.watts(), "W"});
  table.notes.emplace_back(
      "while kernels run; nothing is added for time whose power is unknown, for waiting, and for "
      "the host");
  if (const std::string modelled = modelled_power_note(shares); !modelled.empty()) {
    table.add_row({"error that follows from the model", 100 * shares.error, "%"});
    table.notes.push_back(modelled);
  }
  if (mean.known_share() < kLeastKnownShare) {
    table.notes.push_back(
        fmt::format("joules of a step, a request and a token are left out: they need the power of "
                    "{:.0f} % of the time",
                    100 * kLeastKnownShare));
    return table;
  }
  if (energy.decoding.known_ms() > 0)
    table.add_row({"step that decodes, of a GPU", energy.decoding.joules, "J"});
  table.add_row({"request", energy.joules_per_request, "J"});
  table.add_row({"output token", energy.joules_per_token(), "J"});
  return table;
}

std::string modelled_power_note(const PowerShares& shares) {
  if (shares.modelled <= 0) return "";
  return "powers by a model, of the rates of bytes and operations, were not measured: the error is "
         "its "
         "median at measured rows that it had not seen, as if all were off to the same side; that "
         "of "
         "powers between rows is not known and not in it";
}

std::string no_energy_note(double known_share) {
  if (known_share == 0)
    return "no row that prices it tells its power, so that nothing is said of energy";
  return fmt::format(
      "nothing is said of energy: rows, or a model of them, tell the power of {:.2g} % of the "
      "time, "
      "and of less than {:.0f} % no mean is told",
      100 * known_share, 100 * kLeastToldShare);
}

std::string little_energy_note(double known_share) {
  return fmt::format(
      "tokens per joule are left out: they need the power of {:.0f} % of the steps' time, and "
      "rows, "
      "or a model of them, tell that of {:.0f} % at most",
      100 * kLeastKnownShare, std::floor(100 * known_share));
}

}  // namespace assay::plan
