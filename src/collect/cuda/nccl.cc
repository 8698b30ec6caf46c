#include "collect/cuda/nccl.h"

#include "collect/cuda/library_search.h"

namespace assay::collect {
namespace {

core::Result<NcclFunctions> open() {
  const core::SharedLibrary library = ASSAY_TRY(open_library({"libnccl.so.2"}));
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

}  // namespace

const core::Result<NcclFunctions>& nccl_functions() {
  static const core::Result<NcclFunctions> opened = open();
  return opened;
}

std::string nccl_version() {
  const core::Result<NcclFunctions>& nccl = nccl_functions();
  int number = 0;
  if (!nccl.ok() || nccl.value().version(&number) != ncclSuccess) return "none";
  // 22807 since 2.9, with two digits each.
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

}  // namespace assay::collect
