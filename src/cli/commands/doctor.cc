#include "doctor/doctor.h"

#include <fmt/core.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "core/files.h"
#include "core/terminal.h"

namespace assay::cli {
namespace {

constexpr std::size_t kPipeColumns = 100;

std::string gpu_list_problem(const std::string& list) {
  for (const std::string& word : split(list, ',')) {
    if (!count_problem(word).empty()) {
      return fmt::format("'{}' is no list of GPUs such as 0,1,3", list);
    }
  }
  return {};
}

class Doctor final : public Command {
 public:
  explicit Doctor(App& app) {
    app.add_option(
           "--gpus", [this](const std::string& list) { take_gpus(list); },
           "which GPUs, as nvidia-smi counts them: 0,1,3")
        ->type_name("LIST")
        ->default_str("all")
        ->check(gpu_list_problem);
    app.add_option("--root", request_.root,
                   "where /proc and /sys of the machine are, for a container that has the host's "
                   "mounted elsewhere")
        ->type_name("DIR")
        ->default_str("/");
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    if (core::is_folder(request_.root / "proc")) return {};
    return core::Error{fmt::format("--root {} has no folder 'proc'", request_.root.string())};
  }

  core::Result<Outcome> run() override {
    const doctor::Diagnosis diagnosis = ASSAY_TRY(doctor::diagnose(request_));
    if (presentation_.shows_summary()) {
      show(diagnosis);
    } else {
      warn(diagnosis);
    }
    const bool clean = doctor::worst(diagnosis) <= doctor::Level::kNote;
    return clean ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  void take_gpus(const std::string& list) {
    for (const std::string& word : split(list, ',')) {
      int gpu = 0;
      std::from_chars(word.data(), word.data() + word.size(), gpu);
      request_.gpus.push_back(gpu);
    }
  }

  void show(const doctor::Diagnosis& diagnosis) const {
    switch (presentation_.summary()) {
      case Summary::kTable:
        return print(doctor::doctor_text(diagnosis, core::terminal_columns(stdout, kPipeColumns)));
      case Summary::kCsv:
        return print(doctor::findings_csv(diagnosis));
      case Summary::kJson:
        return print_summary(doctor::doctor_book(diagnosis), Summary::kJson);
    }
  }

  // Prints the findings that are warnings or worse, instead of the report.
  static void warn(const doctor::Diagnosis& diagnosis) {
    for (const doctor::Finding& finding : diagnosis.findings) {
      if (finding.level >= doctor::Level::kWarning) {
        print_warning(finding.where + ": " + finding.seen);
      }
    }
  }

  doctor::DoctorRequest request_;
  Presentation presentation_;
};

const CommandSpec kDoctor{
    .name = "doctor",
    .summary = "tell what spoils measurements on this machine, and how to mend it",
    .description =
        "Looks at the NVIDIA GPUs (persistence mode, clocks, other processes, MIG, ECC, power "
        "limit, thermal headroom, slowdowns, PCIe, NVLink, peer access), at the host (CPU "
        "governor, "
        "load, NUMA balancing, container) and at the versions of CUDA, cuBLASLt, cuDNN and NCCL, "
        "which it finds as the workers do (in the folders of ASSAY_LIBRARY_PATH first). "
        "Each finding says why it matters and what to do; at the end stand the commands that lock "
        "the clocks of these GPUs, and those that undo it. It changes nothing and needs no "
        "root.\n\n"
        "NVML does not tell whether clocks are locked: an idle GPU shows it by its clocks, a busy "
        "one does not.\n\n"
        "A machine without NVIDIA GPUs is no failure: CPU kernels can be measured there. With "
        "--format csv only the findings are written, with json everything.",
    .regression_means = "a warning or a problem was found",
    .examples =
        "assay doctor\n"
        "assay doctor --gpus 0,1 && assay collect --gpus 0,1 -o results\n"
        "assay doctor --format json > machine.json\n",
    .make = make_command<Doctor>,
};
ASSAY_REGISTER(CommandSpec, kDoctor);

}  // namespace
}  // namespace assay::cli
