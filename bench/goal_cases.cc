#include <cstdlib>

#include "cases.h"
#include "goal/input.h"
#include "goal_inputs.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

// The public generator's graph has 3.53 million operations.
constexpr RecordedJob kJob{};
// The same recording with one more layer makes 220 MB of text.
constexpr RecordedJob kLargerJob{.layers = 17};
// 554,176 marks of 46,080 collectives.
constexpr RecordedJob kLongJob{.gpus_per_node = 8, .layers = 88, .steps = 4};
// 10^8 operations in a schedule of 4.5 GB; measured only where ASSAY_BENCH_LARGE is set.
constexpr RecordedJob kLargeJob{.gpus_per_node = 8, .layers = 84, .steps = 3};
constexpr std::uintmax_t kLargeBytes = 5'500'000'000;

core::Result<Usage> generate(Inputs& inputs,
                             const fs::path& input,
                             const std::vector<std::string>& more) {
  const fs::path output = ASSAY_TRY(inputs.scratch());
  std::vector<std::string> command{ASSAY_PROGRAM,  "goal", "generate",      "-i",
                                   input.string(), "-o",   output.string(), "--quiet"};
  command.insert(command.end(), more.begin(), more.end());
  return measure_program(command);
}

core::Result<Usage> generate_as_public(Inputs& inputs, const std::string& format) {
  const fs::path input = ASSAY_TRY(recording(inputs, kJob));
  const NpkitFiles npkit = ASSAY_TRY(npkit_files(inputs));
  return generate(
      inputs, input,
      {"--compat", "v2", "-s", npkit.simple.string(), "-l", npkit.ll.string(), "--write", format});
}

core::Result<Usage> generate_public_binary(Inputs& inputs) {
  return generate_as_public(inputs, "bin");
}

core::Result<Usage> generate_public_text(Inputs& inputs) {
  return generate_as_public(inputs, "text");
}

core::Result<Usage> generate_binary(Inputs& inputs) {
  const fs::path input = ASSAY_TRY(recording(inputs, kJob));
  return generate(inputs, input, {"--write", "bin"});
}

core::Result<Usage> generate_text(Inputs& inputs) {
  const fs::path input = ASSAY_TRY(recording(inputs, kJob));
  return generate(inputs, input, {"--write", "text"});
}

core::Result<Usage> generate_large(Inputs& inputs) {
  const fs::path input = ASSAY_TRY(recording(inputs, kLargeJob));
  const fs::path folder = ASSAY_TRY(inputs.folder());
  std::error_code ignored;
  fs::remove_all(ASSAY_TRY(inputs.scratch()), ignored);
  if (fs::space(folder).available < kLargeBytes) {
    return core::Error{"too little space for a schedule of 10^8 operations in " + folder.string()};
  }
  return generate(inputs, input, {"--write", "bin"});
}

fs::path sample() {
  return fs::path(ASSAY_SOURCE_DIR) / "samples" / "goal-4gpu";
}

core::Result<Usage> generate_sample(Inputs& inputs) {
  return generate(inputs, sample(), {"--write", "bin"});
}

core::Result<Usage> generate_replicas(Inputs& inputs) {
  return generate(inputs, sample(), {"--write", "bin", "--replicas", "16"});
}

core::Result<Usage> ingest(Inputs& inputs) {
  const fs::path input = ASSAY_TRY(recording(inputs, kLongJob));
  return measure_work([&]() -> core::Result<double> {
    const double start = cpu_seconds();
    const model::Job job = ASSAY_TRY(goal::read_job(input, {}));
    if (job.gpus.size() != static_cast<std::size_t>(kLongJob.ranks())) {
      return core::Error{"not all GPUs were read"};
    }
    return cpu_seconds() - start;
  });
}

core::Result<Usage> validate(Inputs& inputs) {
  const fs::path input = ASSAY_TRY(recording(inputs, kLongJob));
  return measure_program({ASSAY_PROGRAM, "goal", "validate", "-i", input.string()});
}

core::Result<Usage> to_binary(Inputs& inputs) {
  const fs::path text = ASSAY_TRY(public_schedule(inputs, kLargerJob, "text"));
  const fs::path folder = ASSAY_TRY(inputs.scratch());
  fs::create_directories(folder);
  return measure_program(
      {ASSAY_PROGRAM, "goal", "to-bin", text.string(), "-o", (folder / "output.bin").string()});
}

core::Result<Usage> check_text(Inputs& inputs) {
  const fs::path text = ASSAY_TRY(public_schedule(inputs, kLargerJob, "text"));
  return measure_program({ASSAY_PROGRAM, "goal", "check", text.string()});
}

core::Result<Usage> check_binary(Inputs& inputs) {
  const fs::path schedule = ASSAY_TRY(public_schedule(inputs, kJob, "bin"));
  return measure_program({ASSAY_PROGRAM, "goal", "check", schedule.string()});
}

core::Result<Usage> simulate_binary(Inputs& inputs) {
  const fs::path schedule = ASSAY_TRY(public_schedule(inputs, kJob, "bin"));
  return measure_program({ASSAY_PROGRAM, "simulate", schedule.string()});
}

core::Result<Usage> fit(Inputs& inputs) {
  const fs::path folder = ASSAY_TRY(inputs.folder());
  return measure_program({ASSAY_PROGRAM, "simulate", "fit", "-i", sample().string(), "-o",
                          (folder / "fitted.json").string()});
}

}  // namespace

std::vector<Case> goal_cases() {
  constexpr double kPeakMb = 150;
  std::vector<Case> cases = {
      {"goal generate v2, 3.53 M operations, binary", generate_public_binary, Target{0.5, kPeakMb}},
      {"goal generate v2, 3.53 M operations, text", generate_public_text, Target{1.5, kPeakMb}},
      {"goal generate, the same recording, binary", generate_binary, Target{0.5, kPeakMb}},
      {"goal generate, the same recording, text", generate_text, Target{1.5, kPeakMb}},
      {"goal: read 554,176 NVTX rows", ingest, Target{0.8, kPeakMb}},
      {"goal validate of 554,176 NVTX rows", validate, Target{0.8, kPeakMb}},
      {"goal to-bin, 220 MB", to_binary, Target{0.7}, 220},
      {"goal check, 220 MB of text", check_text, std::nullopt, 220},
      {"goal check, 3.53 M operations, binary", check_binary},
      {"simulate that schedule, 4.17 M events", simulate_binary, Target{1.0}},
      {"goal generate, bundled recording of 4 GPUs", generate_sample},
      {"goal generate, the same, 16 replicas", generate_replicas},
      {"simulate fit, bundled recording", fit},
  };
  if (std::getenv("ASSAY_BENCH_LARGE") != nullptr) {
    cases.push_back({"goal generate, 10^8 operations, binary", generate_large});
  }
  return cases;
}

}  // namespace assay::bench
