#include "simulate/simulate.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/simulation_inputs.h"
#include "cli/study_command.h"
#include "cli/summary_output.h"
#include "cli/trace_options.h"
#include "core/counted.h"
#include "core/numbered.h"
#include "core/output_file.h"
#include "goal/group_source.h"
#include "goal/job_file.h"
#include "goal/job_size.h"
#include "goal/launch_job.h"
#include "goal/validate.h"
#include "model/goal_text.h"
#include "model/schedule_notes.h"
#include "report/book.h"
#include "simulate/compat_atlahs.h"
#include "simulate/groups.h"
#include "simulate/launches.h"
#include "simulate/network.h"
#include "simulate/network_report.h"
#include "simulate/operations.h"
#include "simulate/stuck.h"
#include "simulate/summary.h"
#include "simulate/timeline.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using simulate::LogGops;

constexpr std::size_t kSlowestRanks = 10;
constexpr std::size_t kExamples = 10;
constexpr std::size_t kBusiestLinks = 10;

std::string rank_list_problem(const std::string& list) {
  for (const std::string& part : split(list, ',')) {
    std::uint32_t number = 0;
    const char* end = part.data() + part.size();
    const auto parsed = std::from_chars(part.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return fmt::format("'{}' is not a rank", part);
    }
  }
  return "";
}

// Declares the options for the parameters of one kind of link.
void add_link_options(App& app,
                      simulate::LinkValues& links,
                      const std::string& prefix,
                      const std::string& group) {
  const goal::Links& defaults = goal::default_links();
  const LogGops& link = prefix.empty() ? defaults.inter : defaults.intra;
  const auto add = [&](const char* letter, double LogGops::*field, const char* help) {
    const std::string name = prefix + letter;
    const auto assign = [&links, name](const std::string& text) {
      links[name] = finite_number(text).value_or(0);
    };
    app.add_option("--" + name, assign, help)
        ->type_name("NUMBER")
        ->default_str(fmt::format("{}", link.*field))
        ->check(not_negative_problem)
        ->group(group);
  };
  add("L", &LogGops::latency_ns, "latency of the network, ns");
  add("o", &LogGops::overhead_ns, "CPU time of a message on each side, ns");
  add("g", &LogGops::gap_ns, "gap between messages at a NIC, ns");
  add("G", &LogGops::gap_ns_per_byte, "time of a byte in the network, ns");
  add("O", &LogGops::overhead_ns_per_byte, "CPU time of a byte on each side, ns");
  add("S", &LogGops::rendezvous_bytes,
      "largest message, in bytes, that does not wait for its receive");
}

enum class Collectives : std::uint8_t { kAuto, kExact, kCost };

enum class SimulateCompat { kNone, kAtlahs };

