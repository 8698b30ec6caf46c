#include <fmt/core.h>

#include "cli/command.h"
#include "cli/fit_support.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "core/counted.h"
#include "core/files.h"
#include "goal/input.h"
#include "goal/validate.h"
#include "simulate/network.h"

namespace assay::cli {
namespace {

class SimulateFit final : public Command {
 public:
  explicit SimulateFit(App& app) {
    app.add_option("DIR,-i,--input", inputs_,
                   "recordings of operations at many sizes, as 'assay goal generate' takes them")
        ->required();
    app.add_option("-o,--output", output_, "the parameter file to write")
        ->type_name("FILE")
        ->required();
    app.add_option("--nccl-log", input_options_.nccl_logs,
                   "NCCL's logs, for rings and trees that the recordings lack")
        ->type_name("FILE")
        ->default_str("those beside each recording");
    app.add_option("--start", start_, "begin from the links and costs of this parameter file")
        ->type_name("FILE")
        ->default_str("those fitted on H200 with NVLink");
    app.add_option("--skip", skip_, "leave out the first N times of each kind and size")
        ->type_name("N")
        ->default_str("1")
        ->check(count_problem);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    ASSAY_TRY(check_output());
    goal::Links links = goal::default_links();
    goal::LineCosts costs = goal::default_costs();
    if (!start_.empty()) {
      const auto file = ASSAY_TRY(simulate::read_parameters(start_, 0));
      links.intra = simulate::with(file.links, "intra-", links.intra);
      links.inter = simulate::with(file.links, "", links.inter);
      costs = ASSAY_TRY(goal::read_line_costs(start_));
    }
    const std::vector<goal::UnitModel> measured =
        ASSAY_TRY(measured_units(inputs_, input_options_, skip_));
    const goal::Fitted fitted = ASSAY_TRY(goal::fit(measured, costs, links, simulator(), 0));
    simulate::LinkValues found_links;
    simulate::give(fitted.links.inter, "", found_links);
    simulate::give(fitted.links.intra, "intra-", found_links);
    ASSAY_TRY(
        simulate::write_parameters(output_, found_links, goal::line_costs_json(fitted.costs)));
    if (!presentation_.shows_summary()) return Outcome::kOk;
    const goal::Costs found = goal::costs_from_lines(fitted.costs, "fitted");
    const model::Book book =
        ASSAY_TRY(goal::validate(measured, found, fitted.links, simulator(), 0));
    print_summary(book, presentation_.summary());
    if (presentation_.quiet) return Outcome::kOk;
    print_note(fmt::format("mean |log(simulated / measured)| from {:.3f} to {:.3f} in {} of {}",
                           fitted.error_before, fitted.error,
                           core::counted(fitted.simulations, "simulation"),
                           core::counted(measured.size(), "kind and size", "kinds and sizes")));
    print_note("wrote " + output_.string());
    return Outcome::kOk;
  }

 private:
  // Checks the output before a fit that can take minutes.
  [[nodiscard]] core::Status check_output() const {
    const std::filesystem::path folder = output_.has_parent_path() ? output_.parent_path() : ".";
    if (!core::is_folder(folder)) {
      return core::Error{"cannot write '" + output_.string() + "': no such folder"};
    }
    if (core::is_folder(output_)) {
      return core::Error{"cannot write '" + output_.string() + "': it is a folder"};
    }
    return {};
  }

  std::vector<std::filesystem::path> inputs_;
  std::filesystem::path output_;
  std::filesystem::path start_;
  goal::InputOptions input_options_;
  std::size_t skip_ = 1;
  Presentation presentation_;
};

const CommandSpec kSimulateFit{
    .name = "simulate fit",
    .summary = "find the links and costs that reproduce measured times",
    .description =
        "Varies L, o, g and G within and between nodes, and what NCCL's copies and reductions "
        "cost in each protocol, until the operations of the recordings, each simulated alone, come "
        "closest to their measured times. Parameters that no recorded operation depends on stay "
        "as they were. The result is for 'assay simulate --params', 'assay goal generate --costs' "
        "and 'assay goal validate --params'.\n\n"
        "examples/collectives records what this wants: every collective, algorithm and protocol "
        "at many sizes.",
    .examples =
        "assay record -o recording -- torchrun --nproc_per_node 8 collectives.py\n"
        "assay simulate fit recording -o fitted.json\n"
        "assay simulate fit one_node two_nodes -o fitted.json\n",
    .make = make_command<SimulateFit>,
};
ASSAY_REGISTER(CommandSpec, kSimulateFit);

}  // namespace
}  // namespace assay::cli
