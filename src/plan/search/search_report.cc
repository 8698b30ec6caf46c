#include "plan/search/search_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/text.h"
#include "plan/schedule/workload.h"

namespace assay::plan {
namespace {

using model::Better;
using model::Cell;
using model::Column;
using model::Table;

constexpr double kBytesPerGb = 1e9;
constexpr const char* kUnbroken = "\u00a0";  // a space at which no line ends

// A frontier that is read has no two rows whose speed differs by less.
constexpr double kReadStep = 0.15;

// Lines do not end between a word and its number: "tp 8".
std::string with_whole_numbers(const std::string& text) {
  std::string whole;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool before_number = text[i] == ' ' && i + 1 < text.size() && core::is_digit(text[i + 1]);
    if (before_number) {
      whole += kUnbroken;
    } else {
      whole += text[i];
    }
  }
  return whole;
}

// With as many digits as `largest` needs for three.
double three_digits(double value, double largest) {
  const double digits = std::pow(10, std::max(0.0, 2 - std::floor(std::log10(largest))));
  return std::round(value * digits) / digits;
}

class CandidateColumns {
 public:
  CandidateColumns(BarColumns bars, ToldColumns told, bool has_benchmarks)
      : bars_(bars), told_(std::move(told)), has_benchmarks_(has_benchmarks) {}

  [[nodiscard]] std::vector<Column> columns() const {
    std::vector<Column> columns = bars_ == BarColumns::kPairs ? pairs() : texts();
    if (told_.engine) columns.insert(columns.begin(), {.name = "engine"});
    if (tells_drafts()) {
      columns.push_back({.name = "drafted tokens"});
      columns.push_back({.name = "tokens per step"});
    }
    if (told_.step_tokens) columns.push_back({.name = "tokens of a step"});
    if (told_.energy) columns.push_back({.name = "tokens per J", .better = Better::kHigher});
    if (told_.energy && bars_ == BarColumns::kPairs) {
      for (const char* share : {"power measured", "power between", "power modelled", "J error"})
        columns.push_back({.name = share, .unit = "%"});
    }
    return columns;
  }

  [[nodiscard]] std::vector<Cell> row(const Candidate& one) const {
    const auto copies = static_cast<double>(one.copies);
    std::vector<Cell> cells;
    if (told_.engine) cells.emplace_back(std::string(name_of(one.engine)));
    // Readers see it from the copy.
    if (bars_ == BarColumns::kPairs) cells.emplace_back(one.is_split() ? "disagg" : "agg");
    const std::string links = unmeasured_links(one);
    const std::string mark = links.empty() ? "" : " *";
    cells.emplace_back(bars_ == BarColumns::kPairs ? one.text()
                                                   : with_whole_numbers(one.text() + mark));
    cells.emplace_back(one.copies);
    cells.emplace_back(one.concurrency * one.copies);
    add(cells, one.cluster_tokens_per_s_per_gpu, one.rate_bar);
    if (bars_ == BarColumns::kPairs) {
      const ErrorBar speed = {.low = 1 / one.bars.tpot.high, .high = 1 / one.bars.tpot.low};
      add_of_further_tokens(cells, one.tokens_per_s_per_user, speed);
      cells.emplace_back(one.requests_per_s * copies);
    }
    cells.emplace_back(one.ttft_ms);
    if (has_benchmarks_ && one.benchmark_ttft_ms)
      add(cells, *one.benchmark_ttft_ms, one.bars.ttft);
    else if (has_benchmarks_)
      cells.insert(cells.end(), 3, Cell());
    add_of_further_tokens(cells, one.tpot_ms, one.bars.tpot);
    cells.emplace_back(one.memory_bytes / kBytesPerGb);
    if (bars_ == BarColumns::kPairs) {
      add_parts(cells, one.parts);
      cells.emplace_back(links);
    } else {
      cells.emplace_back(bound_text(one.parts));
    }
    if (tells_drafts()) {
      cells.emplace_back(told_.speculation.tokens);
      cells.emplace_back(told_.speculation.tokens_per_step());
    }
    if (told_.step_tokens) cells.push_back(one.step_tokens > 0 ? Cell(one.step_tokens) : Cell());
    if (told_.energy) add_energy(cells, one);
    return cells;
  }

