#include "goal/inputs/recording.h"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/parallel.h"
#include "goal/input.h"
#include "goal/inputs/input_files.h"
#include "goal/inputs/join_processes.h"
#include "goal/inputs/nccl_log_facts.h"
#include "model/recording_file.h"

namespace assay::goal {
namespace {

namespace rec = model::recording;

template <class Record>
void add(Records<Record>& records, const rec::RecordView& view) {
  records.push_back({view.number(), view.as<Record>()});
}

void add(RecordedProcess& process, const rec::RecordView& view) {
  switch (view.kind()) {
    case rec::Kind::kText: {
      const auto text = view.as<rec::Text>();
      process.texts[text.id] = view.text<rec::Text>(text.length);
      return;
    }
    case rec::Kind::kNote:
      process.notes.emplace_back(view.text<rec::Note>(view.as<rec::Note>().length));
      return;
    case rec::Kind::kClock:
      process.clocks.push_back(view.as<rec::Clock>());
      return;
    case rec::Kind::kCommunicator:
      return add(process.communicators, view);
    case rec::Kind::kCollApi:
      return add(process.coll_apis, view);
    case rec::Kind::kP2pApi:
      return add(process.p2p_apis, view);
    case rec::Kind::kKernelLaunch:
      return add(process.launches, view);
    case rec::Kind::kPlan:
      return add(process.plans, view);
    case rec::Kind::kColl:
      return add(process.colls, view);
    case rec::Kind::kP2p:
      return add(process.p2ps, view);
    case rec::Kind::kKernel:
      return add(process.kernels, view);
    case rec::Kind::kCorrelation:
      return add(process.correlations, view);
    case rec::Kind::kKernelChannel:
      return add(process.kernel_channels, view);
    default:
      return;
  }
}

template <class Record>
std::int64_t last_start(const Records<Record>& records) {
  std::int64_t last = 0;
  for (const auto& entry : records)
    last = std::max(last, entry.record.event.start_ns);
  return last;
}

// Differences of damaged times must not overflow.
std::int64_t difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

const std::string& RecordedProcess::text(std::uint32_t id) const {
  static const std::string none;
  const auto found = texts.find(id);
  return found == texts.end() ? none : found->second;
}

std::int64_t RecordedProcess::realtime_ns(std::uint64_t cupti_ns) const {
  if (clocks.empty()) return static_cast<std::int64_t>(cupti_ns);
  const auto after = std::upper_bound(
      clocks.begin(), clocks.end(), cupti_ns,
      [](std::uint64_t time, const rec::Clock& clock) { return time < clock.cupti_ns; });
  const rec::Clock& from = after == clocks.begin() ? clocks.front() : *(after - 1);
  const std::int64_t since = difference(cupti_ns, from.cupti_ns);
  if (after == clocks.begin() || after == clocks.end()) return sum(from.time_ns, since);
  // Between two readings the clocks drift at a constant rate.
  const auto cupti_span = static_cast<double>(difference(after->cupti_ns, from.cupti_ns));
  const auto span = static_cast<double>(after->time_ns) - static_cast<double>(from.time_ns);
  if (!(std::abs(span - cupti_span) < cupti_span / 2)) return sum(from.time_ns, since);
  return sum(from.time_ns, std::llround(static_cast<double>(since) * (span / cupti_span)));
}

std::int64_t RecordedProcess::end_ns() const {
  std::int64_t end = std::max({header.start_ns, last_start(plans), last_start(colls),
                               last_start(p2ps), last_start(launches)});
  for (const auto& kernel : kernels)
    end = std::max(end, realtime_ns(kernel.record.end_ns));
  return end;
}

namespace {

std::string what_is_left(const rec::File& file) {
  const std::uint64_t whole = file.header().saved_blocks * rec::kBlockBytes;
  const std::string of = whole > 0 ? fmt::format(" of {}", whole) : "";
  return fmt::format("{}{} bytes, {}", file.size_bytes(), of,
                     core::counted(file.records().size(), "record"));
}

}  // namespace

RecordedProcess sort_records(const rec::File& file, const std::string& name) {
  RecordedProcess process;
  process.file = name;
  process.header = file.header();
  process.damaged_blocks = file.damaged_blocks();
  if (file.cut()) process.cut = what_is_left(file);
  for (const rec::RecordView& view : file.records())
    add(process, view);
  if (process.kernels.empty()) process.clocks = clocks_of(process.kernel_channels);
  std::sort(process.clocks.begin(), process.clocks.end(),
            [](const rec::Clock& a, const rec::Clock& b) { return a.cupti_ns < b.cupti_ns; });
  return process;
}

namespace {

namespace fs = std::filesystem;
namespace rec = model::recording;

struct ReadFile {
  std::vector<ProcessRecording> recordings;
  std::string boot;
  std::int32_t nccl_version = 0;
  bool empty = false;
};

core::Result<ReadFile> read_file(const fs::path& path) {
  const rec::File file = ASSAY_TRY(rec::File::read(path));
  ReadFile read;
  read.recordings = recordings_of(sort_records(file, path.string()));
  read.boot = rec::text_of(file.header().boot) + "/" + rec::text_of(file.header().host);
  read.nccl_version = file.header().nccl_version;
  read.empty = read.recordings.empty();
  return read;
}

// Returns "2.28.9" for 22809.
std::string version_text(std::int32_t version) {
  constexpr std::int32_t kMajor = 10000;
  constexpr std::int32_t kMinor = 100;
  if (version <= 0) return "";
  return fmt::format("{}.{}.{}", version / kMajor, version % kMajor / kMinor, version % kMinor);
}

core::Status check_ranks(const std::vector<ProcessRecording>& recordings) {
  std::map<std::pair<std::string, std::int32_t>, const ProcessRecording*> claimed;
  for (const ProcessRecording& recording : recordings) {
    for (const CommunicatorView& view : recording.communicators) {
      const auto [found, added] = claimed.emplace(std::pair(view.name, view.rank), &recording);
      if (added || found->second == &recording) continue;
      return core::Error{
          fmt::format("{} and {} are both rank {} of communicator {}: keep one of them",
                      found->second->file, recording.file, view.rank, view.name)};
    }
  }
  return {};
}

core::Result<model::Job> read_recordings(const std::vector<fs::path>& files,
                                         const InputOptions& options) {
  std::vector<ReadFile> read = ASSAY_TRY(read_all(files, options.threads, read_file));
  std::vector<ProcessRecording> recordings;
  std::map<std::string, std::uint32_t> clocks;
  model::Warnings warnings;
  std::int32_t nccl_version = 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const auto number = static_cast<std::uint32_t>(clocks.size());
    const std::uint32_t clock = clocks.emplace(read[i].boot, number).first->second;
    nccl_version = std::max(nccl_version, read[i].nccl_version);
    if (read[i].empty) {
      warnings.add("recordings of processes that began no communicator", "left out",
                   files[i].string());
    }
    for (ProcessRecording& recording : read[i].recordings) {
      recording.gpu.clock = clock;
      recordings.push_back(std::move(recording));
    }
  }
  if (recordings.empty()) {
    return core::Error{fmt::format("{}: no process of this recording began a communicator",
                                   files.front().parent_path().string())};
  }
  ASSAY_TRY(check_ranks(recordings));
  model::Job job = join_processes(std::move(recordings));
  job.nccl_version = version_text(nccl_version);
  job.warnings.merge(warnings);
  ASSAY_TRY(add_logged_topology(files, options, job));
  return job;
}

const InputSpec kRecording{
    .name = "recording",
    .description = "files of assay's recorder, assay_<host>_<process>.rec",
    .accepts = rec::is_recording,
    .read = read_recordings,
};
ASSAY_REGISTER(InputSpec, kRecording);

}  // namespace

}  // namespace assay::goal
