// Makes small nsys reports for tests.
#pragma once

#include <fmt/core.h>
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "core/check.h"

namespace assay::goal {

class NsysFile {
 public:
  explicit NsysFile(const std::filesystem::path& path) {
    ASSAY_CHECK(sqlite3_open(path.c_str(), &database_) == SQLITE_OK, "cannot make a test file");
    run("BEGIN");
    run("CREATE TABLE NVTX_EVENTS(start INT, end INT, text TEXT, textId INT, globalTid INT)");
    run("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)");
  }

  NsysFile(const NsysFile&) = delete;
  NsysFile& operator=(const NsysFile&) = delete;

  ~NsysFile() {
    run("COMMIT");
    sqlite3_close(database_);
  }

  void run(const std::string& sql) {
    char* message = nullptr;
    const int code = sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, &message);
    ASSAY_CHECK(code == SQLITE_OK, message == nullptr ? "a query failed" : message);
  }

  // Adds a text of process kProcess and thread kThread. The pid is appended as NCCL does it.
  void mark(std::int64_t start_ns, const std::string& text) { range(start_ns, start_ns, text); }

  void range(std::int64_t start_ns, std::int64_t end_ns, const std::string& text) {
    run(fmt::format("INSERT INTO NVTX_EVENTS VALUES({}, {}, '{}', NULL, {})", start_ns, end_ns,
                    with_process(text), global_id()));
  }

  static std::string with_process(const std::string& text) {
    const bool window = text.starts_with("nsys");
    return fmt::format("{} pid{} {}", text, window ? ":" : "", kProcess);
  }

  void kernel(std::int64_t start_ns,
              std::int64_t end_ns,
              const std::string& function,
              int stream = 7,
              int correlation = 0) {
    if (!have_kernels_) {
      run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, end INT, deviceId INT, streamId INT, "
          "correlationId INT, globalPid INT, demangledName INT, graphNodeId INT)");
      have_kernels_ = true;
    }
    const std::string name = fmt::format("ncclDevKernel_{}_RING_LL(ncclDevComm*)", function);
    run(fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES({}, {}, 0, {}, {}, {}, {}, NULL)", start_ns,
        end_ns, stream, correlation, kProcess << 24, string_id(name)));
  }

  void launch(std::int64_t start_ns, int correlation) {
    if (!have_launches_) {
      run("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INT, end INT, globalTid INT, "
          "correlationId INT, nameId INT)");
      have_launches_ = true;
    }
    run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES({}, {}, {}, {}, 0)", start_ns,
                    start_ns + 1, global_id(), correlation));
  }

  int string_id(const std::string& text) {
    const auto [found, added] = strings_.emplace(text, static_cast<int>(strings_.size()) + 1);
    if (added) {
      run(fmt::format("INSERT INTO StringIds VALUES({}, '{}')", found->second, text));
    }
    return found->second;
  }

  // Adds rank `rank` of two in communicator 0xaa, which all hosts know as 0xbb, with one channel.
  void communicator(int rank) {
    const int other = 1 - rank;
    mark(1, fmt::format("commHash 0xaa commId 0xbb rank {} nranks 2", rank));
    mark(2, fmt::format("commHash 0xaa Rings [0] {}->{}->{}", other, rank, other));
    mark(3, fmt::format("commHash 0xaa Trees [0] {}/-1/-1->{}->{}", rank == 0 ? 1 : -1, rank,
                        rank == 0 ? -1 : 0));
  }

  void call(std::int64_t start_ns,
            std::int64_t end_ns,
            const std::string& op,
            std::int64_t bytes,
            const std::string& rest = "",
            const std::string& stream = "0x77") {
    range(start_ns, end_ns,
          fmt::format("nccl{}(): commHash 0xaa, stream {}, data_size {}, type_size 4,{}", op,
                      stream, bytes, rest));
  }

  void chosen(std::int64_t at_ns, int function, std::int64_t bytes, int algorithm = 1) {
    mark(at_ns, fmt::format("collType {} root 0 redOp 0 algo {} proto 2 commHash 0xaa stream 0x77 "
                            "data_size {} type_size 4 chunkSize 4096 chunkCount 1024 chunkSteps 4 "
                            "sliceSteps 2 stepSize 524288",
                            function, algorithm, bytes));
  }

  void part(std::int64_t at_ns,
            std::int64_t count,
            std::int64_t work,
            std::int64_t offset,
            std::int64_t send_buffer = 4096,
            std::int64_t receive_buffer = 4096) {
    mark(at_ns, fmt::format("nWarps 16 count {} chunkCount 1024 workCount {} lastChunkCount 512 "
                            "workOffset {} sendbuff {} recvbuff {}",
                            count, work, offset, send_buffer, receive_buffer));
  }

  void p2p_part(std::int64_t at_ns, int type, int peer, std::int64_t bytes) {
    mark(at_ns, fmt::format("Bytes {} nWarps 16 p2pType {} peer {} proto 2 countHi32 0 countLo32 "
                            "{} chunkSize 131072",
                            bytes, type, peer, bytes));
  }

  static constexpr std::int64_t kProcess = 500;
  static constexpr std::int64_t kThread = 501;

  static std::int64_t global_id() { return (std::int64_t{1} << 56) | (kProcess << 24) | kThread; }

 private:
  sqlite3* database_ = nullptr;
  std::map<std::string, int> strings_;
  bool have_kernels_ = false;
  bool have_launches_ = false;
};

}  // namespace assay::goal