 private:
  void add_energy(std::vector<Cell>& cells, const Candidate& one) const {
    cells.push_back(one.has_energy() ? Cell(one.tokens_per_joule) : Cell());
    if (bars_ != BarColumns::kPairs) return;
    for (const double share : {one.power.measured, one.power.between, one.power.modelled})
      cells.emplace_back(100 * share);
    cells.push_back(one.has_energy() ? Cell(100 * one.power.error) : Cell());
  }

  // Readers see it from a note.
  [[nodiscard]] bool tells_drafts() const {
    return bars_ == BarColumns::kPairs && told_.speculation.tokens > 0;
  }

  [[nodiscard]] std::vector<Column> pairs() const {
    std::vector<Column> columns = {
        {.name = "mode"}, {.name = "one copy"}, {.name = "copies"}, {.name = "concurrency"}};
    const auto add_pair = [&](const Column& column) {
      columns.push_back(column);
      columns.push_back({.name = column.name + " low", .unit = column.unit});
      columns.push_back({.name = column.name + " high", .unit = column.unit});
    };
    add_pair({.name = "tokens/s per GPU", .better = Better::kHigher});
    add_pair({.name = "tokens/s per user", .better = Better::kHigher});
    columns.push_back({.name = "requests", .unit = "1/s", .better = Better::kHigher});
    columns.push_back({.name = "TTFT", .unit = "ms", .better = Better::kLower});
    if (has_benchmarks_)
      add_pair({.name = "benchmark's TTFT", .unit = "ms", .better = Better::kLower});
    add_pair({.name = "TPOT", .unit = "ms", .better = Better::kLower});
    columns.push_back({.name = "memory", .unit = "GB"});
    for (const char* part : {"attention", "products", "experts", "communication", "other"})
      columns.push_back({.name = part, .unit = "%"});
    columns.push_back({.name = "unmeasured links"});
    return columns;
  }

  static std::vector<Column> texts() {
    return {{.name = "one copy"},
            {.name = "copies"},
            {.name = "concurrency"},
            {.name = "tokens/s per GPU (80\u00a0%)"},
            {.name = "TTFT", .unit = "ms", .better = Better::kLower},
            {.name = "TPOT in ms (80\u00a0%)"},
            {.name = "memory", .unit = "GB"},
            {.name = "most of a step"}};
  }

  void add(std::vector<Cell>& cells, double value, const ErrorBar& bar) const {
    if (bars_ == BarColumns::kTexts) {
      cells.emplace_back(with_bar(value, bar));
      return;
    }
    cells.emplace_back(value);
    const Interval ends = bar.of(value);
    cells.push_back(bar.is_known() ? Cell(ends.low) : Cell());
    cells.push_back(bar.is_known() ? Cell(ends.high) : Cell());
  }

  // Empty where answers have one token.
  void add_of_further_tokens(std::vector<Cell>& cells, double value, const ErrorBar& bar) const {
    if (told_.tpot)
      add(cells, value, bar);
    else
      cells.insert(cells.end(), bars_ == BarColumns::kPairs ? 3 : 1, Cell());
  }

  static void add_parts(std::vector<Cell>& cells, const StepParts& parts) {
    const double all = parts.all_ms();
    for (const double ms : {parts.attention_ms, parts.products_ms, parts.experts_ms,
                            parts.communication_ms, parts.other_ms})
      cells.push_back(all > 0 ? Cell(100 * ms / all) : Cell());
  }

  static std::string with_bar(double value, const ErrorBar& bar) {
    std::string figure = fmt::format("{}", three_digits(value, value));
    if (!bar.is_known()) return figure;
    return figure + kUnbroken + '(' + bar_text(bar, value, "–") + ')';
  }

  static std::string bound_text(const StepParts& parts) {
    if (parts.all_ms() <= 0) return "";
    return fmt::format("{}{}{:.0f}{}%", largest_part(parts), kUnbroken, largest_percent(parts),
                       kUnbroken);
  }