class Simulate final : public Command {
 public:
  explicit Simulate(App& app) {
    app.note_given(given_);
    app.add_option(
        "FILE", schedule_,
        "a GOAL schedule, binary or text; or a job of 'assay goal generate --write job'");
    const std::string group = "Parameters";
    app.add_option("--params", params_,
                   "a JSON file with parameters; the options below override it")
        ->type_name("FILE")
        ->group(group);
    app.add_option("--topology", topology_,
                   "a JSON file that says which ranks share a node; may hold parameters too")
        ->type_name("FILE")
        ->group(group);
    app.add_option("--network", network_,
                   "a YAML file with a network whose links messages share; its bandwidths and "
                   "latencies replace G and L")
        ->type_name("FILE")
        ->group(group);
    add_link_options(app, link_values_, "", group);
    add_link_options(app, link_values_, "intra-", "Parameters between ranks of one node");
    const Choices<SimulateCompat> compats{{"atlahs", SimulateCompat::kAtlahs}};
    add_choice(app, "--compat", compat_, compats,
               "reproduce the figures of the LogGOPSim in ATLAHS, with its order of equal times "
               "and its rules, to compare with published ones (docs/goal.md)")
        ->default_str("");
    app.add_flag("--per-rank", per_rank_, "show every rank, not only those that are done last");
    app.add_option("--critical-path", segments_, "show the longest segments of the critical path")
        ->type_name("N")
        ->default_str("0")
        ->check(whole_number_problem);
    const Choices<Collectives> collectives{
        {"auto", Collectives::kAuto}, {"exact", Collectives::kExact}, {"cost", Collectives::kCost}};
    add_choice(app, "--collectives", collectives_, collectives,
               "of a job's file. exact: step by step; cost: each as a cost that depends on when "
               "its ranks start, learned from its own steps (docs/goal.md has the error); auto: "
               "exact up to 10^9 operations of the graph (some 4 minutes of CPU time) and 4 GB of "
               "memory, and with --operations");
    app.add_option(
           "--threads", threads_,
           "ranks that are simulated at once, or tasks of a study; with rendezvous messages "
           "or --network one processor has to do it")
        ->type_name("N")
        ->default_str("one a processor")
        ->check(whole_number_problem);
    app.add_option("--timeline", timeline_,
                   "write a Chrome trace for Perfetto, about 230 bytes an operation")
        ->type_name("FILE");
    app.add_option("--timeline-ranks", timeline_ranks_, "ranks in the timeline, by commas")
        ->type_name("RANKS")
        ->default_str("all")
        ->check(rank_list_problem);
    app.add_option(
           "--operations", operations_,
           "write a CSV file with a row for each launch of NCCL (a collective, or a group of "
           "operations): when it was simulated to run, and when it ran in the recording, or "
           "why that is not known; needs the notes")
        ->type_name("FILE");
    app.add_option("--links", links_,
                   "write a CSV file with the load of each link over time; needs --network")
        ->type_name("FILE");
    app.add_option("--html", page_,
                   "where a page goes that shows the busiest links over time and what was lost by "
                   "sharing them; needs --network")
        ->type_name("FILE");
    add_study_options(app);
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    if (!study_.file.empty()) return check_study();
    if (schedule_.empty()) return core::Error{"FILE is missing: the schedule, or a job"};
    for (const char* option : {"--output", "--plan-only", "--resume-retry-failed"}) {
      if (given_.contains(option)) return core::Error{fmt::format("{} needs --study", option)};
    }
    if (!timeline_ranks_.empty() && timeline_.empty()) {
      return core::Error{"--timeline-ranks needs --timeline"};
    }
    if (network_.empty() && !links_.empty()) return core::Error{"--links needs --network"};
    if (network_.empty() && !page_.empty()) return core::Error{"--html needs --network"};
    return compat_ == SimulateCompat::kAtlahs ? check_atlahs() : core::Status();
  }

  core::Result<Outcome> run() override {
    if (!study_.file.empty()) return run_study();
    if (ASSAY_TRY(is_job(schedule_))) return run_job();
    if (collectives_ == Collectives::kCost) {
      return core::Error{
          "--collectives cost needs a job's file: 'assay goal generate --write job'"};
    }
    const model::Schedule schedule = ASSAY_TRY(model::read_schedule(schedule_));
    const auto notes = ASSAY_TRY(notes_beside(schedule_));
    ASSAY_TRY(check_notes(notes));
    const auto options = ASSAY_TRY(make_options(inputs(), schedule.ranks().size(), notes));
    if (compat_ == SimulateCompat::kAtlahs) return run_atlahs(schedule, options.inter);
    const auto outcome = ASSAY_TRY(simulate::simulate(schedule, options, threads_));
    if (!outcome.finished) {
      return simulate::stuck_error(outcome, simulate::find_stuck(outcome, kExamples))
          .context(schedule_.string());
    }
    if (const std::string sizes = simulate::unequal_sizes(outcome); !sizes.empty()) {
      print_warning(sizes);
    }
    warn_of_overfull(simulate::overfull_receivers(outcome));
    if (const std::string replaced = replaced_options(inputs(), outcome); !replaced.empty()) {
      print_warning(replaced);
    }
    model::Book book = ASSAY_TRY(make_book(outcome, notes));
    book.tables.push_back(parameters_of(outcome, options, notes));
    if (presentation_.shows_summary()) {
      print_summary(book, presentation_.summary(), summary_rows(outcome.finish_ns.size()));
    }
    ASSAY_TRY(write_timeline(outcome));
    ASSAY_TRY(write_operations(outcome, notes));
    ASSAY_TRY(write_links(outcome));
    ASSAY_TRY(write_page(outcome, book));
    return Outcome::kOk;
  }

