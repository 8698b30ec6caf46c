#include "cli/collecting.h"

#include <chrono>

#include "cli/output.h"
#include "core/interrupt.h"
#include "core/terminal.h"

namespace assay::cli {
namespace {

// What a case that runs has left at Ctrl-C, and a worker to end, and files to write.
constexpr unsigned kSecondsToFinish = 30;

}  // namespace

core::Result<collect::CollectResult> collect_with_progress(const collect::CollectOptions& options,
                                                           const collect::Plan& plan,
                                                           const Presentation& presentation) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.deadlines.of_case).count();
  core::allow_seconds_to_stop(static_cast<unsigned>(seconds) + kSecondsToFinish);
  core::TerminalLine line(presentation.quiet ? core::TerminalLine::Show::kNever
                                             : core::TerminalLine::Show::kOnTerminal);
  collect::CollectHooks hooks;
  hooks.on_notice = [&](const std::string& text) {
    line.clear();
    print_warning(text);
  };
  if (line.shown()) {
    hooks.on_progress = [&](const auto& now) { line.draw(collect::progress_text(now)); };
  }
  auto result = collect::run_collection(options, plan, hooks);
  line.clear();
  return result;
}

}  // namespace assay::cli