  BarColumns bars_;
  ToldColumns told_;
  bool has_benchmarks_;
};

// From the fastest to the one with the most tokens, both of which stay.
std::vector<Candidate> thinned(const std::vector<Candidate>& all) {
  std::vector<Candidate> kept;
  for (const Candidate& one : all) {
    const bool is_step = kept.empty() || one.tokens_per_s_per_user <
                                             kept.back().tokens_per_s_per_user * (1 - kReadStep);
    if (is_step) kept.push_back(one);
  }
  if (!all.empty() && kept.back().tokens_per_s_per_user > all.back().tokens_per_s_per_user)
    kept.push_back(all.back());
  return kept;
}

Table frontier_table(const SearchResult& result, BarColumns bars, const ToldColumns& told) {
  const std::vector<Candidate> all = frontier(result.candidates);
  const std::vector<Candidate> shown = bars == BarColumns::kTexts ? thinned(all) : all;
  Table table =
      candidates_table("frontier", "The frontier of throughput and speed", shown, bars, told);
  if (shown.size() < all.size()) {
    table.notes.push_back(
        fmt::format("{} of {} deployments, at least {:.0f} % apart in TPOT; "
                    "--format csv and --html have all",
                    shown.size(), all.size(), 100 * kReadStep));
  }
  return table;
}

// The first one's alone: a benchmark takes ten times as long to simulate as the long run.
std::string benchmark_note(const Candidate& best) {
  return fmt::format(
      "TTFT is that of the long run, which nobody measured; a benchmark, whose first requests come "
      "all at once, would see {:.4g} ms (80 %: {}) of the first one",
      *best.benchmark_ttft_ms, bar_text(best.bars.ttft, *best.benchmark_ttft_ms));
}

std::string picks_title(const SearchRequest& request, const Picks& picks) {
  if (picks.meet) return "The best of each worker with " + limits_text(request);
  return "No deployment has " + limits_text(request) + "; this comes closest";
}

}  // namespace

std::string unmeasured_links(const Candidate& one) {
  const bool has_stages = one.worker.pp > 1 || (one.is_split() && one.split.prefill.pp > 1);
  if (!one.is_split()) return has_stages ? "stages" : "";
  return has_stages ? "stages and caches" : "caches";
}

std::string limits_text(const SearchRequest& request) {
  std::vector<std::string> limits;
  const auto add = [&](const std::string& latency, double limit_ms) {
    if (std::isfinite(limit_ms)) limits.push_back(fmt::format("{} <= {:g} ms", latency, limit_ms));
  };
  add("TTFT", request.ttft_limit_ms);
  add("TPOT", request.tpot_limit_ms);
  add(fmt::format("a request of {} tokens", request.output_tokens), request.request_limit_ms);
  return fmt::format("{} with a chance of {:g} %", core::join(limits, " and "),
                     100 * request.confidence);
}

std::string confidence_note() {
  return "a limit is kept with that chance (--confidence) where the error bar says so; the long "
         "run's TTFT is taken to err as a benchmark's";
}

std::string lengths_note(const SearchRequest& request) {
  const auto range = [&](std::int64_t tokens) {
    const double least = least_tokens(static_cast<double>(tokens), request.least_length);
    return least < static_cast<double>(tokens) ? fmt::format("{:.0f} to {}", least, tokens)
                                               : std::to_string(tokens);
  };
  return fmt::format("prompts have {} tokens, answers {} (--least-length)",
                     range(request.prompt_tokens), range(request.output_tokens));
}

std::string bar_text(const ErrorBar& bar, double prediction, const char* between) {
  if (!bar.is_known()) return "";
  const Interval ends = bar.of(prediction);
  return fmt::format("{}{}{}", three_digits(ends.low, ends.high), between,
                     three_digits(ends.high, ends.high));
}

bool has_several_engines(const SearchResult& result) {
  std::set<Engine> engines;
  for (const Candidate& one : result.candidates)
    engines.insert(one.engine);
  for (const Refused& one : result.refused)
    engines.insert(one.engine);
  return engines.size() > 1;
}

ToldColumns told_columns(const SearchResult& result, const SearchRequest& request) {
  return {.engine = has_several_engines(result),
          .energy = std::any_of(result.candidates.begin(), result.candidates.end(),
                                [](const Candidate& one) { return one.has_energy(); }),
          .step_tokens = !request.step_tokens.empty(),
          .tpot = request.has_tpot(),
          .speculation = request.speculation};
}