 private:
  void add_study_options(App& app) {
    const std::string group = "Study options";
    app.add_option("--study", study_.file,
                   "a YAML file with jobs, sizes, networks and failures, all combinations of which "
                   "are simulated (docs/goal.md); results of an earlier run are kept")
        ->type_name("FILE")
        ->group(group);
    app.add_option("-o,--output", study_.folder,
                   "the study's folder: the results of its tasks, and the table of all")
        ->type_name("DIR")
        ->group(group);
    app.add_flag("--plan-only", study_.plan_only, "show the tasks; start and write nothing")
        ->group(group);
    app.add_flag("--resume-retry-failed", study_.retry_failed, "try again the tasks that failed")
        ->group(group);
  }

  // Refuses what ATLAHS' event loop knows nothing of.
  [[nodiscard]] core::Status check_atlahs() const {
    if (!network_.empty()) {
      return core::Error{
          "--compat atlahs knows no network whose links messages share: leave out --network"};
    }
    if (std::any_of(link_values_.begin(), link_values_.end(),
                    [](const auto& link) { return link.first.starts_with("intra-"); })) {
      return core::Error{
          "--compat atlahs knows one kind of link: leave out --intra-L to --intra-S"};
    }
    if (!timeline_.empty() || !operations_.empty() || segments_ > 0) {
      return core::Error{
          "--compat atlahs tells when ranks end, and nothing of --timeline, --operations and "
          "--critical-path"};
    }
    return {};
  }

  [[nodiscard]] core::Status check_study() const {
    const std::set<std::string> possible{
        "--study",  "--output", "--plan-only",          "--threads",
        "--format", "--quiet",  "--resume-retry-failed"};
    if (!schedule_.empty()) {
      return core::Error{"--study names its schedules and jobs itself: leave out FILE"};
    }
    for (const std::string& option : given_) {
      if (possible.contains(option)) continue;
      return core::Error{
          fmt::format("--study has all that decides a result in its file: leave out {}", option)};
    }
    if (study_.folder.empty() && !study_.plan_only) {
      return core::Error{"--study needs --output, the folder of its results"};
    }
    return {};
  }

  [[nodiscard]] SimulationInputs inputs() const {
    return {.schedule = schedule_,
            .params = params_,
            .topology = topology_,
            .network = network_,
            .links = link_values_,
            .atlahs = compat_ == SimulateCompat::kAtlahs};
  }

  core::Result<Outcome> run_study() {
    study_.threads = threads_;
    study_.presentation = presentation_;
    return run_study_command(study_);
  }

  [[nodiscard]] core::Result<Outcome> run_atlahs(const model::Schedule& schedule,
                                                 const LogGops& link) const {
    const auto outcome = ASSAY_TRY(simulate::simulate_atlahs(schedule, link));
    if (!outcome.finished) {
      print_warning(
          fmt::format("{} of {} never ended, or messages had no receive: ATLAHS' simulator tells "
                      "these times all the same",
                      outcome.record().num_ops() - outcome.operations_done,
                      core::counted(outcome.record().num_ops(), "operation")));
    }
    const std::size_t most_ranks = per_rank_ ? outcome.finish_ns.size() : kSlowestRanks;
    model::Book book{.title = fmt::format("Simulation of {} as by ATLAHS' LogGOPSim",
                                          schedule_.filename().string())};
    book.tables.push_back(
        simulate::overview({outcome.finish_ns, outcome.operations_done, outcome.messages}));
    book.tables.push_back(simulate::rank_table(outcome.finish_ns, most_ranks));
    book.tables.push_back(simulate::parameters_table({.inter = link}, nullptr));
    if (presentation_.shows_summary()) {
      print_summary(book, presentation_.summary(), std::max(most_ranks, kSummaryRows));
    }
    return Outcome::kOk;
  }

