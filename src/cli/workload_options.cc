#include "cli/workload_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_options.h"
#include "core/counted.h"
#include "core/file_kind.h"
#include "plan/schedule/request_trace.h"
#include "plan/serve_workload.h"

namespace assay::cli {
namespace {

constexpr const char* kWorkloadGroup = "Requests that come by themselves";

std::string goodput_problem(const std::string& text) {
  const std::optional<double> percent = finite_number(text);
  return percent && *percent > 0 && *percent <= 100 ? "" : "must be above 0 and at most 100";
}

plan::Lengths nominal(std::int64_t tokens, double deviation, double least_length) {
  if (deviation > 0) {
    return {.kind = plan::Lengths::Kind::kLognormal,
            .tokens = static_cast<double>(tokens),
            .ratio = deviation / static_cast<double>(tokens)};
  }
  return {.kind = least_length < 1 ? plan::Lengths::Kind::kUniform : plan::Lengths::Kind::kFixed,
          .tokens = static_cast<double>(tokens),
          .ratio = least_length};
}

// The names are those of aiperf, and --burstiness that of vLLM's benchmark.
void add_arrival_options(App& app, WorkloadOptions& options, Option* rate, const Option* trace) {
  static const Choices<plan::Arrivals::Kind> modes{{"poisson", plan::Arrivals::Kind::kGamma},
                                                   {"constant", plan::Arrivals::Kind::kConstant}};
  Option* mode = add_choice(app, "--request-rate-mode", options.arrivals, modes,
                            "how they come: at random, or with equal gaps");
  mode->group(kWorkloadGroup)->needs(rate)->excludes(trace);
  app.add_option("--burstiness", options.burstiness,
                 "of random arrivals: below 1 they come in bursts, above 1 more evenly")
      ->type_name("SHAPE")
      ->default_str("1")
      ->group(kWorkloadGroup)
      ->check(positive_number_problem)
      ->needs(rate)
      ->excludes(trace);
  const auto add_deviation = [&](const char* name, double& tokens, const char* help) {
    app.add_option(name, tokens, help)
        ->type_name("N")
        ->default_str("as --least-length says")
        ->group(kWorkloadGroup)
        ->check(positive_number_problem)
        ->excludes(trace);
  };
  add_deviation("--isl-stddev", options.prompt_deviation,
                "the deviation of prompts in tokens, which are then lognormal");
  add_deviation("--osl-stddev", options.output_deviation,
                "the deviation of answers in tokens, which are then lognormal");
}

// The names are those of aiperf, and --num-clients that of vLLM's benchmark of such conversations.
void add_conversation_options(App& app,
                              WorkloadOptions& options,
                              const Option* trace,
                              Option* requests) {
  constexpr const char* kConversations = "Conversations, whose turns hold all that was said";
  const Option* conversations =
      app.add_option("--conversation-num", options.conversations,
                     "how many are held; each turn adds --isl tokens and is answered by --osl")
          ->type_name("N")
          ->group(kConversations)
          ->check(count_up_to(plan::kMostRequests))
          ->excludes(trace)
          ->excludes(requests);
  // Of them the prompts are what was said, and their turns come at random or from clients.
  for (const char* name : {"--prefix", "--request-rate-mode", "--burstiness"})
    if (Option* option = app.find(name); option != nullptr) option->excludes(conversations);
  const auto add = [&](const char* name, double& value, const char* unit, const char* standard,
                       const char* help) {
    app.add_option(name, value, help)
        ->type_name(unit)
        ->default_str(standard)
        ->group(kConversations)
        ->check(not_negative_problem)
        ->needs(conversations);
  };
  add("--conversation-turn-mean", options.turns.mean, "N", "1", "turns of one, in the mean");
  add("--conversation-turn-stddev", options.turns.deviation, "N", "0", "their deviation (normal)");
  add("--conversation-turn-delay-mean", options.delay_ms.mean, "MS", "0",
      "ms from an answer to the next turn, in the mean");
  add("--conversation-turn-delay-stddev", options.delay_ms.deviation, "MS", "0",
      "its deviation (normal)");
  app.add_option("--num-clients", options.clients,
                 "clients that hold the conversations, each one after the other, instead of "
                 "--request-rate")
      ->type_name("N")
      ->group(kConversations)
      ->check(count_up_to(plan::kMostRequests))
      ->needs(conversations);
}

}  // namespace

void add_workload_options(App& app, WorkloadOptions& options) {
  const Option* trace =
      app.add_option("--workload", options.trace,
                     "recorded requests: JSON lines with timestamp (ms), input_length, "
                     "output_length and hash_ids, as Mooncake's traces have them")
          ->type_name("FILE")
          ->group(kWorkloadGroup);
  Option* rate =
      app.add_option("--request-rate", options.rate,
                     "requests that come in a second, in the mean: those of --workload, faster or "
                     "slower, or random arrivals (Poisson) of --isl and --osl tokens")
          ->type_name("N")
          ->group(kWorkloadGroup)
          ->check(positive_number_problem);
  Option* requests =
      app.add_option("--requests", options.requests, "how many come at --request-rate")
          ->type_name("N")
          ->default_str("1000")
          ->group(kWorkloadGroup)
          ->check(count_up_to(plan::kMostRequests))
          ->needs(rate)
          ->excludes(trace);
  add_arrival_options(app, options, rate, trace);
  app.add_option("--hash-tokens", options.hash_tokens,
                 "tokens of a prompt that one of the trace's hash_ids stands for")
      ->type_name("N")
      ->default_str("512")
      ->group(kWorkloadGroup)
      ->check(count_up_to(plan::kMostTokens))
      ->needs(trace);
  // What the trace tells, and what only the requests of a closed loop have.
  for (const char* name : {"--isl", "--osl", "--least-length", "--prefix"})
    if (Option* option = app.find(name); option != nullptr) option->excludes(trace);
  if (Option* scheduler = app.find("--scheduler"); scheduler != nullptr)
    scheduler->excludes(trace)->excludes(rate);
  app.add_option("--goodput", options.good_percent,
                 "least percent of these requests that must keep --ttft and --tpot")
      ->type_name("PERCENT")
      ->default_str("90")
      ->group(kWorkloadGroup)
      ->check(goodput_problem);
  add_conversation_options(app, options, trace, requests);
  app.add_option("--seed", options.seed, "of the lengths and arrivals that are drawn")
      ->type_name("N")
      ->default_str("0")
      ->group(kWorkloadGroup)
      ->excludes(trace);
}

core::Status WorkloadOptions::check() const {
  if (conversations > 0 && rate.has_value() == (clients > 0)) {
    return core::Error{
        "--conversation-num needs to know when conversations begin: say either --request-rate, at "
        "which their turns come in the mean, or --num-clients, which hold one after the other"};
  }
  if (arrivals == plan::Arrivals::Kind::kConstant && burstiness != 1)
    return core::Error{
        "--burstiness is of random arrivals: leave out --request-rate-mode constant"};
  if (!is_open() && (prompt_deviation > 0 || output_deviation > 0)) {
    return core::Error{
        "--isl-stddev and --osl-stddev are of requests that come by themselves: say which by "
        "--request-rate"};
  }
  if (!good_percent || is_open()) return {};
  return core::Error{
      "--goodput is of requests that come by themselves: say which by --workload or "
      "--request-rate"};
}

core::Result<plan::Workload> read_workload(const WorkloadOptions& options,
                                           const NominalLengths& lengths) {
  const plan::Lengths prompt =
      nominal(lengths.prompt_tokens, options.prompt_deviation, lengths.least_length);
  const plan::Lengths output =
      nominal(lengths.output_tokens, options.output_deviation, lengths.least_length);
  if (options.conversations > 0) {
    return plan::make_conversations({.conversations = options.conversations,
                                     .prompt = prompt,
                                     .output = output,
                                     .turns = options.turns,
                                     .delay_ms = options.delay_ms,
                                     .clients = options.clients,
                                     .per_second = options.rate.value_or(0) / options.turns.mean,
                                     .seed = options.seed});
  }
  if (options.trace.empty()) {
    return plan::make_workload({.requests = options.requests,
                                .prompt = prompt,
                                .output = output,
                                .arrivals = {.kind = options.arrivals,
                                             .per_second = *options.rate,
                                             .burstiness = options.burstiness},
                                .prefix_tokens = lengths.prefix_tokens,
                                .seed = options.seed});
  }
  const std::string name = options.trace.string();
  auto workload = ASSAY_TRY(plan::parse_request_trace(
      ASSAY_TRY(core::read_text(options.trace, core::TextFormat::kJsonLines)), name,
      {.tokens_of_hash = options.hash_tokens}));
  if (!options.rate) return workload;
  if (const core::Status set = plan::set_rate(*options.rate, workload); !set.ok())
    return set.error().context(name);
  return workload;
}

std::string context_in_words(const serving::Model& model, const plan::Workload& workload) {
  if (model.context == 0) return "";
  std::size_t refused = 0;
  std::int64_t longest = 0;
  for (const plan::Request& request : workload.requests) {
    const std::int64_t tokens = request.prompt_tokens + request.output_tokens;
    if (tokens > model.context) ++refused;
    longest = std::max(longest, tokens);
  }
  if (refused == 0) return "";
  return fmt::format(
      "{} takes sequences of up to {} tokens (max_position_embeddings): engines refuse {} of the "
      "{} "
      "requests, of which the longest has {}",
      model.name, model.context, refused, workload.requests.size(), longest);
}

void warn_of_requests(const serving::Model& model, const plan::Workload& workload) {
  std::vector<std::string> texts = {context_in_words(model, workload)};
  if (!workload.pieces.empty()) texts.push_back(plan::unfound_prefixes_in_words(model.family));
  for (const std::string& text : texts)
    if (!text.empty()) print_warning(text);
}

std::string short_run_in_words(const WorkloadOptions& options, double latency_ms) {
  // Every deployment takes all that come while no request has ended yet.
  constexpr double kFewestLatencies = 5;
  constexpr double kEnoughLatencies = 10;
  if (!options.rate || !options.trace.empty() || options.conversations > 0) return "";
  const double window_s = static_cast<double>(options.requests) / *options.rate;
  const double latency_s = latency_ms / 1000;
  if (!(window_s < kFewestLatencies * latency_s)) return "";
  return fmt::format(
      "{} requests at {:g} a second come within {:.3g} s, and one takes {:.3g} s: a queue that "
      "grows does not show; --requests {:.0f} or more would show it",
      options.requests, *options.rate, window_s, latency_s,
      std::ceil(kEnoughLatencies * latency_s * *options.rate / 100) * 100);
}

void warn_of_short_run(const WorkloadOptions& options, double latency_ms) {
  const std::string text = short_run_in_words(options, latency_ms);
  if (!text.empty()) print_warning(text);
}

std::string text_of(const WorkloadOptions& options, const plan::Workload& workload) {
  const double rate = options.rate.value_or(plan::rate_of(workload));
  std::string text = core::counted(workload.requests.size(), "request");
  if (!options.trace.empty()) text += " of " + options.trace.string();
  if (!workload.turns.empty()) {
    const auto conversations =
        std::count_if(workload.turns.begin(), workload.turns.end(),
                      [](const plan::Turn& turn) { return turn.number == 1; });
    text += " in " + core::counted(conversations, "conversation");
  }
  // Later turns come when others were answered, so that only a rate that was asked for is one.
  if (!workload.turns.empty() && options.clients == 0 && !options.rate) return text;
  if (options.clients > 0) return text + " of " + core::counted(options.clients, "client");
  return text + (rate > 0 ? fmt::format(", {:.3g} a second", rate) : ", all at once");
}

}  // namespace assay::cli
