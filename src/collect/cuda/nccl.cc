#include "collect/cuda/nccl.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

#include "core/shared_library.h"

namespace assay::collect {
namespace {

core::Result<NcclFunctions> open_nccl() {
  const core::SharedLibrary library = ASSAY_TRY(core::open_library({"libnccl.so.2"}));
  NcclFunctions made;
  ASSAY_TRY(library.require("ncclGetVersion", made.version));
  ASSAY_TRY(library.require("ncclGetUniqueId", made.unique_id));
  ASSAY_TRY(library.require("ncclCommInitRank", made.init_rank));
  ASSAY_TRY(library.require("ncclCommDestroy", made.destroy));
  ASSAY_TRY(library.require("ncclAllReduce", made.all_reduce));
  ASSAY_TRY(library.require("ncclAllGather", made.all_gather));
  ASSAY_TRY(library.require("ncclReduceScatter", made.reduce_scatter));
  ASSAY_TRY(library.require("ncclSend", made.send));
  ASSAY_TRY(library.require("ncclRecv", made.receive));
  ASSAY_TRY(library.require("ncclGroupStart", made.group_start));
  ASSAY_TRY(library.require("ncclGroupEnd", made.group_end));
  ASSAY_TRY(library.require("ncclGetErrorString", made.error_string));
  ASSAY_TRY(library.require("ncclGetLastError", made.last_error));
  return made;
}

// A round begins when the first rank comes and ends when the last one leaves.
class Meeting {
 public:
  core::Result<std::vector<unsigned char>> exchange(int rank,
                                                    int ranks,
                                                    const std::vector<unsigned char>& own) {
    std::unique_lock lock(mutex_);
    free_.wait(lock, [&] { return !leaving_; });
    parts_.resize(own.size() * static_cast<std::size_t>(ranks));
    std::copy(own.begin(), own.end(),
              parts_.begin() + static_cast<std::ptrdiff_t>(own.size()) * rank);
    if (++present_ == ranks) {
      leaving_ = true;
      complete_.notify_all();
    }
    complete_.wait(lock, [&] { return leaving_; });
    std::vector<unsigned char> all = parts_;
    if (--present_ == 0) {
      leaving_ = false;
      parts_.clear();
      free_.notify_all();
    }
    return all;
  }

  core::Result<ncclUniqueId> unique_id(int ranks) {
    const std::lock_guard lock(id_mutex_);
    const auto known = ids_.find(ranks);
    if (known != ids_.end()) return known->second;
    ncclUniqueId made;
    ASSAY_TRY(nccl_status(nccl_functions().value().unique_id(&made), "making an id of ranks"));
    return ids_[ranks] = made;
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  std::condition_variable complete_;
  std::vector<unsigned char> parts_;
  int present_ = 0;
  bool leaving_ = false;
  std::mutex id_mutex_;
  std::map<int, ncclUniqueId> ids_;
};

}  // namespace

const core::Result<NcclFunctions>& nccl_functions() {
  static const core::Result<NcclFunctions> opened = open_nccl();
  return opened;
}

std::string nccl_version() {
  const core::Result<NcclFunctions>& nccl = nccl_functions();
  int number = 0;
  if (!nccl.ok() || nccl.value().version(&number) != ncclSuccess) return "none";
  // 22807 is 2.28.7; since 2.9 the parts have two digits each.
  return std::to_string(number / 10000) + "." + std::to_string(number % 10000 / 100) + "." +
         std::to_string(number % 100);
}

core::Status nccl_status(ncclResult_t result, const char* doing) {
  if (result == ncclSuccess) return {};
  const NcclFunctions& nccl = nccl_functions().value();
  const char* details = nccl.last_error(nullptr);
  std::string message = std::string(doing) + ": " + nccl.error_string(result);
  if (details != nullptr && *details != '\0') message += std::string(" (") + details + ")";
  return core::Error{message};
}

RankMeeting meet_in_process() {
  auto meeting = std::make_shared<Meeting>();
  return {.unique_id = [meeting](int ranks) { return meeting->unique_id(ranks); },
          .exchange =
              [meeting](int rank, int ranks, const std::vector<unsigned char>& own) {
                return meeting->exchange(rank, ranks, own);
              }};
}

RankMeeting meet_in_job(const MpiRank& job) {
  const auto exchange =
      [job](int /*rank*/, int ranks,
            const std::vector<unsigned char>& own) -> core::Result<std::vector<unsigned char>> {
    std::vector<unsigned char> all(own.size() * static_cast<std::size_t>(ranks));
    ASSAY_TRY(mpi::status_of(job, job.functions->all_gather(own.data(), all.data(), own.size(),
                                                            mpi::Element::kByte, ranks)));
    return all;
  };
  // All ranks take the id of rank 0.
  const auto unique_id = [job, exchange](int ranks) -> core::Result<ncclUniqueId> {
    ncclUniqueId made{};
    if (job.rank == 0) {
      ASSAY_TRY(nccl_status(nccl_functions().value().unique_id(&made), "making an id of ranks"));
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(&made);
    const std::vector<unsigned char> all =
        ASSAY_TRY(exchange(job.rank, ranks, {bytes, bytes + sizeof(made)}));
    std::copy_n(all.begin(), sizeof(made), reinterpret_cast<unsigned char*>(&made));
    return made;
  };
  return {.unique_id = unique_id, .exchange = exchange};
}

}  // namespace assay::collect