  [[nodiscard]] core::Result<model::Book> make_book(
      const simulate::Outcome& outcome, const std::optional<model::ScheduleNotes>& notes) const {
    const simulate::CriticalPath path = simulate::critical_path(outcome);
    const std::size_t most_ranks = per_rank_ ? outcome.finish_ns.size() : kSlowestRanks;
    model::Book book{.title = fmt::format("Simulation of {}", schedule_.filename().string())};
    book.tables.push_back(
        simulate::overview({outcome.finish_ns, outcome.operations_done, outcome.messages}));
    if (outcome.alone != simulate::Alone::kNo) {
      book.tables.back().notes.push_back(simulate::describe(outcome.alone));
    }
    book.tables.push_back(simulate::rank_table(outcome.finish_ns, most_ranks));
    book.tables.push_back(simulate::critical_path_table(outcome, path));
    if (segments_ > 0) {
      book.tables.push_back(simulate::segment_table(outcome, path, segments_));
    }
    if (notes && !notes->operations.empty()) {
      const auto times = ASSAY_TRY(simulate::launch_times(outcome, *notes));
      book.tables.push_back(simulate::collective_table(times, *notes));
    }
    if (outcome.transfers() == nullptr) return book;
    book.tables.push_back(simulate::network_table(outcome, path));
    book.tables.push_back(simulate::busiest_table(outcome, kBusiestLinks));
    if (notes && !notes->operations.empty()) {
      book.tables.push_back(simulate::contention_table(outcome, *notes));
    }
    return book;
  }

  [[nodiscard]] core::Status write_links(const simulate::Outcome& outcome) const {
    if (links_.empty()) return {};
    ASSAY_TRY(core::write_file(links_, report::csv(simulate::link_table(outcome))));
    if (!presentation_.quiet) print_note("wrote " + links_.string());
    return {};
  }

  [[nodiscard]] core::Status write_page(const simulate::Outcome& outcome,
                                        const model::Book& book) const {
    if (page_.empty()) return {};
    const auto page =
        simulate::network_page(outcome, simulate::critical_path(outcome), book.title, book.tables);
    ASSAY_TRY(report::write_page(page, page_));
    if (!presentation_.quiet) print_note("wrote " + page_.string());
    return {};
  }

  [[nodiscard]] core::Status write_timeline(const simulate::Outcome& outcome) const {
    if (timeline_.empty()) return {};
    std::vector<std::uint32_t> ranks;
    if (!timeline_ranks_.empty()) {
      for (const std::string& rank : split(timeline_ranks_, ','))
        ranks.push_back(static_cast<std::uint32_t>(std::stoul(rank)));
    }
    const auto size = ASSAY_TRY(simulate::write_timeline(outcome, ranks, timeline_));
    if (!presentation_.quiet) {
      print_note(fmt::format("wrote {}: {}, {:.1f} MB", timeline_.string(),
                             core::counted(size.operations, "operation"),
                             static_cast<double>(size.bytes) / 1e6));
    }
    return {};
  }

  // Refuses --operations where nothing tells of them.
  [[nodiscard]] core::Status check_notes(const std::optional<model::ScheduleNotes>& notes) const {
    if (operations_.empty()) return {};
    if (!notes) {
      return core::Error{"--operations needs the notes of the schedule: '" +
                         model::notes_path(schedule_).string() + "' is missing"};
    }
    if (notes->operations.empty()) {
      return core::Error{"--operations needs notes that tell of operations: '" +
                         model::notes_path(schedule_).string() + "' tells of none"};
    }
    return {};
  }

