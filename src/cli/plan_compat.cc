#include "cli/plan_compat.h"

#include <fmt/core.h>

#include "cli/plan_inputs.h"
#include "plan/compat/report.h"
#include "plan/compat/search.h"

namespace assay::cli {
namespace {

namespace compat = plan::compat;

// The name of the choice that stands for no --compat is never shown.
const Choices<PlannerCompat> kPlannerCompats{{"aiconfigurator", PlannerCompat::kAiconfigurator}};

core::Result<PlanInputs::PublicRows> rows_of(PlanInputs& inputs, const ServedModel& served) {
  if (served.prices.systems.empty()) {
    return core::Error{
        "--compat aiconfigurator prices from public tables: name their folder with "
        "--systems-paths"};
  }
  return inputs.public_rows(served.system, served.engine, served.version);
}

compat::Lengths lengths_of(std::int64_t prompt_tokens,
                           std::int64_t output_tokens,
                           std::int64_t prefix_tokens,
                           const plan::Speculation& speculation) {
  return {.prompt = prompt_tokens,
          .output = output_tokens,
          .prefix = prefix_tokens,
          .drafts = speculation.tokens,
          .accepted = speculation.tokens_per_step() - 1};
}

std::string load_text(const plan::SearchRequest& request, const PublicSearch& search) {
  if (!search.load) return fmt::format("{} GPUs", request.gpus);
  if (search.load->requests_per_s > 0)
    return fmt::format("{:g} requests/s", search.load->requests_per_s);
  return fmt::format("{} requests in flight", search.load->concurrency);
}

}  // namespace

void add_planner_compat(App& app,
                        PlannerCompat& compat,
                        std::initializer_list<const char*> without) {
  Option* option =
      add_choice(app, "--compat", compat, kPlannerCompats,
                 "reproduce the figures of this public tool, its known defects included");
  option->default_str("");
  for (const char* name : without)
    option->excludes(app.find(name));
}

core::Result<Outcome> estimate_as_public(const ServedModel& served,
                                         const plan::Worker& worker,
                                         const plan::SteadyLoad& load,
                                         const SpeculationOptions& drafts,
                                         const Presentation& presentation) {
  PlanInputs inputs(served.prices);
  const serving::Model& model = *ASSAY_TRY(inputs.model(served.model));
  const plan::Speculation speculation = ASSAY_TRY(drafts.speculation(model));
  auto rows = ASSAY_TRY(rows_of(inputs, served));
  const compat::Named named{
      .model = &model,
      .title = fmt::format("{} on {} of {}, {} {}, batch {} of {} + {} tokens, as aiconfigurator "
                           "answers",
                           model.name, worker.text(), served.system, plan::name_of(served.engine),
                           rows.version, load.concurrency, load.prompt_tokens, load.output_tokens),
      .system = served.system,
      .setting = {.engine = served.engine,
                  .version = rows.version,
                  .lengths = lengths_of(load.prompt_tokens, load.output_tokens, load.cached_prefix,
                                        speculation)}};
  print_summary(ASSAY_TRY(compat::estimate_book(
                    named, {.worker = worker, .batch = load.concurrency}, rows.measured)),
                presentation.summary(), kAllRows);
  return Outcome::kOk;
}

core::Result<Outcome> search_as_public(const ServedModel& served,
                                       const plan::SearchRequest& request,
                                       const PublicSearch& search,
                                       const Presentation& presentation) {
  PlanInputs inputs(served.prices);
  const serving::Model& model = *ASSAY_TRY(inputs.model(served.model));
  const plan::Speculation speculation = ASSAY_TRY(search.drafts.speculation(model));
  auto rows = ASSAY_TRY(rows_of(inputs, served));
  compat::SearchAsked asked{
      .setting = {.engine = served.engine,
                  .version = rows.version,
                  .lengths = lengths_of(request.prompt_tokens, request.output_tokens,
                                        request.cached_prefix, speculation)},
      .gpus = request.gpus,
      .modes = search.mode,
      .ttft_limit_ms = request.ttft_limit_ms,
      .tpot_limit_ms = request.tpot_limit_ms,
      .most = search.most};
  if (search.load)
    asked.load = {.requests_per_s = search.load->requests_per_s,
                  .concurrency = search.load->concurrency};
  const auto found = ASSAY_TRY(compat::search(model, asked, rows.measured));
  const std::string load = load_text(request, search);
  const compat::Named named{
      .model = &model,
      .title = fmt::format("{} on {}, {} {}, {}, {} + {} tokens, as aiconfigurator answers",
                           model.name, served.system, plan::name_of(served.engine), rows.version,
                           load, request.prompt_tokens, request.output_tokens),
      .system = served.system,
      .setting = asked.setting};
  const auto columns =
      presentation.is_for_reading() ? compat::Columns::kShort : compat::Columns::kPublic;
  print_summary(compat::search_book(named, asked, found, columns), presentation.summary());
  const auto keeps = [&](const auto& part) {
    return !part.picks.empty() && part.picks.front().offer.tpot_ms <= request.tpot_limit_ms;
  };
  return keeps(found.aggregated) || keeps(found.disaggregated) ? Outcome::kOk
                                                               : Outcome::kRegressionFound;
}

}  // namespace assay::cli
