#include "cli/goal_outputs.h"

#include <array>
#include <string_view>
#include <utility>

#include "cli/output.h"
#include "cli/trace_options.h"
#include "cli/version.h"

namespace assay::cli {
namespace {

constexpr const char* kDefaultCosts = "fitted on H200 with NVLink";

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
      ->default_str(kDefaultCosts);
}

core::Result<goal::Costs> slice_costs(const std::filesystem::path& file) {
  if (file.empty()) return goal::costs_from_lines(goal::default_costs(), kDefaultCosts);
  return goal::costs_from_lines(ASSAY_TRY(goal::read_line_costs(file)), file.string());
}

core::Status write_made_job(const goal::MadeJob& made, goal::GenerateRequest request, bool quiet) {
  request.scale.replicas = made.repeats;
  request.target.generator = program_version();
  request.options.misfits = goal::Misfits::kFail;
  const goal::GenerateResult result = ASSAY_TRY(goal::generate_of(made.job, request));
  show_warnings(result.warnings);
  name_files(result.written, quiet);
  return {};
}

void name_files(const std::vector<std::filesystem::path>& files, bool quiet) {
  if (quiet) return;
  for (const std::filesystem::path& file : files)
    print_note("wrote " + file.string());
}

}  // namespace assay::cli
