#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/measured_inputs.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_compat.h"
#include "cli/plan_inputs.h"
#include "cli/plan_options.h"
#include "cli/searched_engines.h"
#include "cli/summary_output.h"
#include "cli/version.h"
#include "cli/workload_options.h"
#include "core/output_file.h"
#include "plan/search/public_columns.h"
#include "plan/search/search.h"
#include "plan/search/search_answer.h"
#include "plan/search/search_figures.h"
#include "plan/search/search_page.h"
#include "plan/search/search_report.h"
#include "plan/search/serving_modes.h"
#include "plan/search/workload_search.h"
#include "report/book.h"
#include "report/gnuplot.h"
#include "report/page.h"

namespace assay::cli {
namespace {

class PlanSearch final : public Command {
 public:
  explicit PlanSearch(App& app) {
    add_searched_model(app, served_, engines_);
    add_gpus(app, "--gpus", request_.gpus, "GPUs of the whole deployment");
    add_lengths_options(app, request_.prompt_tokens, request_.output_tokens);
    add_prefix_option(app, request_.cached_prefix);
    speculation_.add(app);
    add_serving_mode_options(app, mode_, decode_system_);
    add_scheduler_option(app, request_.scheduler);
    add_least_length_option(app, request_.least_length);
    limits_.add(app);
    add_confidence_option(app, confidence_,
                          "the chance with which limits must be kept, as error bars have it");
    add_workload_options(app, workload_);
    add_calibration_option(app, calibration_);
    add_gpus(app, "--max-pp", request_.most_stages, "most pipeline stages of a worker");
    add_max_nodes_option(app, request_.most_nodes);
    add_step_tokens_option(app, request_.step_tokens);
    app.add_flag("--simulate-all", request_.simulates_all,
                 "simulate every deployment, instead of those that decide");
    app.add_option("--top-n", top_, "deployments to list, one of each worker")
        ->type_name("N")
        ->default_str("5")
        ->check(positive_number_problem);
    app.add_option("--html", page_, "where the page goes; it needs no other file")
        ->type_name("FILE");
    app.add_option("--csv", csv_,
                   "where all deployments that were decided go, with the columns of the public "
                   "planner's CSV files")
        ->type_name("FILE");
    app.add_option("--png", picture_, "where a picture of the frontier goes (needs gnuplot)")
        ->type_name("FILE");
    add_planner_compat(
        app, compat_,
        {"--decode-system", "--scheduler", "--least-length", "--confidence", "--request-latency",
         "--store", "--workload", "--request-rate", "--conversation-num", "--calibration", "--html",
         "--csv", "--png", "--max-pp", "--max-nodes", "--max-num-tokens", "--simulate-all",
         "--kv-cache-dtype"});
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    ASSAY_TRY(workload_.check());
    ASSAY_TRY(check_confidence(confidence_, workload_.is_open()));
    ASSAY_TRY(check_staged_drafts(speculation_, request_.most_stages));
    ASSAY_TRY(check_several_engines(engines_, served_, compat_));
    const auto are_same = [](const std::filesystem::path& a, const std::filesystem::path& b) {
      return !a.empty() && a == b;
    };
    if (are_same(page_, picture_) || are_same(page_, csv_) || are_same(csv_, picture_))
      return core::Error{"two of --html, --csv and --png name the same file"};
    if (workload_.is_open() && !request_.step_tokens.empty())
      return core::Error{"--max-num-tokens is of requests that are kept in flight"};
    if (workload_.is_open() && !(page_.empty() && csv_.empty() && picture_.empty()))
      return core::Error{
          "--html, --csv and --png show requests in flight: leave them out beside --workload, "
          "--request-rate and --conversation-num, whose answer is the table"};
    ASSAY_TRY(check_prefix(request_.cached_prefix, request_.prompt_tokens));
    return {};
  }

