// The protocol of `assay` and `assay-worker allreduce --nccl-sweep PLUGIN`: lines of JSON, as in
// protocol.h, whose hello and fatal messages it shares. The worker's ranks are its threads, with a
// GPU each, and NCCL has loaded our tuner plugin, through which the worker decides each call.
//
//   assay → worker  {"id":7,"sweep":{"collective":"allreduce","world_size":4,"size":65536,
//                    "launch":"graph","dtype":"bfloat16"},"arms":["NCCL","NCCL_RING_LL_8"],"tie":0.02,
//                    "min_samples":6,"max_samples":200,"seed":1}
//   worker → assay  {"id":7,"arm":"NCCL_RING_LL_8"}                       before a possible hang
//                   {"id":7,"measured":{"arm":"NCCL_RING_LL_8","ran":"NCCL_RING_LL_8",
//                    "outcome":"ok","time_us":9.1,"low_us":9,"high_us":9.2,"min_us":8.9,
//                    "samples":20,"reason":""}}                           one for each arm
//                   {"id":7,"over":true}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allreduce/bench/protocol.h"
#include "allreduce/nccl_setting.h"
#include "core/result.h"

namespace assay::allreduce {

struct NcclRequest {
  std::int64_t id = 0;
  NcclCell cell;
  std::vector<NcclArm> arms;
  double tie = 0.02;
  std::int64_t min_samples = 6;
  std::int64_t max_samples = 200;
  std::uint64_t seed = 1;
};

struct NcclDoing {
  std::int64_t id = 0;
  NcclArm arm;
};

struct NcclResult {
  std::int64_t id = 0;
  NcclMeasurement measurement;  // its cell is unset; the request has it
};

struct NcclOver {
  std::int64_t id = 0;
};

using NcclMessage = std::variant<WorkerHello, WorkerFatal, NcclDoing, NcclResult, NcclOver>;

// Each line comes without its line break.
std::string request_line(const NcclRequest& request);
core::Result<NcclRequest> parse_nccl_request(std::string_view line);
std::string nccl_message_line(const NcclMessage& message);
core::Result<NcclMessage> parse_nccl_message(std::string_view line);

}  // namespace assay::allreduce