  [[nodiscard]] core::Status write_operations(
      const simulate::Outcome& outcome, const std::optional<model::ScheduleNotes>& notes) const {
    if (operations_.empty()) return {};
    const auto times = ASSAY_TRY(simulate::launch_times(outcome, *notes));
    return write_table(simulate::operation_table(times, *notes));
  }

  [[nodiscard]] core::Status write_table(const model::Table& table) const {
    ASSAY_TRY(core::write_file(operations_, report::csv(table)));
    if (!presentation_.quiet) print_note("wrote " + operations_.string());
    return {};
  }

  // A job's file: its graph is made while it runs, and is never there as a whole.
  core::Result<Outcome> run_job() {
    const std::pair<const char*, bool> impossible[] = {
        {"--timeline", !timeline_.empty()},
        {"--critical-path", segments_ > 0},
        {"--network", !network_.empty()},
        {"--compat", compat_ != SimulateCompat::kNone}};
    for (const auto& [option, given] : impossible) {
      if (!given) continue;
      return core::Error{fmt::format(
          "{} needs the whole graph, which a job's file does not have: 'assay goal generate {} -o "
          "DIR --write bin' makes it",
          option, schedule_.string())};
    }
    const goal::JobFile file = ASSAY_TRY(goal::read_job_file(schedule_));
    const goal::JobSize size = ASSAY_TRY(goal::size_of(file));
    return takes_costs(size) ? run_costs(file, size) : run_exactly(file, size);
  }

  [[nodiscard]] bool takes_costs(const goal::JobSize& size) const {
    if (collectives_ != Collectives::kAuto) return collectives_ == Collectives::kCost;
    if (goal::fits_exactly(size)) return false;
    const std::string large =
        fmt::format("{:.2g} operations and {:.1f} GB", static_cast<double>(size.operations),
                    static_cast<double>(size.memory_bytes) * 1e-9);
    if (!operations_.empty()) {
      print_note(
          fmt::format("every step is simulated, because --operations tells of them: about "
                      "{}",
                      large));
      return false;
    }
    if (!presentation_.quiet) {
      print_note(
          fmt::format("collectives are costs (docs/goal.md has their error), because all "
                      "steps would be about {}: --collectives exact simulates them",
                      large));
    }
    return true;
  }

  core::Result<Outcome> run_exactly(const goal::JobFile& file, const goal::JobSize& size) {
    const auto job = ASSAY_TRY(goal::make_launch_job(file));
    show_warnings(job->warnings);
    const simulate::Options options =
        ASSAY_TRY(make_parameters(inputs(), job->notes.ranks.size(), job->notes));
    const simulate::LaunchOutcome outcome =
        ASSAY_TRY(simulate::simulate_launches(*job->schedule, options, threads_));
    warn_of_overfull(simulate::overfull_receivers(outcome));
    const std::vector<simulate::LaunchTime> times = times_of(outcome, *job);
    if (presentation_.shows_summary()) {
      model::Book book = make_book(outcome, times, *job);
      book.tables.push_back(parameters_of(file, options));
      book.tables.push_back(method_table("exact", size));
      print_summary(book, presentation_.summary(), summary_rows(outcome.finish_ns.size()));
    }
    if (!operations_.empty()) {
      ASSAY_TRY(write_table(simulate::operation_table(times, job->notes)));
    }
    return Outcome::kOk;
  }

  static void warn_of_overfull(const std::string& overfull) {
    if (!overfull.empty()) print_warning(overfull);
  }

  [[nodiscard]] std::size_t summary_rows(std::size_t ranks) const {
    return per_rank_ ? std::max(ranks, kSummaryRows) : kSummaryRows;
  }

