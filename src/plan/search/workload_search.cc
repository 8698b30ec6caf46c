#include "plan/search/workload_search.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"
#include "plan/search/least_count.h"
#include "plan/search/search_report.h"
#include "plan/search/workload_copies.h"
#include "plan/workload_report.h"

namespace assay::plan {
namespace {

core::Result<WorkloadCandidate> candidate_with(const WorkloadCopy& copy,
                                               std::int64_t copies,
                                               const WorkloadLimits& limits,
                                               const EngineSystems& engine) {
  WorkloadCandidate made{.engine = engine.engine,
                         .worker = copy.worker,
                         .split = copy.split,
                         .copies = copies,
                         .ttft_factor = engine.system.calibration.ttft_factor};
  made.metrics = ASSAY_TRY(copy.serve(copies));
  made.meets = made.metrics.serving.good_share >= limits.good_share;
  return made;
}

bool comes_before(const WorkloadCandidate& a, const WorkloadCandidate& b) {
  const auto rank = [](const WorkloadCandidate& one) {
    const ServingMetrics& serving = one.metrics.serving;
    return std::make_tuple(!one.meets, -serving.good_share, serving.latency_ms.p90);
  };
  return rank(a) < rank(b);
}

std::string wanted_of(const WorkloadLimits& limits) {
  return fmt::format("{:g} % of requests with {}", 100 * limits.good_share, text_of(limits.level));
}

std::string title_of(const WorkloadSearchResult& result, const WorkloadLimits& limits) {
  const std::string wanted = wanted_of(limits);
  if (result.candidates.front().meets) return "The best with at least " + wanted;
  return "No deployment has " + wanted + "; these come closest";
}

model::Table candidates_of_workload(const char* name,
                                    std::string title,
                                    const std::vector<WorkloadCandidate>& candidates,
                                    bool names_engines,
                                    std::size_t most) {
  using model::Better;
  model::Table table{.name = name,
                     .title = std::move(title),
                     .columns = {{.name = "mode"},
                                 {.name = "one copy"},
                                 {.name = "copies"},
                                 {.name = "GPUs", .better = Better::kLower},
                                 {.name = "good", .unit = "%", .better = Better::kHigher},
                                 {.name = "goodput", .unit = "1/s", .better = Better::kHigher},
                                 {.name = "tokens/s per GPU", .better = Better::kHigher}}};
  for (const char* latency : {"TTFT", "TPOT"}) {
    for (const char* part : {"p50", "p90", "p99"})
      table.columns.push_back(
          {.name = fmt::format("{} {}", latency, part), .unit = "ms", .better = Better::kLower});
  }
  if (names_engines) table.columns.insert(table.columns.begin(), {.name = "engine"});
  table.columns.push_back({.name = "reused", .unit = "%", .better = Better::kHigher});
  for (std::size_t i = 0; i < std::min(most, candidates.size()); ++i) {
    const WorkloadCandidate& one = candidates[i];
    const ServingMetrics& serving = one.metrics.serving;
    const double factor = one.ttft_factor;
    std::vector<model::Cell> row = {one.split.prefill_instances > 0 ? "disagg" : "agg",
                                    text_of_copy(one.worker, one.split),
                                    one.copies,
                                    one.gpus(),
                                    100 * serving.good_share,
                                    serving.goodput_per_s,
                                    serving.output_tokens_per_s / static_cast<double>(one.gpus()),
                                    factor * serving.ttft_ms.p50,
                                    factor * serving.ttft_ms.p90,
                                    factor * serving.ttft_ms.p99,
                                    serving.tpot_ms.p50,
                                    serving.tpot_ms.p90,
                                    serving.tpot_ms.p99,
                                    100 * one.metrics.reused_share};
    if (names_engines) row.insert(row.begin(), std::string(name_of(one.engine)));
    table.add_row(std::move(row));
  }
  table.notes.emplace_back(
      "good: requests that keep the limits, each by itself; reused: prompt tokens that prefix "
      "caches had");
  return table;
}

// The least copies of each deployment, one deployment after the other.
class Sizing {
 public:
  Sizing(const WorkloadLimits& limits, std::size_t top)
      : limits_(limits), most_gpus_(limits.most_gpus), top_(top) {}

