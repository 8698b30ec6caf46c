#include "nsys_generator.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "core/files.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMarkNs = 300;         // time from one mark to the next
constexpr std::int64_t kCallNs = 5'000;       // duration of a call on the host
constexpr std::int64_t kGroupNs = 200;        // duration of a group's begin or end
constexpr std::int64_t kBetweenNs = 150'000;  // time from one kernel to the next
constexpr std::int64_t kStepBytes = 524'288;
constexpr std::int64_t kChunkBytes = 4 * kStepBytes;
constexpr std::int64_t kLayerBytes = 64 << 20;   // over all ranks
constexpr std::int64_t kTensorBytes = 16 << 20;  // reduced at the end of a step
constexpr int kTensors = 4;
constexpr std::uint32_t kCommunicator = 0x1000;

// A collective, with NCCL's numbers for its function and type size.
struct Collective {
  const char* name;
  int function;
  int string_id;  // id of its kernel's name
  int type_size;
  const char* arguments;  // arguments that the others do not have
};

constexpr Collective kAllGather{"AllGather", 2, 1, 2, ""};
constexpr Collective kReduceScatter{"ReduceScatter", 3, 2, 4, "red_op 0, "};
constexpr Collective kAllReduce{"AllReduce", 4, 3, 4, "red_op 0, "};

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};

struct EndStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

class Report {
 public:
  static core::Result<Report> create(const fs::path& path) {
    Report report;
    sqlite3* database = nullptr;
    const int opened = sqlite3_open(path.c_str(), &database);
    report.database_.reset(database);
    if (opened != SQLITE_OK) return report.failure();
    ASSAY_TRY(report.run(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
        "CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER,"
        " text TEXT, textId INTEGER, globalTid INTEGER);"
        "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL,"
        " deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,"
        " globalPid INTEGER, demangledName INTEGER, shortName INTEGER)"));
    for (const Collective& collective : {kAllGather, kReduceScatter, kAllReduce}) {
      ASSAY_TRY(report.run(
          fmt::format("INSERT INTO StringIds VALUES({}, 'ncclDevKernel_{}_RING_LL(ncclDevComm*)')",
                      collective.string_id, collective.name)));
    }
    report.event_ = ASSAY_TRY(
        report.prepare("INSERT INTO NVTX_EVENTS(start, end, eventType, text) VALUES(?, ?, ?, ?)"));
    report.kernel_ = ASSAY_TRY(
        report.prepare("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?, ?, ?, 1, 1, 0, ?, ?, ?)"));
    return report;
  }

  core::Status mark(std::int64_t at_ns, std::string_view text) {
    sqlite3_bind_null(event_.get(), 2);
    return add_event(at_ns, 34, text);
  }

  core::Status range(std::int64_t start_ns, std::int64_t end_ns, std::string_view text) {
    sqlite3_bind_int64(event_.get(), 2, end_ns);
    return add_event(start_ns, 59, text);
  }

  core::Status kernel(
      std::int64_t start_ns, std::int64_t end_ns, int device, std::int64_t process, int name) {
    sqlite3_bind_int64(kernel_.get(), 1, start_ns);
    sqlite3_bind_int64(kernel_.get(), 2, end_ns);
    sqlite3_bind_int(kernel_.get(), 3, device);
    sqlite3_bind_int64(kernel_.get(), 4, process << 24);
    sqlite3_bind_int(kernel_.get(), 5, name);
    sqlite3_bind_int(kernel_.get(), 6, name);
    return insert(kernel_.get());
  }

  core::Status finish() { return run("COMMIT"); }

 private:
  using Statement = std::unique_ptr<sqlite3_stmt, EndStatement>;

  [[nodiscard]] core::Error failure() const {
    return core::Error{fmt::format("SQLite: {}", sqlite3_errmsg(database_.get()))};
  }

  core::Status run(const std::string& sql) {
    const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? core::Status{} : failure();
  }

  core::Result<Statement> prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(database_.get(), sql, -1, &statement, nullptr);
    if (code != SQLITE_OK) return failure();
    return Statement(statement);
  }

  core::Status add_event(std::int64_t start_ns, int type, std::string_view text) {
    sqlite3_bind_int64(event_.get(), 1, start_ns);
    sqlite3_bind_int(event_.get(), 3, type);
    sqlite3_bind_text(event_.get(), 4, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    return insert(event_.get());
  }

  core::Status insert(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? core::Status{} : failure();
  }

  std::unique_ptr<sqlite3, CloseDatabase> database_;
  Statement event_;
  Statement kernel_;
};

