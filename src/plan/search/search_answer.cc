#include "plan/search/search_answer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "plan/search/search_report.h"

namespace assay::plan {
namespace {

std::string plural(std::int64_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

// Three digits, and all of a number that has more before the point.
std::string short_number(double value) {
  return std::abs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

double request_ms(const SearchRequest& request, const Candidate& one) {
  return request_ms_of(one.ttft_ms, one.tpot_ms, request.output_tokens);
}

// Both latencies at the same end of their bars.
ErrorBar request_bar(const SearchRequest& request, const Candidate& one) {
  if (!one.bars.tpot.is_known()) return {};
  const double ms = request_ms(request, one);
  const auto at = [&](double ttft, double tpot) {
    return request_ms_of(ttft * one.ttft_ms, tpot * one.tpot_ms, request.output_tokens) / ms;
  };
  return {.low = at(one.bars.ttft.low, one.bars.tpot.low),
          .high = at(one.bars.ttft.high, one.bars.tpot.high)};
}

// The same worker with the next larger load, among those that were decided.
const Candidate* next_load(const SearchResult& result, const Candidate& best) {
  const Candidate* next = nullptr;
  for (const Candidate& one : result.candidates) {
    if (!one.is_same_copy(best) || one.concurrency <= best.concurrency) continue;
    if (next == nullptr || one.concurrency < next->concurrency) next = &one;
  }
  return next;
}

std::string limit_line(const SearchResult& result,
                       const SearchRequest& request,
                       const Candidate& best) {
  const Candidate* next = next_load(result, best);
  if (next == nullptr)
    return fmt::format(
        "the most requests that this worker was tried with: {} on each copy, {:.3g} "
        "GB of each GPU",
        best.concurrency, best.memory_bytes / 1e9);
  const bool ttft = next->judged_ttft_ms() > request.ttft_limit_ms;
  const bool tpot = next->judged_tpot_ms() > request.tpot_limit_ms;
  if (ttft || tpot)
    return fmt::format(
        "{} requests a copy would take {} {} ms, which keeps the limit of {:g} ms with a chance of "
        "{:.0f} %",
        next->concurrency, ttft ? "TTFT to" : "TPOT to",
        short_number(ttft ? next->ttft_ms : next->tpot_ms),
        ttft ? request.ttft_limit_ms : request.tpot_limit_ms,
        100 * (ttft ? next->bars.ttft.chance_of(request.ttft_limit_ms / next->ttft_ms)
                    : next->bars.tpot.chance_of(request.tpot_limit_ms / next->tpot_ms)));
  if (next->judged_request_ms(request) > request.request_limit_ms)
    return fmt::format(
        "{} requests a copy would take {} ms each, {} by the chance that is asked for, beyond the "
        "limit of {:g} ms",
        next->concurrency, short_number(request_ms(request, *next)),
        short_number(next->judged_request_ms(request)), request.request_limit_ms);
  return fmt::format("{} requests a copy would not bring more: {} tokens/s per GPU",
                     next->concurrency, short_number(next->cluster_tokens_per_s_per_gpu));
}

std::string parts_line(const StepParts& parts) {
  const double all = parts.all_ms();
  return fmt::format(
      "a mean step takes {} ms: attention {:.0f} %, products {:.0f} %, experts {:.0f} %, "
      "communication {:.0f} %, other {:.0f} %",
      short_number(all), 100 * parts.attention_ms / all, 100 * parts.products_ms / all,
      100 * parts.experts_ms / all, 100 * parts.communication_ms / all, 100 * parts.other_ms / all);
}

std::vector<std::string> why_of(const SearchResult& result,
                                const SearchRequest& request,
                                const Picks& picks) {
  const Candidate& best = picks.best.front();
  std::vector<std::string> why;
  if (best.parts.all_ms() > 0) why.push_back(parts_line(best.parts));
  if (picks.meet) why.push_back(limit_line(result, request, best));
  if (picks.best.size() > 1) {
    const Candidate& second = picks.best[1];
    const std::string by =
        second.engine == best.engine ? "" : fmt::format(" by {}", name_of(second.engine));
    why.push_back(fmt::format("the best of another worker, {}{}, has {} tokens/s per GPU",
                              deployment_text(second), by,
                              with_bar(second.cluster_tokens_per_s_per_gpu, "", second.rate_bar)));
  }
  return why;
}

void add_limit_warning(std::vector<std::string>& warnings,
                       const char* latency,
                       const ErrorBar& bar,
                       double ms,
                       double limit_ms,
                       const std::string& advice = "--confidence asks for more") {
  const double high = bar.of(ms).high;
  if (high <= limit_ms) return;
  warnings.push_back(fmt::format(
      "{} may exceed its limit of {:g} ms: its error bar ends at {} ms, and it keeps "
      "the limit with "
      "a chance of {:.0f} %; {}",
      latency, limit_ms, short_number(high), 100 * bar.chance_of(limit_ms / ms), advice));
}

// Advises on what a benchmark sees, which is compared with no limit.
std::string benchmark_advice(const Candidate& best) {
  return fmt::format(
      "--ttft and --confidence act on TTFT of the long run ({} ms): with fewer requests in flight "
      "a "
      "benchmark's is shorter, which 'assay plan estimate --batch' tells and a smaller --ttft asks "
      "for",
      short_number(best.ttft_ms));
}

std::vector<std::string> warnings_of(const SearchRequest& request, const Candidate& best) {
  std::vector<std::string> warnings;
  if (best.benchmark_ttft_ms && best.ttft_ms <= request.ttft_limit_ms)
    add_limit_warning(warnings, "TTFT of a benchmark, whose first prompts come all at once,",
                      best.bars.ttft, *best.benchmark_ttft_ms, request.ttft_limit_ms,
                      benchmark_advice(best));
  if (best.tpot_ms <= request.tpot_limit_ms)
    add_limit_warning(warnings, "TPOT", best.bars.tpot, best.tpot_ms, request.tpot_limit_ms);
  if (request_ms(request, best) <= request.request_limit_ms)
    add_limit_warning(warnings, "a request", request_bar(request, best), request_ms(request, best),
                      request.request_limit_ms);
  if (best.parts.is_of_kernels())
    warnings.emplace_back(
        "prices are of the best kernels that assay measured, not of the engine's own: what the "
        "hardware allows; --systems-paths takes the engine's tables");
  if (const std::string links = unmeasured_links(best); !links.empty())
    warnings.push_back(
        links +
        " are reckoned with the rate of a link: nobody measured how engines send them, and error "
        "bars do not know of it");
  if (std::string bound = bound_note(best.parts); !bound.empty())
    warnings.push_back(std::move(bound));
  if (best.is_split())
    warnings.emplace_back(
        "error bars were found on deployments that compute prompts and decode on the same GPUs: "
        "nothing is known of how far disaggregated ones are off");
  if (best.is_split() && request.cached_prefix > 0)
    warnings.emplace_back(
        "prompts find their prefix in caches, which 'assay plan files' leaves off for instances of "
        "prompts: turn prefix caching on in their settings");
  if (request.speculation.tokens > 0) warnings.push_back(speculation_note(request.speculation));
  if (!best.is_simulated)
    warnings.emplace_back(
        "latencies are those of a mean step, without queues and without the wave of prompts that a "
        "benchmark begins with: --scheduler simulation has them");
  return warnings;
}

std::string files_command(const SearchSubject& subject,
                          const SearchRequest& request,
                          const Candidate& best) {
  const Worker& worker = best.worker;
  const auto beyond_one = [](const char* option, std::int64_t count) {
    return count > 1 ? fmt::format(" {} {}", option, count) : "";
  };
  return fmt::format(
      "assay plan files {} --tp {}{}{}{} --batch {}{}{} --isl {} --osl {} -o deployment",
      subject.command, worker.tp, beyond_one("--dp", worker.dp), beyond_one("--pp", worker.pp),
      beyond_one("--moe-ep", worker.moe_ep), best.concurrency / (worker.dp * worker.pp),
      beyond_one("--max-num-tokens", best.step_tokens), beyond_one("--copies", best.copies),
      request.prompt_tokens, request.output_tokens);
}

std::string split_files_command(const SearchSubject& subject,
                                const SearchRequest& request,
                                const Candidate& best) {
  const Split& split = best.split;
  return fmt::format(
      "assay plan files {}{} --prefill '{}P({})' --decode '{}D({})' --prefill-batch {} --batch {} "
      "--isl {} --osl {} -o deployment",
      subject.command,
      subject.decode_system.empty() ? "" : " --decode-system " + subject.decode_system,
      split.prefill_instances * best.copies, split.prefill.text(),
      split.decode_instances * best.copies, best.worker.text(), split.prefill_batch,
      split.decode_batch, request.prompt_tokens, request.output_tokens);
}

std::vector<std::string> next_of(const SearchSubject& subject,
                                 const SearchRequest& request,
                                 const Candidate& best) {
  return {best.is_split() ? split_files_command(subject, request, best)
                          : files_command(subject, request, best),
          "deployment/serve.sh, then deployment/measure.sh beside it",
          "assay plan validate deployment"};
}

// The error bar is of what benchmarks see, from the first wave of prompts on: no measurement of the
// long run tells how far its prediction is off.
std::string ttft_text(const Candidate& best) {
  std::string figure = short_number(best.ttft_ms) + " ms";
  if (!best.benchmark_ttft_ms) return figure;
  const std::string ends = bar_text(best.bars.ttft, *best.benchmark_ttft_ms);
  return fmt::format("{} (in a benchmark, with its first wave, {} ms{})", figure,
                     short_number(*best.benchmark_ttft_ms), ends.empty() ? "" : "; 80 %: " + ends);
}

// Where it is what limits are about.
std::string request_text(const SearchRequest& request, const Candidate& best) {
  if (!std::isfinite(request.request_limit_ms)) return "";
  return fmt::format(", a request {}",
                     with_bar(request_ms(request, best), "ms", request_bar(request, best)));
}

std::string idle_text(const SearchRequest& request, const Candidate& best) {
  const std::int64_t idle = request.gpus - best.copies * best.gpus();
  return idle > 0 ? fmt::format(" ({} idle)", plural(idle, "GPU stays", "GPUs stay")) : "";
}

}  // namespace

std::string deployment_text(const Candidate& candidate) {
  const std::string steps = candidate.step_tokens > 0
                                ? fmt::format(", at most {} tokens a step", candidate.step_tokens)
                                : "";
  return fmt::format("{} of {}, {} in flight{}{}", plural(candidate.copies, "copy", "copies"),
                     candidate.text(), plural(candidate.concurrency, "request", "requests"),
                     candidate.copies > 1 ? " on each" : "", steps);
}

std::string with_bar(double value, const std::string& unit, const ErrorBar& bar) {
  const std::string figure = short_number(value) + (unit.empty() ? "" : " " + unit);
  const std::string ends = bar_text(bar, value);
  return ends.empty() ? figure : fmt::format("{} (80 %: {})", figure, ends);
}

SearchAnswer answer_of(const SearchSubject& subject,
                       const SearchResult& result,
                       const SearchRequest& request,
                       const Picks& picks) {
  const Candidate& best = picks.best.front();
  const std::string figures = fmt::format(
      "{}, TTFT {}{}{}",
      with_bar(best.cluster_tokens_per_s_per_gpu, "tokens/s per GPU", best.rate_bar),
      ttft_text(best),
      request.has_tpot() ? ", TPOT " + with_bar(best.tpot_ms, "ms", best.bars.tpot) : "",
      request_text(request, best));
  const std::string bound = best.parts.all_ms() > 0
                                ? fmt::format("; most of a step goes to {} ({:.0f} %)",
                                              largest_part(best.parts), largest_percent(best.parts))
                                : "";
  SearchAnswer answer;
  const std::string what = fmt::format("{}: {}{}.", deployment_text(best), figures, bound);
  const std::string where = fmt::format("{} by {} on {} {}", subject.model, name_of(best.engine),
                                        request.gpus, subject.system);
  answer.sentence = picks.meet
                        ? fmt::format("Run {}{} as {}", where, idle_text(request, best), what)
                        : fmt::format("Nothing keeps {} with {}; closest comes {}",
                                      limits_text(request), where, what);
  answer.why = why_of(result, request, picks);
  answer.warnings = warnings_of(request, best);
  answer.next = next_of(subject, request, best);
  return answer;
}

}  // namespace assay::plan
