// The protocol of `assay` and `assay-worker allreduce`: lines of JSON over the worker's standard
// input and output. Messages for people go to standard error. The worker holds one communicator
// (all GPUs of one TP size, one thread each) and measures one cell at a time.
//
//   assay-worker allreduce --tp 4 [--gpus 0,1,2,3] [--table FILE] [--rank R --rendezvous PATH]
//
// With --rank, the worker is one of several processes that meet at PATH, each with one GPU (the
// R-th of --gpus). Rank 0 creates that file, receives the requests and passes them on.
//
//   worker → assay  {"hello":1,"sm_version":90,"facts":{"GPU":"NVIDIA H200","driver":"580.159",
//                    "CUDA runtime":"13.0","NCCL":"2.28.3", ...}}         first, when it is ready
//                   {"fatal":"no NVIDIA driver was found"}                instead; exit code 1
//   assay → worker  {"id":7,"cell":{"world_size":4,"dtype":"bfloat16","fusion":"NONE",
//                    "hidden_size":4096,"num_tokens":128},"launch":"graph",
//                    "strategies":["ONESHOT","NCCL"],"tie":0.02,"min_samples":6,
//                    "max_samples":200,"memory_limit_bytes":0,"seed":1}
//   worker → assay  {"id":7,"doing":"check","strategy":"ONESHOT"}         before a possible hang
//                   {"id":7,"doing":"time","strategy":"ONESHOT"}
//                   {"id":7,"result":{"strategy":"ONESHOT","outcome":"ok","time_us":2.61,
//                    "low_us":2.6,"high_us":2.63,"min_us":2.5,"samples":20,
//                    "memory_bytes":1234,"reason":""}}                    one for each strategy
//                   {"id":7,"done":true}
//   assay → worker  end of input, which ends the worker
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allreduce/timings.h"
#include "core/result.h"

namespace assay::allreduce {

struct CellRequest {
  std::int64_t id = 0;
  Cell cell;
  Launch launch = Launch::kGraph;
  std::vector<Strategy> strategies;
  double tie = 0.02;  // a relative lead below this counts as a tie
  std::int64_t min_samples = 6;
  std::int64_t max_samples = 200;
  std::int64_t memory_limit_bytes = 0;  // per GPU; 0 for all its memory
  std::uint64_t seed = 1;
};

struct WorkerHello {
  int sm_version = 0;
  std::map<std::string, std::string> facts;
};

struct WorkerFatal {
  std::string message;
};

struct WorkerDoing {
  std::int64_t id = 0;
  std::string doing;  // "check" or "time"
  Strategy strategy = Strategy::kNccl;
};

struct WorkerResult {
  std::int64_t id = 0;
  Measurement measurement;  // its cell and launch are unset; the request has them
};

struct WorkerDone {
  std::int64_t id = 0;
};

using WorkerMessage = std::variant<WorkerHello, WorkerFatal, WorkerDoing, WorkerResult, WorkerDone>;

// Each line comes without its line break.
std::string request_line(const CellRequest& request);
core::Result<CellRequest> parse_request(std::string_view line);
std::string message_line(const WorkerMessage& message);
core::Result<WorkerMessage> parse_message(std::string_view line);

}  // namespace assay::allreduce
