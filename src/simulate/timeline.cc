#include "simulate/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>

#include "core/interrupt.h"
#include "core/output_file.h"
#include "core/text.h"
#include "simulate/network_report.h"

namespace assay::simulate {
namespace {

using model::OpKind;

constexpr std::size_t kBufferBytes = 1U << 20U;
constexpr std::size_t kCounters = 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The format counts in microseconds.
struct Microseconds {
  std::int64_t whole;
  std::int64_t thousandths;
};

Microseconds microseconds(std::int64_t ns) {
  return {ns / 1000, ns % 1000};
}

class Writer {
 public:
  Writer(const Record& record, std::FILE* file) : record_(record), file_(file) {}

  void show_rank(std::uint32_t rank) { shown_.push_back(rank); }

  void show_links(std::vector<LinkLoad> links, std::int64_t bin_ns) {
    links_ = std::move(links);
    bin_ns_ = bin_ns;
  }

  core::Status write() {
    std::sort(shown_.begin(), shown_.end());
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    for (const std::uint32_t rank : shown_) {
      add("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"rank {}\"}}}}",
          rank, rank);
      for (std::uint32_t i = 0; i < record_.schedule().ranks()[rank].ops.size(); ++i) {
        add_op({rank, i});
        if (text_.size() >= kBufferBytes) ASSAY_TRY(flush());
      }
      ASSAY_TRY(core::check_interrupt());
    }
    add_links();
    text_ += "\n]}\n";
    return flush();
  }

  [[nodiscard]] const TimelineSize& size() const { return size_; }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    if (!first_) text_ += ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  void add_op(OpId id) {
    const model::ScheduleOp& op = record_.op(id);
    const OpTimes times = record_.times(id);
    const auto start = microseconds(times.start_ns);
    const auto length = microseconds(times.cpu_end_ns - times.start_ns);
    ++size_.operations;
    if (op.kind == OpKind::kCalc) {
      return add(
          "{{\"ph\":\"X\",\"name\":\"calc\",\"pid\":{},\"tid\":{},\"ts\":{}.{:03},\"dur\":{}.{:03},"
          "\"args\":{{\"op\":{}}}}}",
          id.rank, unsigned{op.cpu}, start.whole, start.thousandths, length.whole,
          length.thousandths, id.op);
    }
    const OpId partner = record_.partner(id);
    const bool sends = op.kind == OpKind::kSend;
    add("{{\"ph\":\"X\",\"name\":\"{} {}\",\"pid\":{},\"tid\":{},\"ts\":{}.{:03},\"dur\":{}.{:03},"
        "\"args\":{{\"op\":{},\"bytes\":{},\"tag\":{},\"nic\":{}}}}}",
        sends ? "send to" : "receive from", partner.rank, id.rank, unsigned{op.cpu}, start.whole,
        start.thousandths, length.whole, length.thousandths, id.op, record_.message_bytes(id),
        std::uint32_t{op.tag}, unsigned{op.nic});
    if (!std::binary_search(shown_.begin(), shown_.end(), partner.rank)) return;
    // A send has exactly one receive, so that the place of the send identifies the message.
    const OpId send = sends ? id : partner;
    add("{{\"ph\":\"{}\",\"name\":\"message\",\"cat\":\"message\",\"id\":\"{}.{}\",\"pid\":{},"
        "\"tid\":{},\"ts\":{}.{:03}}}",
        sends ? "s" : "f\",\"bp\":\"e", send.rank, send.op, id.rank, unsigned{op.cpu}, start.whole,
        start.thousandths);
  }

  // The process after those of the ranks has the counters.
  void add_links() {
    if (links_.empty()) return;
    const std::size_t process = record_.schedule().ranks().size();
    add("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"links\"}}}}",
        process);
    for (const LinkLoad& link : links_) {
      const std::string name = core::json_escaped(link.name);
      for (std::size_t bin = 0; bin < link.load.size(); ++bin) {
        const auto start = microseconds(static_cast<std::int64_t>(bin) * bin_ns_);
        add("{{\"ph\":\"C\",\"name\":\"{}\",\"pid\":{},\"ts\":{}.{:03},\"args\":{{\"load "
            "%\":{:.2f}}}}}",
            name, process, start.whole, start.thousandths, link.load[bin]);
      }
    }
  }

  core::Status flush() {
    if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size() ||
        std::fflush(file_) != 0) {
      return core::Error{std::strerror(errno)};
    }
    size_.bytes += text_.size();
    text_.clear();
    return {};
  }

  const Record& record_;
  std::FILE* file_;
  std::vector<std::uint32_t> shown_ = {};
  std::vector<LinkLoad> links_ = {};
  std::int64_t bin_ns_ = 1;
  std::string text_ = {};
  bool first_ = true;
  TimelineSize size_ = {};
};

}  // namespace

core::Result<TimelineSize> write_timeline(const Outcome& outcome,
                                          const std::vector<std::uint32_t>& ranks,
                                          const std::filesystem::path& path) {
  const std::size_t num_ranks = outcome.finish_ns.size();
  std::vector<std::uint32_t> shown = ranks;
  if (shown.empty()) {
    shown.resize(num_ranks);
    std::iota(shown.begin(), shown.end(), 0U);
  }
  for (const std::uint32_t rank : shown) {
    if (rank < num_ranks) continue;
    return core::Error{fmt::format("there is no rank {} among {}", rank, num_ranks)};
  }
  TimelineSize size;
  const auto write = [&](const std::filesystem::path& temporary) -> core::Status {
    const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(temporary.c_str(), "wb"));
    const auto failed = [&](const std::string& why) {
      return core::Error{fmt::format("cannot write '{}': {}", path.string(), why)};
    };
    if (!file) return failed(std::strerror(errno));
    Writer writer(outcome.record(), file.get());
    for (const std::uint32_t rank : shown)
      writer.show_rank(rank);
    if (const Transfers* transfers = outcome.transfers(); transfers != nullptr) {
      writer.show_links(link_loads(outcome, kCounters), transfers->usage().bin_ns());
    }
    if (const auto written = writer.write(); !written.ok()) return failed(written.error().message);
    size = writer.size();
    return {};
  };
  ASSAY_TRY(core::write_file_with(path, write, core::Durability::kUnsynced));
  return size;
}

}  // namespace assay::simulate