  core::Result<Outcome> run() override {
    served_.engine = engines_.front();
    limits_.set(request_);
    if (compat_ != PlannerCompat::kNone)
      return search_as_public(served_, request_,
                              {.mode = mode_, .most = top_, .drafts = speculation_}, presentation_);
    PlanInputs inputs(served_.prices);
    const serving::Model& model = *ASSAY_TRY(inputs.model(served_.model));
    warn_of_version(served_, calibration_);
    drop_unfound_prefix(model, request_.cached_prefix);
    if (!workload_.is_open())
      warn_of_context(model, request_.prompt_tokens, request_.output_tokens);
    request_.speculation = ASSAY_TRY(speculation_.speculation(model));
    const store::SystemFacts& facts = *ASSAY_TRY(inputs.facts(served_.system));
    const SearchedEngines searched = ASSAY_TRY(
        searched_engines(inputs, model, {served_, engines_, decode_system_, calibration_}));
    const std::vector<plan::EngineSystems>& engines = searched.systems;
    request_.gpus_per_node = facts.gpus_per_node;
    request_.top = top_;
    request_.confidence = chance_of(confidence_);
    request_.memory = [&](std::int64_t gpus) { return gpu_memory(facts, gpus); };
    request_.link = [&](std::int64_t gpus) { return plan::stage_link(facts, gpus); };
    request_.calibration = engines.front().system.calibration;
    request_.calibration_errors = engines.front().system.calibration_errors;
    if (workload_.is_open()) return run_workload(model, searched);
    plan::SearchResult result = ASSAY_TRY(plan::search_modes(model, request_, mode_, engines));
    result.notes.insert(result.notes.end(), searched.notes.begin(), searched.notes.end());
    if (speculation_.is_given())
      result.notes.push_back(plan::speculation_note(request_.speculation));
    const plan::Picks picks = plan::pick(result, request_, top_);
    std::string title = fmt::format("{} on {} GPUs of {}, {}, {} + {} tokens", model.name,
                                    request_.gpus, served_.system, names_of(engines_),
                                    request_.prompt_tokens, request_.output_tokens);
    if (speculation_.is_given()) title += fmt::format(", drafting {}", request_.speculation.tokens);
    if (picks.best.empty())
      return core::Error{
          "no deployment near the frontier could be simulated; --scheduler "
          "closed-form shows what was priced"};
    const Found found{model, title, searched, result, picks};
    if (presentation_.shows_summary()) show(found);
    ASSAY_TRY(write_files(found));
    return picks.meet ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  core::Result<Outcome> run_workload(const serving::Model& model,
                                     const SearchedEngines& engines) const {
    const plan::Workload workload =
        ASSAY_TRY(read_workload(workload_, {.prompt_tokens = request_.prompt_tokens,
                                            .output_tokens = request_.output_tokens,
                                            .least_length = request_.least_length,
                                            .prefix_tokens = request_.cached_prefix}));
    warn_of_requests(model, workload);
    const plan::WorkloadLimits limits{.level = limits_.level(),
                                      .good_share = workload_.good_share()};
    auto found =
        ASSAY_TRY(plan::search_workload(model, request_, workload, limits, mode_, engines.systems));
    found.notes.insert(found.notes.end(), engines.notes.begin(), engines.notes.end());
    warn_of_short_run(workload_, found.candidates.front().metrics.serving.latency_ms.mean);
    const std::string title =
        fmt::format("{} on {} GPUs of {}, {}, {}", model.name, request_.gpus, served_.system,
                    names_of(engines_), text_of(workload_, workload));
    model::Book book = plan::workload_search_book(title, found, limits, top_);
    book.tables.front().notes.push_back(title);
    if (speculation_.is_given())
      book.tables.front().notes.push_back(plan::speculation_note(request_.speculation));
    engines.add_calibrations(book);
    print_summary(book, presentation_.summary());
    return found.candidates.front().meets ? Outcome::kOk : Outcome::kRegressionFound;
  }

  struct Found {
    const serving::Model& model;
    const std::string& title;
    const SearchedEngines& engines;
    const plan::SearchResult& result;
    const plan::Picks& picks;
  };

  [[nodiscard]] plan::SearchSubject subject(const Found& found) const {
    std::string command = "--model " + served_.model;
    if (!weights_path("", served_.model).ok()) command += " --model-path WEIGHTS";
    command += fmt::format(" --backend {} --system {}",
                           plan::name_of(found.picks.best.front().engine), served_.system);
    if (!served_.version.empty()) command += " --backend-version " + served_.version;
    if (request_.cached_prefix > 0 && !found.picks.best.front().is_split())
      command += fmt::format(" --prefix {}", request_.cached_prefix);
    command += speculation_.words();
    if (!calibration_.empty()) command += " --calibration " + calibration_.string();
    command += served_.cache_words() + served_.prices.words();
    return {.model = found.model.name,
            .system = served_.system,
            .command = command,
            .decode_system = decode_system_};
  }

  static void print_answer(const plan::SearchAnswer& answer, bool keeps_limits) {
    print_sentence(answer.sentence);
    if (!answer.warnings.empty()) print("What could make this wrong:\n");
    for (const std::string& warning : answer.warnings)
      print_sentence("- " + warning);
    if (keeps_limits) print("Next: " + answer.next.front() + "\n");
    print("\n");
  }

  void show(const Found& found) const {
    const Summary summary = presentation_.summary();
    if (summary == Summary::kTable)
      print_answer(plan::answer_of(subject(found), found.result, request_, found.picks),
                   found.picks.meet);
    model::Book book = plan::search_book(
        found.title, found.result, request_, found.picks,
        presentation_.is_for_reading() ? plan::BarColumns::kTexts : plan::BarColumns::kPairs);
    found.engines.add_calibrations(book);
    print_summary(book, summary);
  }

  core::Status write_files(const Found& found) const {
    if (!page_.empty()) {
      const plan::SearchPage page(
          {.subject = subject(found), .title = found.title, .provenance = provenance(found)},
          found.result, request_, found.picks);
      ASSAY_TRY(report::write_page(page.page(), page_));
      say_written(page_);
    }
    if (!csv_.empty()) {
      const model::Table table = plan::public_table(
          {found.model, served_.system, decode_system_, served_.version, served_.cache},
          found.result, request_, found.picks);
      ASSAY_TRY(core::write_file(csv_, report::csv(table, report::CsvHeader::kNames)));
      say_written(csv_);
    }
    if (!picture_.empty()) {
      ASSAY_TRY(report::draw(
          report::drawing_of(plan::frontier_figure(found.result, found.picks, found.title)),
          report::FigureFormat::kPng, picture_));
      say_written(picture_);
    }
    return {};
  }

  void say_written(const std::filesystem::path& path) const {
    if (!presentation_.quiet) print_note("wrote " + path.string());
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> provenance(
      const Found& found) const {
    return {{"model", found.model.name},
            {"system", served_.system},
            {"engine", fmt::format("{} {}", names_of(engines_),
                                   served_.version.empty() ? "(newest tables)" : served_.version)},
            {"tables", served_.prices.text()},
            {"prompts and answers",
             fmt::format("{} and {} tokens, from {:g} of these on", request_.prompt_tokens,
                         request_.output_tokens, request_.least_length)},
            {"limits", plan::limits_text(request_)},
            {"speculation", speculation_.is_given() ? request_.speculation.text() : "none"},
            {"calibration", found.engines.calibrations_text()},
            {"made by", program_version()}};
  }

  ServedModel served_;
  WorkloadOptions workload_;
  std::filesystem::path calibration_;
  std::vector<plan::Engine> engines_ = {plan::Engine::kTrtllm};
  plan::SearchRequest request_;
  LatencyLimitOptions limits_;
  std::optional<double> confidence_;
  plan::ServingMode mode_ = plan::ServingMode::kBoth;
  std::string decode_system_;
  SpeculationOptions speculation_;
  std::uint64_t top_ = 5;
  std::filesystem::path page_;
  std::filesystem::path csv_;
  std::filesystem::path picture_;
  PlannerCompat compat_ = PlannerCompat::kNone;
  Presentation presentation_;
};

const CommandSpec kPlanSearch{
    .name = "plan search",
    .summary = "find the deployment of a model that serves most tokens within limits",
    .description =
        "Prices every way to spread the model over a worker's GPUs at every batch, simulates the "
        "engine's scheduler for those that may decide, and lists the best of each worker that "
        "keep the limits: how many copies, how many requests in flight on all of them, tokens per "
        "second of each GPU and of each user, mean TTFT and TPOT in the long run, and the memory "
        "of a GPU with the cache that the load needs. --backend any ranks all engines in one "
        "list.\n\n"
        "In disaggregated deployments some instances compute prompts and send their caches to "
        "others, which decode: a copy '3P(tp 2) + 1D(tp 8)' has three of the ones, on 2 GPUs each, "
        "and one of the others, on 8. --serving-mode leaves out one kind or the other.\n\n"
        "A limit counts as kept where a measurement keeps it with a chance of --confidence, as the "
        "error bar of the prediction has it: at 50 %, where the middle of the bar does.\n\n"
        "Clients keep the requests in flight; each sends the next when one ends. With --workload "
        "or --request-rate requests come by themselves, with --conversation-num as turns of "
        "conversations: every worker in as many copies as the GPUs hold is simulated, and the "
        "disaggregated deployments that the closed form prefers, and the table has percentiles of "
        "latencies, the requests that keep --ttft and --tpot, and the share of prompts that prefix "
        "caches had. A worker stays "
        "within a node, unless --max-pp divides its layers into stages, which may lie on several, "
        "or "
        "--max-nodes lets it span some: what they exchange is reckoned from the rates of links, "
        "not "
        "measured. What cannot be served, or has no price, is listed with the reason.\n\n"
        "--speculative-tokens has the model's own layers draft tokens (multi-token prediction), of "
        "which --acceptance-rate come out: in the simulation they are drawn, request by "
        "request.\n\n"
        "Beside each figure stand the ends between which a measurement lies with a chance of 80 %; "
        "as CSV and JSON they are columns of their own, with what a step's time goes to. --csv "
        "writes all that was decided with the columns of the public planner's files, --html "
        "writes a page with the frontier, the best deployment at each pair of limits, and what "
        "bounds each.\n\n"
        "--compat searches and picks as a public planner does, aggregated and disaggregated, with "
        "the columns of its CSV files in --format csv and json (docs/compatibility.md).",
    .regression_means = "no deployment meets the limits; the closest is shown",
    .examples =
        "assay plan search --model qwen3-32b --gpus 4\n"
        "assay plan search --model qwen3-30b-a3b --gpus 4 --ttft 500 --tpot 15 --isl 2000\n"
        "assay plan search --model qwen3-32b --gpus 16 --serving-mode disagg --ttft 1000\n"
        "assay plan search --model qwen3-32b --gpus 4 --workload trace.jsonl --goodput 95\n"
        "assay plan search --model qwen3-32b --gpus 8 --html plan.html --png plan.png\n"
        "assay plan search --model qwen3-32b --gpus 8 --request-latency 20000 --csv plan.csv\n"
        "assay plan search --model qwen3-32b --store perf/perf.db --prefix 2000\n"
        "assay plan search --model config.json --gpus 32 --systems-paths systems --backend any\n"
        "assay plan search --model deepseek-v3 --gpus 16 --max-pp 2 --format csv\n"
        "assay plan search --model qwen3-32b --systems-paths systems --compat aiconfigurator\n",
    .make = make_command<PlanSearch>,
};
ASSAY_REGISTER(CommandSpec, kPlanSearch);

}  // namespace
}  // namespace assay::cli