  // NCCL may have chosen for other NICs than are simulated. `chosen_gbps` is 0 where it chose
  // nothing.
  static void tell_other_nics(double chosen_gbps,
                              const char* where,
                              const simulate::Options& options,
                              model::Table& parameters) {
    const bool alike = std::abs(chosen_gbps * options.inter.gap_ns_per_byte - 1) < 1e-3;
    const auto& nodes = options.node_of_rank;
    const bool one_node = std::set(nodes.begin(), nodes.end()).size() == 1;
    if (chosen_gbps == 0 || alike || one_node) return;
    parameters.notes.push_back(
        fmt::format("Algorithms are those for NICs of {:g} GB/s ('nic_gbps' of the {}), which "
                    "--G {:g} simulates.",
                    chosen_gbps, where, 1 / chosen_gbps));
  }

  [[nodiscard]] static model::Table parameters_of(const goal::JobFile& file,
                                                  const simulate::Options& options) {
    model::Table table = simulate::parameters_table(options, nullptr);
    tell_other_nics(file.choices.keep ? 0 : file.choices.nic_gbps, "job", options, table);
    return table;
  }

  [[nodiscard]] static model::Table parameters_of(
      const simulate::Outcome& outcome,
      simulate::Options options,
      const std::optional<model::ScheduleNotes>& notes) {
    const simulate::Transfers* transfers = outcome.transfers();
    const simulate::Fabric* fabric = transfers == nullptr ? nullptr : &transfers->fabric();
    model::Table table = simulate::parameters_table(options, fabric);
    if (fabric != nullptr) options.inter = fabric->parameters().inter;
    if (notes) tell_other_nics(notes->nic_gbps, "notes", options, table);
    return table;
  }

  [[nodiscard]] model::Table method_table(const char* collectives,
                                          const goal::JobSize& size) const {
    const bool by_option = collectives_ != Collectives::kAuto || !operations_.empty();
    model::Table table{.name = "method",
                       .title = "How collectives were simulated, and what all their steps are",
                       .columns = {{.name = "collectives"},
                                   {.name = "chosen by"},
                                   {.name = "launches"},
                                   {.name = "about operations"},
                                   {.name = "about memory", .unit = "MB"}}};
    table.add_row({std::string(collectives), std::string(by_option ? "option" : "size"),
                   static_cast<std::int64_t>(size.launches),
                   static_cast<std::int64_t>(size.operations),
                   static_cast<double>(size.memory_bytes) * 1e-6});
    return table;
  }

  core::Result<Outcome> run_costs(const goal::JobFile& file, const goal::JobSize& size) {
    if (!operations_.empty()) {
      return core::Error{"--operations needs --collectives exact: costs have no operations"};
    }
    // A job without collectives simulates none, and has parameters all the same.
    const simulate::Options of_job = ASSAY_TRY(
        make_cost_parameters(inputs(), file, core::numbered(file.job.gpus, &model::JobGpu::node)));
    std::string overfull;
    const goal::SimulateLaunches simulate =
        [&](const goal::LaunchSource& schedule) -> core::Result<goal::SimulatedRanks> {
      const simulate::Options options =
          ASSAY_TRY(make_cost_parameters(inputs(), file, schedule.node_of_rank()));
      simulate::LaunchOutcome outcome =
          ASSAY_TRY(simulate::simulate_launches(schedule, options, threads_));
      if (overfull.empty()) overfull = simulate::overfull_receivers(outcome);
      return goal::SimulatedRanks{std::move(outcome.finish_ns), std::move(outcome.nic_work)};
    };
    const goal::GroupJob job = ASSAY_TRY(goal::make_group_job(file, simulate));
    show_warnings(job.warnings);
    if (!overfull.empty()) warn_of_overfull("of an operation alone, " + overfull);
    const auto outcome = ASSAY_TRY(simulate::simulate_groups(job.schedule));
    if (presentation_.shows_summary()) {
      model::Book book = make_book(outcome, job);
      book.tables.push_back(parameters_of(file, of_job));
      book.tables.push_back(method_table("cost", size));
      print_summary(book, presentation_.summary(), summary_rows(outcome.finish_ns.size()));
    }
    return Outcome::kOk;
  }

