#include <charconv>
#include <system_error>

#include "cli/options.h"
#include "cli/trace_options.h"

namespace assay::cli {
namespace {

const Choices<trace::SplitBy> kSplitBy{{"step", trace::SplitBy::kStep},
                                       {"phase", trace::SplitBy::kPhase},
                                       {"range", trace::SplitBy::kRange}};

std::optional<std::int64_t> step_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// Reads "3" or "3-7".
std::optional<trace::StepRange> step_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = step_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : step_number(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return trace::StepRange{*first, *last};
}

std::string steps_problem(const std::string& text) {
  for (const std::string& part : split(text, ','))
    if (!step_range(part)) return "'" + part + "' is neither a step nor a range such as 3-7";
  return "";
}

class TraceSplit final : public Command {
 public:
  explicit TraceSplit(App& app) {
    app.add_option("TRACE", request_.input,
                   "a trace (.json, .json.gz), or a folder with rank0, rank1, ..., each of which "
                   "is split")
        ->required();
    add_selection(app);
    app.add_option("-o,--output", request_.output.folder, "write the traces into this folder")
        ->type_name("DIR")
        ->default_str(trace::kSplitFolder)
        ->check([](const std::string& folder) {
          return folder == "-" ? "'-' would need a single trace; name a folder" : "";
        })
        ->group("Output options");
    const auto overwrite = [this] { request_.existing = trace::Existing::kOverwrite; };
    app.add_flag("--overwrite", overwrite, "replace the files in --output")
        ->group("Output options");
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const auto call = [this](core::Progress& progress) {
      return trace::run_split(request_, progress);
    };
    static_cast<void>(ASSAY_TRY(run_and_show(presentation_, call)));
    return Outcome::kOk;
  }

 private:
  void add_selection(App& app) {
    const char* group = "Selection options";
    add_choice(
        app, "--by", request_.choice.by, kSplitBy,
        "a trace for each step, for each phase of a serving engine (prefill, decode, mixed), "
        "or one for all that --steps chooses")
        ->group(group);
    const auto set_steps = [this](const std::string& text) {
      for (const std::string& part : split(text, ','))
        request_.choice.steps.push_back(*step_range(part));
    };
    app.add_option("--steps", set_steps, "only these steps, by number: 3,5-7")
        ->type_name("N-M,...")
        ->check(steps_problem)
        ->default_str("all")
        ->group(group);
    app.add_option("--annotation", request_.choice.annotation,
                   "split by the annotations of this name instead of by steps; * stands for any "
                   "text, and steps are their positions, from 0 on")
        ->type_name("NAME")
        ->group(group);
  }

  trace::SplitRequest request_;
  Presentation presentation_;
};

const CommandSpec kTraceSplit{
    .name = "trace split",
    .summary = "cut a trace into one for each step, phase or annotation",
    .description =
        "Writes TRACE.step_3.json and so on: the calls that begin during a step, with the GPU work "
        "that they launch, whenever that runs, as they stand in the trace. Steps are ProfilerStep "
        "annotations or, without those, the runs of the model that vLLM, SGLang and other serving "
        "engines annotate; their names then tell phase and batch size. GPU work whose launch "
        "record is "
        "missing goes to the step that its stream was at; what was launched before the profile "
        "began is left out. A trace that is cut off is split as far as it goes; the first "
        "line and exit status 1 say so, and what is written is whole.\n\n"
        "The files are read by viewers of traces (Perfetto) and by 'assay trace'. The environment "
        "of the host, which some profilers write into a trace, is left out. Inputs are never "
        "changed; files that exist are replaced only with --overwrite.",
    .examples =
        "assay trace split rank0.json.gz --steps 3-5\n"
        "assay trace split served.json.gz --by phase -o phases\n"
        "assay trace split rank0.json.gz --annotation 'Optimizer.step*' -o optimizer\n",
    .make = make_command<TraceSplit>,
};
ASSAY_REGISTER(CommandSpec, kTraceSplit);

}  // namespace
}  // namespace assay::cli