// The process of one GPU. The host runs ahead of the GPU, as it does in training.
class Process {
 public:
  Process(Report& report, const RecordedJob& job, int rank)
      : report_(report),
        job_(job),
        rank_(rank),
        id_(100'000 + rank),
        host_ns_(1'000'000'000 + rank * 1'000),
        kernel_end_ns_(host_ns_) {}

  core::Status write() {
    ASSAY_TRY(communicator());
    ASSAY_TRY(mark("nsys profiling start, pid:"));
    for (int step = 0; step < job_.steps; ++step) {
      for (int i = 0; i < job_.layers; ++i)
        ASSAY_TRY(collective(kAllGather, kLayerBytes / job_.ranks(), 1));
      for (int i = 0; i < job_.layers; ++i)
        ASSAY_TRY(collective(kReduceScatter, kLayerBytes / job_.ranks(), 4));
      for (int i = 0; i < kTensors; ++i)
        ASSAY_TRY(collective(kAllReduce, kTensorBytes, 4));
    }
    host_ns_ = std::max(host_ns_, kernel_end_ns_) + 1'000;
    return mark("nsys profiling stopped, pid:");
  }

 private:
  core::Status mark(std::string_view text) {
    host_ns_ += kMarkNs;
    return report_.mark(host_ns_, fmt::format("{} {}", text, id_));
  }

  core::Status range(std::int64_t duration_ns, std::string_view text) {
    host_ns_ += 500;
    return report_.range(host_ns_, host_ns_ + duration_ns, fmt::format("{} pid {}", text, id_));
  }

  // Makes a ring in the order of ranks, and a tree in which rank r has the children 2 r + 1 and 2 r
  // + 2.
  core::Status communicator() {
    const int ranks = job_.ranks();
    const auto child = [&](int number) { return number < ranks ? number : -1; };
    ASSAY_TRY(mark(fmt::format("commHash 0x{:x} commId 0xabc000 rank {} nranks {} pid",
                               kCommunicator, rank_, ranks)));
    for (int channel = 0; channel < job_.channels; ++channel) {
      ASSAY_TRY(
          mark(fmt::format("commHash 0x{:x} Rings [{}] {}->{}->{} pid", kCommunicator, channel,
                           (rank_ + ranks - 1) % ranks, rank_, (rank_ + 1) % ranks)));
      ASSAY_TRY(mark(fmt::format("commHash 0x{:x} Trees [{}] {}/{}/-1->{}->{} pid", kCommunicator,
                                 channel, child(2 * rank_ + 1), child(2 * rank_ + 2), rank_,
                                 rank_ > 0 ? (rank_ - 1) / 2 : -1)));
    }
    return {};
  }

  // `unit_bytes` is the unit in which NCCL counts: single bytes where it only copies.
  core::Status collective(const Collective& kind, std::int64_t bytes, std::int64_t unit_bytes) {
    ASSAY_TRY(range(kGroupNs, "ncclGroupStart():"));
    ASSAY_TRY(range(kCallNs, fmt::format("nccl{}(): commHash 0x{:x}, stream 0x5500{:x}, "
                                         "data_size {}, type_size {}, {}",
                                         kind.name, kCommunicator, kCommunicator, bytes,
                                         kind.type_size, kind.arguments)));
    ASSAY_TRY(mark(fmt::format(
        "collType {} root 0 redOp 0 algo 1 proto 2 commHash 0x{:x} stream 0x5500{:x} data_size {} "
        "type_size {} chunkSize {} chunkCount {} chunkSteps 4 sliceSteps 2 stepSize {} pid",
        kind.function, kCommunicator, kCommunicator, bytes, unit_bytes, kChunkBytes,
        kChunkBytes / unit_bytes, kStepBytes)));
    ASSAY_TRY(channels(kind, bytes / unit_bytes, kChunkBytes / unit_bytes));
    ASSAY_TRY(range(kGroupNs, "ncclGroupEnd():"));
    const std::int64_t start_ns = std::max(kernel_end_ns_ + kBetweenNs, host_ns_);
    kernel_end_ns_ = start_ns + bytes * job_.ranks() / 200 + 10'000;
    return report_.kernel(start_ns, kernel_end_ns_, rank_ % job_.gpus_per_node, id_,
                          kind.string_id);
  }

  core::Status channels(const Collective& kind, std::int64_t count, std::int64_t chunk) {
    const std::int64_t work = count / job_.channels;
    const std::int64_t chunks_at_once = kind.function == kAllReduce.function ? job_.ranks() : 1;
    const std::int64_t rest = work % (chunk * chunks_at_once) / chunks_at_once;
    const std::int64_t last_chunk = rest > 0 ? std::min(rest, chunk) : chunk;
    for (int channel = 0; channel < job_.channels; ++channel) {
      ASSAY_TRY(mark(fmt::format(
          "nWarps 16 count {} chunkCount {} workCount {} lastChunkCount {} workOffset {} sendbuff "
          "1099511627776 recvbuff 1099511627783 pid",
          count, chunk, work, last_chunk, channel * work)));
    }
    return {};
  }

  Report& report_;
  const RecordedJob& job_;
  int rank_;
  std::int64_t id_;
  std::int64_t host_ns_;
  std::int64_t kernel_end_ns_;
};

}  // namespace

core::Status write_nsys_reports(const fs::path& folder, const RecordedJob& job) {
  ASSAY_TRY(core::make_directories(folder));
  for (int node = 0; node < job.nodes; ++node) {
    Report report =
        ASSAY_TRY(Report::create(folder / fmt::format("nsys_report_nid{:06}.sqlite", node)));
    for (int gpu = 0; gpu < job.gpus_per_node; ++gpu)
      ASSAY_TRY(Process(report, job, node * job.gpus_per_node + gpu).write());
    ASSAY_TRY(report.finish());
  }
  return {};
}

}  // namespace assay::bench
