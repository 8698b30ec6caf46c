// Options that say which requests come, beside a closed loop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"
#include "model/serving/model.h"
#include "plan/schedule/conversations.h"
#include "plan/schedule/workload.h"

namespace assay::cli {

class App;

struct WorkloadOptions {
  std::filesystem::path trace;
  std::optional<double> rate;  // requests a second
  std::int64_t requests = 1000;
  std::int64_t hash_tokens = 512;
  plan::Arrivals::Kind arrivals = plan::Arrivals::Kind::kGamma;
  double burstiness = 1;
  double prompt_deviation = 0;  // of lengths, in tokens; 0: they are as --least-length says
  double output_deviation = 0;
  std::optional<double> good_percent;
  std::int64_t conversations = 0;
  plan::NormalSpread turns = {.mean = 1};
  plan::NormalSpread delay_ms = {};
  std::int64_t clients = 0;  // that hold the conversations
  std::uint64_t seed = 0;

  // Whether requests come by themselves, rather than when others end.
  [[nodiscard]] bool is_open() const {
    return !trace.empty() || rate.has_value() || conversations > 0;
  }

  // The least share of requests that keep the limits.
  [[nodiscard]] double good_share() const { return good_percent.value_or(90) / 100; }

  // Error: --goodput and the like without such requests, or conversations that nobody begins.
  [[nodiscard]] core::Status check() const;
};

// Declares --workload, --request-rate, --requests, --request-rate-mode, --burstiness, --isl-stddev,
// --osl-stddev, --hash-tokens, --goodput, --seed and those of conversations.
void add_workload_options(App& app, WorkloadOptions& options);

// The lengths of requests that no trace tells.
struct NominalLengths {
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
  double least_length = 1;
  std::int64_t prefix_tokens = 0;  // that all prompts begin with
};

// Error: the trace does not read, or all of its requests come at once though a rate is asked for.
core::Result<plan::Workload> read_workload(const WorkloadOptions& options,
                                           const NominalLengths& lengths);

// "12000 requests of trace.jsonl, 3.4 a second"
std::string text_of(const WorkloadOptions& options, const plan::Workload& workload);

// Says how many of the requests are longer than the model's context, which engines refuse; "" where
// none is, or where its config.json does not tell the context.
std::string context_in_words(const serving::Model& model, const plan::Workload& workload);

// Says what the model makes of the requests: that, and that it finds no prefixes that they share.
void warn_of_requests(const serving::Model& model, const plan::Workload& workload);

// Says why a run is too short to show a queue that grows: all requests of a rate come within a few
// times the latency of one. Empty where it is long enough, or where no rate was asked for.
std::string short_run_in_words(const WorkloadOptions& options, double latency_ms);
void warn_of_short_run(const WorkloadOptions& options, double latency_ms);

}  // namespace assay::cli