  [[nodiscard]] model::Book make_book(const simulate::GroupOutcome& outcome,
                                      const goal::GroupJob& job) const {
    const std::size_t most_ranks = per_rank_ ? outcome.finish_ns.size() : kSlowestRanks;
    model::Book book{.title = fmt::format("Simulation of {}", schedule_.filename().string())};
    book.tables.push_back(simulate::ends_table(outcome.finish_ns));
    book.tables.push_back(simulate::rank_table(outcome.finish_ns, most_ranks));
    model::Table costs{.name = "costs",
                       .title = "What was replaced: collectives by costs",
                       .columns = {{.name = "share of time", .unit = "%"},
                                   {.name = "launches"},
                                   {.name = "kinds of operations"},
                                   {.name = "from shorter rings"},
                                   {.name = "simulations"}},
                       .notes = {"An approximation; docs/goal.md has its error."}};
    costs.add_row({outcome.share_in_groups * 100, static_cast<std::int64_t>(outcome.launches),
                   static_cast<std::int64_t>(job.schedule.costs.size()),
                   static_cast<std::int64_t>(job.extrapolated_groups),
                   static_cast<std::int64_t>(job.simulations)});
    book.tables.push_back(std::move(costs));
    if (!job.choices.empty()) book.tables.push_back(goal::choices_table(job.choices));
    return book;
  }

  static std::vector<simulate::LaunchTime> times_of(const simulate::LaunchOutcome& outcome,
                                                    const goal::LaunchJob& job) {
    std::vector<simulate::LaunchTime> times;
    for (const goal::JobLaunch& launch : job.launches) {
      simulate::LaunchTime time{.operations = launch.operations,
                                .num_ranks = static_cast<std::uint32_t>(launch.parts.size()),
                                .bytes = launch.bytes,
                                .start_ns = simulate::kForeverNs,
                                .source = launch.source,
                                .destination = launch.destination,
                                .measured_start_ns = launch.measured_start_ns,
                                .measured_last_start_ns = launch.measured_last_start_ns,
                                .measured_end_ns = launch.measured_end_ns};
      if (launch.clocks > 1) time.measured = simulate::Measured::kSeveralClocks;
      if (!launch.timed) time.measured = simulate::Measured::kNoTimes;
      for (const goal::LaunchId& part : launch.parts) {
        const simulate::Span& span = outcome.spans[part.gpu][part.launch];
        time.start_ns = std::min(time.start_ns, span.start_ns);
        time.last_start_ns = std::max(time.last_start_ns, span.start_ns);
        time.end_ns = std::max(time.end_ns, span.end_ns);
      }
      if (time.end_ns > 0) times.push_back(std::move(time));  // otherwise it moved nothing
    }
    return times;
  }

  [[nodiscard]] model::Book make_book(const simulate::LaunchOutcome& outcome,
                                      const std::vector<simulate::LaunchTime>& times,
                                      const goal::LaunchJob& job) const {
    const std::size_t most_ranks = per_rank_ ? outcome.finish_ns.size() : kSlowestRanks;
    model::Book book{.title = fmt::format("Simulation of {}", schedule_.filename().string())};
    book.tables.push_back(
        simulate::overview({outcome.finish_ns, outcome.operations, outcome.messages}));
    book.tables.push_back(simulate::rank_table(outcome.finish_ns, most_ranks));
    if (!job.choices.empty()) book.tables.push_back(goal::choices_table(job.choices));
    if (!times.empty()) book.tables.push_back(simulate::collective_table(times, job.notes));
    return book;
  }

  fs::path schedule_;
  fs::path params_;
  fs::path operations_;
  fs::path topology_;
  fs::path network_;
  simulate::LinkValues link_values_;
  fs::path links_;
  fs::path page_;
  fs::path timeline_;
  std::string timeline_ranks_;
  SimulateCompat compat_ = SimulateCompat::kNone;
  bool per_rank_ = false;
  std::size_t segments_ = 0;
  unsigned threads_ = 0;
  Collectives collectives_ = Collectives::kAuto;
  Presentation presentation_;
  StudyRequest study_;
  std::set<std::string> given_;
};

