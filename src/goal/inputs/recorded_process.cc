#include "goal/inputs/recorded_process.h"

#include <cmath>

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

// Differences of damaged times, too, must not overflow.
std::int64_t difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

const std::string& RecordedProcess::text(std::uint32_t id) const {
  static const std::string kNone;
  const auto found = texts.find(id);
  return found == texts.end() ? kNone : found->second;
}

std::int64_t RecordedProcess::realtime_ns(std::uint64_t cupti_ns) const {
  if (clocks.empty()) return static_cast<std::int64_t>(cupti_ns);
  const auto after = std::upper_bound(
      clocks.begin(), clocks.end(), cupti_ns,
      [](std::uint64_t time, const rec::Clock& clock) { return time < clock.cupti_ns; });
  const rec::Clock& from = after == clocks.begin() ? clocks.front() : *(after - 1);
  const std::int64_t since = difference(cupti_ns, from.cupti_ns);
  if (after == clocks.begin() || after == clocks.end()) return sum(from.time_ns, since);
  // Between two readings the clocks drift evenly.
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

RecordedProcess sort_records(const rec::File& file, const std::string& name) {
  RecordedProcess process;
  process.file = name;
  process.header = file.header();
  process.damaged_blocks = file.damaged_blocks();
  for (const rec::RecordView& view : file.records())
    add(process, view);
  std::sort(process.clocks.begin(), process.clocks.end(),
            [](const rec::Clock& a, const rec::Clock& b) { return a.cupti_ns < b.cupti_ns; });
  return process;
}

}  // namespace assay::goal
