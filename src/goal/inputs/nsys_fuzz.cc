// libFuzzer target: any bytes are an SQLite export of Nsight Systems or, without SQLite's first
// bytes, the NVTX texts of a process, one a line. None may crash, hang or leak on the way to a job.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goal/inputs/join_processes.h"
#include "goal/inputs/nsys_database.h"
#include "goal/inputs/nsys_report.h"
#include "goal/inputs/nsys_text.h"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace)

// Joins processes whose communicators are named by their hash alone.
void join(std::vector<goal::ProcessRecording> processes,
          const std::vector<std::vector<goal::NsysCommunicator>>& communicators) {
  for (std::size_t i = 0; i < processes.size(); ++i) {
    for (const goal::NsysCommunicator& communicator : communicators[i]) {
      processes[i].communicators.push_back({.name = std::to_string(communicator.hash),
                                            .rank = communicator.rank,
                                            .num_ranks = communicator.num_ranks,
                                            .channels = communicator.channels});
    }
  }
  goal::join_processes(std::move(processes));
}

void read_database(std::span<const std::uint8_t> bytes) {
  const auto file = goal::SqliteFile::from_bytes(bytes, "fuzz.sqlite");
  if (!file.ok()) return;
  auto report = goal::read_nsys_report(file.value(), "report_nid1");
  if (report.ok()) join(std::move(report.value().processes), report.value().communicators);
}

void read_texts(std::string_view lines) {
  goal::NsysProcess process(1);
  for (std::int64_t time_ns = 0; !lines.empty(); time_ns += 10) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    process.add(goal::read_nvtx_text(line), time_ns, time_ns + 5, 1);
  }
  const std::vector<goal::NsysCommunicator> communicators = process.communicators;
  std::vector<goal::ProcessRecording> processes;
  processes.push_back(goal::finish_process(std::move(process), "fuzz.sqlite"));
  join(std::move(processes), {communicators});
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("SQLite format 3")) {
    read_database({data, size});
  } else {
    read_texts(text);
  }
  return 0;
}
