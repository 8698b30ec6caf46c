#include "simulate/critical_path.h"

#include <algorithm>

namespace assay::simulate {
namespace {

using model::OpKind;

// The moment of an operation that explains what came after it.
enum class Moment : std::uint8_t { kStart, kCpuFree, kNicFree, kArrival };

class Walk {
 public:
  Walk(const Record& record, CriticalPath& path) : record_(record), path_(path) {}

  // Walks backwards from the moment `until_ns` of an operation.
  void run(OpId id, std::int64_t until_ns) {
    id_ = id;
    until_ns_ = until_ns;
    moment_ = Moment::kCpuFree;
    do {
      step_to_receive();
      path_.ranks.push_back(id_.rank);
      explain_own_time();
    } while (step_to_cause());
  }

 private:
  void add(Spent spent, std::int64_t start_ns) {
    if (start_ns >= until_ns_) return;
    path_.segments.push_back({id_, spent, start_ns, until_ns_});
    path_.total_ns[static_cast<std::size_t>(spent)] += until_ns_ - start_ns;
    until_ns_ = start_ns;
  }

  // A rendezvous keeps the sender's CPU and NIC until they are free at the receiver.
  void step_to_receive() {
    if (record_.op(id_).kind != OpKind::kSend) return;
    const OpTimes times = record_.times(id_);
    const Link& link = record_.link(id_);
    const bool by_cpu = moment_ == Moment::kCpuFree && until_ns_ > times.cpu_end_ns;
    const std::int64_t nic_end =
        times.start_ns + link.gap_ns + link.bandwidth_ns(record_.message_bytes(id_));
    const bool by_nic = moment_ == Moment::kNicFree && until_ns_ > nic_end;
    if (by_cpu || by_nic) id_ = record_.partner(id_);
  }

  void explain_own_time() {
    const std::int64_t start = record_.state(id_).time_ns();
    if (moment_ == Moment::kStart) return;
    switch (record_.op(id_).kind) {
      case OpKind::kCalc:
        return add(Spent::kCalc, start);
      case OpKind::kReceive:
        if (moment_ == Moment::kCpuFree) add(Spent::kCpu, start + record_.link(id_).gap_ns);
        return add(Spent::kGap, start);
      case OpKind::kSend:
        return explain_send(start);
    }
  }

  void explain_send(std::int64_t start) {
    const std::int64_t bandwidth = record_.link(id_).bandwidth_ns(record_.message_bytes(id_));
    if (moment_ == Moment::kNicFree) {
      add(Spent::kGap, start + bandwidth);
      return add(Spent::kBandwidth, start);
    }
    if (moment_ == Moment::kArrival) {
      ++path_.messages;
      if (record_.passage(id_).transfer_ns >= 0) return explain_passage();
      const std::int64_t cpu_end = record_.times(id_).cpu_end_ns;
      add(Spent::kLatency, cpu_end + bandwidth);
      add(Spent::kBandwidth, cpu_end);
    }
    add(Spent::kCpu, start);
  }

  // What is lost is lost all along the way; here it comes last. A message that had to wait for
  // those before it in its connection hangs on them, and on when the first of them entered.
  void explain_passage() {
    add(Spent::kLatency, record_.left_ns(id_));
    for (;;) {
      const Passage passage = record_.passage(id_);
      add(Spent::kContention, record_.left_ns(id_) - passage.lost_ns);
      add(Spent::kBandwidth, record_.moving_since_ns(id_));
      if (passage.behind == kNone) break;
      id_.op = passage.behind;
    }
    add(Spent::kCpu, record_.state(id_).time_ns());
  }

  // Returns false at the beginning.
  bool step_to_cause() {
    const OpState& state = record_.state(id_);
    switch (state.reason()) {
      case Reason::kBeginning:
        return false;
      case Reason::kMessage:
        moment_ = Moment::kArrival;
        id_ = record_.partner(id_);
        return true;
      case Reason::kAfterStart:
        moment_ = Moment::kStart;
        break;
      case Reason::kAfterFinish:
      case Reason::kCpu:
        moment_ = Moment::kCpuFree;
        break;
      case Reason::kNic:
        moment_ = Moment::kNicFree;
        break;
    }
    id_.op = state.cause;
    return true;
  }

  const Record& record_;
  CriticalPath& path_;
  OpId id_ = {};
  std::int64_t until_ns_ = 0;
  Moment moment_ = Moment::kCpuFree;
};

}  // namespace

const char* name_of(Spent spent) {
  switch (spent) {
    case Spent::kCalc:
      return "calculation";
    case Spent::kCpu:
      return "CPU overhead (o, O)";
    case Spent::kGap:
      return "NIC gap (g)";
    case Spent::kBandwidth:
      return "bandwidth (G)";
    case Spent::kLatency:
      return "latency (L)";
    case Spent::kContention:
      return "contention";
  }
  return "";
}

std::vector<Segment> CriticalPath::longest(std::size_t count) const {
  std::vector<Segment> sorted(segments);
  const auto longer = [](const Segment& a, const Segment& b) {
    const std::int64_t difference = (a.end_ns - a.start_ns) - (b.end_ns - b.start_ns);
    return difference != 0 ? difference > 0 : a.start_ns < b.start_ns;
  };
  const std::size_t shown = std::min(count, sorted.size());
  std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(shown),
                    sorted.end(), longer);
  sorted.resize(shown);
  return sorted;
}

CriticalPath critical_path(const Outcome& outcome) {
  CriticalPath path;
  const auto slowest = std::max_element(outcome.finish_ns.begin(), outcome.finish_ns.end());
  if (slowest == outcome.finish_ns.end()) return path;
  const OpId last = outcome.last_op[static_cast<std::size_t>(slowest - outcome.finish_ns.begin())];
  if (last.op == kNone) return path;
  Walk(outcome.record(), path).run(last, *slowest);
  std::reverse(path.segments.begin(), path.segments.end());
  std::sort(path.ranks.begin(), path.ranks.end());
  path.ranks.erase(std::unique(path.ranks.begin(), path.ranks.end()), path.ranks.end());
  return path;
}

}  // namespace assay::simulate