const CommandSpec kSimulate{
    .name = "simulate",
    .summary = "run a GOAL schedule under the LogGOPS model of a network",
    .description =
        "Tells when each rank is done, what the end hangs on (the critical path: calculations, "
        "CPU overhead, NIC gap, bandwidth, latency), and how long each kind of NCCL operation "
        "takes, if the notes that 'assay goal' writes lie beside the schedule "
        "(job.bin, job.notes.json).\n\n"
        "A message of s bytes costs its sender's CPU o + (s-1) O and its NIC g + (s-1) G, arrives "
        "L + (s-1) G later, and costs the receiver g + o + (s-1) O. Sends of more than S bytes end "
        "with their receive. Messages and receives meet by source and tag, first come, first "
        "served. Equal times are resolved by rank, then by what has waited longest, then by "
        "number, so that a schedule has one result. The model is that of the LogGOPSim in "
        "ATLAHS.\n\n"
        "--params and --topology are JSON: {\"inter\": {\"L\": 3700, \"o\": 200, \"g\": 5, \"G\": "
        "0.04, \"O\": 0, \"S\": 1e12}, \"intra\": {\"L\": 700}, \"ranks_per_node\": 8}, or "
        "\"nodes\": "
        "[[0, 1], [2, 3]]. \"intra\" and --intra-L to --intra-S hold between ranks of one node; "
        "without --topology the notes say which ranks share one.\n\n"
        "What is not given has its default, whatever else is given: between nodes the figures "
        "that ATLAHS uses for AI clusters (25 GB/s a NIC), but eager; within a node NVLink as "
        "fitted on H200. A table tells the parameters in force.\n\n"
        "--network FILE.yaml is a network whose links messages share by max-min fairness: "
        "leaf-spine, fat-tree, dragonfly or single links, NVLink domains, routing, failed and slow "
        "parts, background traffic and noise. docs/goal.md has the format. Tables then say what "
        "was lost by sharing, on which links and by which operations.\n\n"
        "A job's file, which 'assay goal' writes with --write job, becomes the same schedule while "
        "it runs, with the same times, in memory that does not grow with the graph and on all "
        "processors: for hundreds and thousands of ranks. It needs eager messages (S at least "
        "their size). Above 10^9 operations or 4 GB its collectives are costs, learned from their "
        "own steps; a line says so, --collectives chooses.\n\n"
        "--study FILE.yaml simulates all combinations of jobs, sizes, networks, failures and "
        "options that it names, each in a process of its own, and keeps each result in the folder "
        "of --output under a digest of all that decides it: a study that was killed goes on when "
        "the same command is given again, and changed inputs are simulated again. The processes of "
        "mpirun or srun share the tasks, and so do other processes on the same folder and the "
        "elements of a Slurm array. Whoever finishes the last one writes the table, a figure and "
        "a page. docs/goal.md has the format.\n\n"
        "A schedule that cannot end, or that leaves messages, is an error that names what waits; "
        "with --compat atlahs it is a warning. There S is 0 (rendezvous for all) unless it is "
        "given.",
    .examples =
        "assay simulate job.bin\n"
        "assay simulate job.goal --L 1500 --G 0.02 --per-rank --format csv\n"
        "assay simulate job.bin --params cluster.json --critical-path 20\n"
        "assay simulate job.bin --network leaf_spine.yaml --html network.html\n"
        "assay simulate --study study.yaml -o study\n"
        "assay simulate job.bin --intra-L 700 --intra-G 0.003 --timeline job.json\n",
    .make = make_command<Simulate>,
};
ASSAY_REGISTER(CommandSpec, kSimulate);

}  // namespace
}  // namespace assay::cli