  core::Status add(const WorkloadCopy& copy, const EngineSystems& engine) {
    const std::int64_t most = most_worth() / copy.gpus();
    std::map<std::int64_t, WorkloadCandidate> tried;
    core::Status problem;
    const auto is_enough = [&](std::int64_t copies) {
      core::Result<WorkloadCandidate> made = candidate_with(copy, copies, limits_, engine);
      ++result.simulated;
      if (!made.ok()) {
        problem = made.error();
        return false;
      }
      note_closest(made.value());
      return tried.emplace(copies, std::move(made.value())).first->second.meets;
    };
    const auto least = least_count(guess(copy), most, is_enough);
    if (!problem.ok()) return problem;
    if (least) result.best.push_back(std::move(tried.at(*least)));
    std::stable_sort(result.best.begin(), result.best.end(), is_smaller);
    if (result.best.size() > top_) result.best.resize(top_);
    return {};
  }

  WorkloadSize result;

 private:
  static bool is_smaller(const WorkloadCandidate& a, const WorkloadCandidate& b) {
    return std::make_tuple(a.gpus(), -a.metrics.serving.good_share) <
           std::make_tuple(b.gpus(), -b.metrics.serving.good_share);
  }

  // More GPUs than that are of no use: so many do already, of as many others as are listed.
  [[nodiscard]] std::int64_t most_worth() const {
    return result.best.size() < top_ ? most_gpus_ : std::min(most_gpus_, result.best.back().gpus());
  }

  // As many GPUs as the best so far has.
  [[nodiscard]] std::int64_t guess(const WorkloadCopy& copy) const {
    return result.best.empty() ? 1 : result.best.front().gpus() / copy.gpus();
  }

  void note_closest(const WorkloadCandidate& one) {
    const auto share = [](const WorkloadCandidate& of) { return of.metrics.serving.good_share; };
    if (result.closest.metrics.serving.measured_requests == 0 || share(one) > share(result.closest))
      result.closest = one;
  }