std::string missing_energy_note(const SearchResult& result) {
  double most = 0;
  for (const Candidate& one : result.candidates)
    most = std::max(most, one.power.known());
  return most < kLeastKnownShare ? little_energy_note(most) : "";
}

std::string energy_note(const SearchResult& result) {
  if (std::string missing = missing_energy_note(result); !missing.empty()) return missing;
  std::string note =
      "tokens per J: output tokens for each joule of the time whose power is known, which is 90 % "
      "of "
      "it or more";
  PowerShares most;
  for (const Candidate& one : result.candidates) {
    if (!one.has_energy()) continue;
    most.modelled = std::max(most.modelled, one.power.modelled);
    most.error = std::max(most.error, one.power.error);
  }
  if (most.modelled <= 0) return note;
  return note + fmt::format(
                    "; up to {:.0f} % of the time has its power by a model of measured rows, "
                    "from which an error of up to {:.1f} % follows in the median",
                    100 * most.modelled, 100 * most.error);
}

Table candidates_table(std::string name,
                       std::string title,
                       const std::vector<Candidate>& candidates,
                       BarColumns bars,
                       const ToldColumns& told) {
  const bool has_benchmarks =
      bars == BarColumns::kPairs &&
      std::any_of(candidates.begin(), candidates.end(),
                  [](const Candidate& one) { return one.benchmark_ttft_ms.has_value(); });
  const CandidateColumns columns(bars, told, has_benchmarks);
  Table table{.name = std::move(name), .title = std::move(title), .columns = columns.columns()};
  bool has_unmeasured = false;
  for (const Candidate& one : candidates) {
    table.add_row(columns.row(one));
    has_unmeasured = has_unmeasured || !unmeasured_links(one).empty();
  }
  if (has_unmeasured) {
    table.notes.push_back(std::string(bars == BarColumns::kTexts ? "*" : "unmeasured links") +
                          ": reckoned with the rate of a link, no such transfer was measured: "
                          "stages (pp), or caches on "
                          "their way");
  }
  return table;
}

Table refused_table(const std::vector<Refused>& refused, bool names_engines) {
  std::map<std::string, std::pair<std::string, std::int64_t>> reasons;
  for (const Refused& one : refused) {
    auto& [first, count] = reasons[one.reason];
    if (count++ > 0) continue;
    first = names_engines ? fmt::format("{}: {}", name_of(one.engine), one.worker.text())
                          : one.worker.text();
  }
  Table table{.name = "left out",
              .title = "Workers that are left out",
              .columns = {{.name = "workers"}, {.name = "the first"}, {.name = "why"}}};
  for (const auto& [reason, workers] : reasons)
    table.add_row({workers.second, workers.first, reason});
  return table;
}

model::Book search_book(const std::string& title,
                        const SearchResult& result,
                        const SearchRequest& request,
                        const Picks& picks,
                        BarColumns bars) {
  model::Book book{.title = title};
  const ToldColumns told = told_columns(result, request);
  book.tables.push_back(
      candidates_table("best", picks_title(request, picks), picks.best, bars, told));
  book.tables.front().notes.push_back(lengths_note(request));
  book.tables.front().notes.push_back(confidence_note());
  book.tables.push_back(frontier_table(result, bars, told));
  if (!picks.best.empty() && picks.best.front().benchmark_ttft_ms)
    book.tables.front().notes.push_back(benchmark_note(picks.best.front()));
  if (request.scheduler == Scheduler::kSimulation) {
    book.tables.front().notes.push_back(
        fmt::format("{} of {} priced deployments decide and were simulated",
                    result.candidates.size(), result.priced));
  }
  if (told.energy) {
    book.tables.front().notes.push_back(energy_note(result));
  } else if (bars == BarColumns::kPairs) {
    book.tables.front().notes.push_back(missing_energy_note(result));
  }
  if (!picks.best.empty()) add_note(bound_note(picks.best.front().parts), book.tables.front());
  for (const std::string& note : result.notes)
    book.tables.front().notes.push_back(note);
  if (!result.refused.empty()) book.tables.push_back(refused_table(result.refused, told.engine));
  return book;
}

}  // namespace assay::plan
