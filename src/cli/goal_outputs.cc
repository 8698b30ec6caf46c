#include "cli/goal_outputs.h"

#include <fmt/core.h>

#include <array>
#include <string_view>
#include <utility>

#include "cli/output.h"
#include "cli/trace_options.h"
#include "cli/version.h"
#include "core/counted.h"

namespace assay::cli {
namespace {

struct FormText {
  const char* word;
  std::string_view help;
};

// They stand in the order of MadeForm.
constexpr std::array<FormText, 4> kForms = {
    FormText{"text", "text"}, FormText{"bin", "the binary form that simulators read"},
    FormText{"job", "the job itself, whose graph 'assay simulate' makes while it runs"},
    FormText{"chakra", "execution traces as 'assay goal export-chakra' writes them"}};

}  // namespace

Option* add_schedule_folder(App& app, goal::GenerateRequest& request) {
  return app
      .add_option("-o,--output", request.target.folder,
                  "the folder to write the schedule into; made when missing")
      ->type_name("DIR");
}

Option* add_made_form(App& app, MadeForm& form, const std::vector<MadeForm>& forms) {
  Choices<MadeForm> choices;
  std::string help;
  for (const MadeForm offered : forms) {
    const FormText& text = kForms.at(static_cast<std::size_t>(offered));
    choices.emplace_back(text.word, offered);
    if (!help.empty()) help += offered == forms.back() ? "; or " : "; ";
    help += text.help;
  }
  return add_choice(app, "--write", form, choices, help);
}

goal::ScheduleFormat format_of(MadeForm form) {
  if (form == MadeForm::kJob) return goal::ScheduleFormat::kJob;
  return form == MadeForm::kText ? goal::ScheduleFormat::kText : goal::ScheduleFormat::kBinary;
}

Option* add_slice_costs(App& app, std::filesystem::path& file) {
  return app
      .add_option("--costs", file,
                  "what slices of collectives cost: a file of 'assay simulate fit'")
      ->type_name("FILE")
      ->default_str(goal::kDefaultCosts);
}

core::Result<goal::Costs> slice_costs(const std::filesystem::path& file) {
  if (file.empty()) return goal::costs_from_lines(goal::default_costs(), goal::kDefaultCosts);
  return goal::costs_from_lines(ASSAY_TRY(goal::read_line_costs(file)), file.string());
}

void add_simulator_options(App& app, SimulatorOptions& options, const std::string& group) {
  const Choices<goal::Simulator> simulators{{"assay", goal::Simulator::kAssay},
                                            {"loggopsim", goal::Simulator::kLogGopsim},
                                            {"htsim", goal::Simulator::kHtsim}};
  add_choice(app, "--for", options.simulator, simulators,
             "the simulator that will run it. htsim: no NIC 1, which it takes for another "
             "host. loggopsim, which lets an operation start before what it follows on "
             "another CPU, and whose G is a whole number: one CPU, no empty messages, times in "
             "units of 0.04 ns. ATLAHS' LogGOPSim runs those for assay and htsim")
      ->group(group);
  const Choices<std::optional<goal::IntraNode>> modes{{"messages", goal::IntraNode::kMessages},
                                                      {"calc", goal::IntraNode::kCalc}};
  add_choice(app, "--intra-node", options.intra_node, modes,
             "data between GPUs of a node: messages from NIC 1, for 'assay simulate', which "
             "knows nodes; or empty messages and a calculation, for simulators that do not")
      ->default_str("as --for needs")
      ->group(group);
  app.add_option("--intra-bandwidth", options.intra_gbps,
                 "of --intra-node calc, in GB/s (1e9) into a GPU")
      ->type_name("GBPS")
      ->default_str("150")
      ->check(positive_number_problem)
      ->group(group);
  app.add_option("--intra-latency", options.intra_latency_ns,
                 "of --intra-node calc, in ns a transfer")
      ->type_name("NS")
      ->default_str("0")
      ->check(not_negative_problem)
      ->group(group);
}

std::optional<std::string> simulator_option_in(const std::set<std::string>& given) {
  for (const char* name : {"--for", "--intra-node", "--intra-bandwidth", "--intra-latency"}) {
    if (given.contains(name)) return name;
  }
  return std::nullopt;
}

core::Status check_simulator_options(const SimulatorOptions& options,
                                     const std::set<std::string>& given,
                                     bool writes_schedule) {
  const auto any = simulator_option_in(given);
  if (any && !writes_schedule) {
    return core::Error{fmt::format("{} is of a schedule: --write bin or --write text", *any)};
  }
  const bool is_other = options.simulator != goal::Simulator::kAssay;
  if (is_other && options.intra_node == goal::IntraNode::kMessages) {
    return core::Error{fmt::format("--for {} excludes --intra-node messages: it knows no nodes",
                                   name_of(options.simulator))};
  }
  const bool as_calc = is_other || options.intra_node == goal::IntraNode::kCalc;
  for (const char* name : {"--intra-bandwidth", "--intra-latency"}) {
    if (as_calc || !given.contains(name)) continue;
    return core::Error{fmt::format("{} needs --intra-node calc", name)};
  }
  return {};
}

void apply(const SimulatorOptions& options, goal::GenerateRequest& request) {
  request.simulator = options.simulator;
  request.options.expand.intra_node = options.intra_node.value_or(goal::IntraNode::kMessages);
  request.options.expand.intra_bytes_per_ns = options.intra_gbps;
  request.options.expand.intra_latency_ns = options.intra_latency_ns;
}

Option* add_gpus_per_node(App& app, goal::InputOptions& options) {
  return app
      .add_option("--gpus-per-node", options.gpus_per_node,
                  "ranks of a node, which traces of Chakra do not tell")
      ->type_name("N")
      ->default_str(fmt::format("{}", goal::kDefaultGpusPerNode))
      ->check(whole_number_problem);
}

core::Status write_made_job(const goal::MadeJob& made, goal::GenerateRequest request, bool quiet) {
  request.scale.replicas = made.repeats;
  request.target.generator = program_version();
  request.options.misfits = goal::Misfits::kFail;
  const goal::GenerateResult result = ASSAY_TRY(goal::generate_of(made.job, request));
  show_warnings(result.warnings);
  if (!quiet) tell_written(result, request.simulator);
  return {};
}

void tell_written(const goal::GenerateResult& result, goal::Simulator simulator) {
  constexpr std::size_t kNamed = 4;
  for (std::size_t i = 0; i < result.written.size(); ++i) {
    if (i < kNamed || i + 1 == result.written.size()) {
      print_note("wrote " + result.written[i].string());
    }
  }
  if (result.removed > 0) {
    print_note(
        fmt::format("removed {} of an earlier schedule", core::counted(result.removed, "file")));
  }
  if (!result.next_command.empty()) print_note("run it with: " + result.next_command);
  if (simulator == goal::Simulator::kHtsim) {
    print_note(
        "ATLAHS (github.com/spcl/atlahs) has htsim's networks, with the same speed, below "
        "sim/htsim-backend/sim/datacenter/topologies");
  }
  if (simulator == goal::Simulator::kLogGopsim) {
    print_note(
        "LogGOPSim has one CPU a rank, on which copies wait for computation: it ends late, and the "
        "more nodes the later; the LogGOPSim in ATLAHS runs schedules for htsim");
  }
}

}  // namespace assay::cli