  const WorkloadLimits& limits_;
  std::int64_t most_gpus_;
  std::size_t top_;
};

struct AskedOfWorkload {
  const serving::Model& model;
  const SearchRequest& request;
  const Workload& workload;
  const WorkloadLimits& limits;
  ServingMode mode;
};

// Adds what one engine refuses, and its notes, which begin with `name`.
template <typename AllEngines>
void add_told(const std::vector<Refused>& refused,
              const std::vector<std::string>& notes,
              const EngineSystems& engine,
              const std::string& name,
              AllEngines& result) {
  for (Refused one : refused) {
    one.engine = engine.engine;
    result.refused.push_back(std::move(one));
  }
  for (const std::string& note : notes)
    result.notes.push_back(name + note);
}

// Adds what one engine reaches; its notes begin with `name`. Error: nothing serves the workload.
core::Status add_engine(const AskedOfWorkload& asked,
                        const EngineSystems& engine,
                        const std::string& name,
                        WorkloadSearchResult& result) {
  WorkloadCopies copies = ASSAY_TRY(workload_copies(asked.model, asked.request, asked.workload,
                                                    asked.limits.level, asked.mode, engine));
  std::vector<Refused> refused = std::move(copies.refused);
  const std::size_t others = result.candidates.size();
  for (const WorkloadCopy& copy : copies.copies) {
    auto made = candidate_with(copy, asked.request.gpus / copy.gpus(), asked.limits, engine);
    if (made.ok()) {
      result.candidates.push_back(std::move(made).value());
    } else {
      refused.push_back({copy.worker, made.error().message});
    }
  }
  if (result.candidates.size() == others) return no_copy_left(asked.model.name, refused);
  add_told(refused, copies.notes, engine, name, result);
  return {};
}

// Adds the least copies of what one engine has; its notes begin with `name`. Error: as
// workload_copies().
core::Status size_engine(const AskedOfWorkload& asked,
                         const EngineSystems& engine,
                         const std::string& name,
                         Sizing& sizing) {
  WorkloadCopies copies = ASSAY_TRY(workload_copies(asked.model, asked.request, asked.workload,
                                                    asked.limits.level, asked.mode, engine));
  for (const WorkloadCopy& copy : copies.copies) {
    if (core::Status done = sizing.add(copy, engine); !done.ok())
      copies.refused.push_back({copy.worker, done.error().message});
  }
  add_told(copies.refused, copies.notes, engine, name, sizing.result);
  return {};
}

std::string prefix_of(Engine engine, std::size_t engines) {
  return engines > 1 ? fmt::format("{}: ", name_of(engine)) : std::string();
}

bool has_several_engines(const WorkloadSearchResult& result) {
  std::set<Engine> engines;
  for (const WorkloadCandidate& one : result.candidates)
    engines.insert(one.engine);
  for (const Refused& one : result.refused)
    engines.insert(one.engine);
  return engines.size() > 1;
}

}  // namespace

core::Result<WorkloadSearchResult> search_workload(const serving::Model& model,
                                                   const SearchRequest& request,
                                                   const Workload& workload,
                                                   const WorkloadLimits& limits,
                                                   ServingMode mode,
                                                   std::span<const EngineSystems> engines) {
  WorkloadSearchResult result;
  std::vector<std::string> errors;
  for (const EngineSystems& engine : engines) {
    const std::string name = prefix_of(engine.engine, engines.size());
    core::Status done = add_engine({model, request, workload, limits, mode}, engine, name, result);
    if (!done.ok()) errors.push_back(name + done.error().message);
  }
  if (result.candidates.empty()) return core::Error{core::join(errors, "; ")};
  result.notes.insert(result.notes.end(), errors.begin(), errors.end());
  std::stable_sort(result.candidates.begin(), result.candidates.end(), comes_before);
  return result;
}

core::Result<WorkloadSize> size_workload(const serving::Model& model,
                                         const SearchRequest& request,
                                         const Workload& workload,
                                         const WorkloadLimits& limits,
                                         ServingMode mode,
                                         std::span<const EngineSystems> engines) {
  Sizing sizing(limits, request.top);
  std::vector<std::string> errors;
  for (const EngineSystems& engine : engines) {
    const std::string name = prefix_of(engine.engine, engines.size());
    core::Status done = size_engine({model, request, workload, limits, mode}, engine, name, sizing);
    if (!done.ok()) errors.push_back(name + done.error().message);
  }
  WorkloadSize& result = sizing.result;
  if (result.closest.metrics.serving.measured_requests == 0) {
    if (!result.refused.empty() || errors.empty())
      errors.push_back(no_copy_left(model.name, result.refused).message);
    return core::Error{core::join(errors, "; ")};
  }
  result.notes.insert(result.notes.end(), errors.begin(), errors.end());
  return std::move(result);
}

model::Book workload_search_book(const std::string& title,
                                 const WorkloadSearchResult& result,
                                 const WorkloadLimits& limits,
                                 std::size_t most) {
  model::Book book{.title = title};
  const bool names_engines = has_several_engines(result);
  book.tables.push_back(candidates_of_workload("best", title_of(result, limits), result.candidates,
                                               names_engines, most));
  for (const std::string& note : result.notes)
    book.tables.front().notes.push_back(note);
  if (!result.refused.empty()) book.tables.push_back(refused_table(result.refused, names_engines));
  return book;
}

model::Book workload_size_book(const std::string& title,
                               const WorkloadSize& result,
                               const WorkloadLimits& limits) {
  model::Book book{.title = title};
  if (result.best.empty()) {
    book.tables.push_back(
        candidates_of_workload("size",
                               fmt::format("{} GPUs do not serve {}; this comes closest",
                                           limits.most_gpus, wanted_of(limits)),
                               {result.closest}, result.names_engines, 1));
  } else {
    book.tables.push_back(candidates_of_workload(
        "size",
        fmt::format("The fewest GPUs with at least {}, of each deployment", wanted_of(limits)),
        result.best, result.names_engines, result.best.size()));
  }
  book.tables.front().notes.push_back(
      fmt::format("{} deployments were simulated{}", result.simulated,
                  result.best.empty() ? ""
                                      : "; of each that is listed, one copy less serves too few "
                                        "well"));
  for (const std::string& note : result.notes)
    book.tables.front().notes.push_back(note);
  if (!result.refused.empty())
    book.tables.push_back(refused_table(result.refused, result.names_engines));
  return book;
}

}  // namespace assay::plan
