// How `assay collect` and its workers talk: lines of JSON over the worker's standard input and
// output; what a worker has to say to people goes to standard error. A worker does one case at a
// time. Workers are `assay-worker collect` or a Python program for modules of one's own.
//
//   worker → assay  {"hello":1,"device":{"kind":"cuda","name":"NVIDIA H200","sm_version":90,
//                    "framework":"assay","version":"0.1.0","count":1,
//                    "facts":{"driver":"580.159", ...}}}                  first, once ready
//                   {"fatal":"no NVIDIA driver was found"}                instead of it, and exit 1
//   assay → worker  {"id":7,"operator":"gemm","case":{"gemm_dtype":"bfloat16","m":1, ...},
//                    "check":true,"options":{...}}      of a module, "case" is a list of arguments
//                   "soon":[{"operator":"gemm","case":{...}}, ...]        may be in it: what this
//                   worker is likely to get next, for it to prepare
//   worker → assay  {"id":7,"doing":"check"}                              before it may hang
//                   {"id":7,"doing":"time"}
//                   {"id":7,"row":{...}}                                  a measured row, any
//                   number then one of
//                   {"id":7,"done":true,"kernels_ms":8.5}
//                   {"id":7,"skip":"cuDNN has no plan for head size 576"}
//                   {"id":7,"error":{"class":"OutOfMemory","message":"...","traceback":"...",
//                    "lost":false}}          lost: the worker ends; a fresh one does the next case
//   assay → worker  end of input: the worker ends
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collect/kernels/device.h"
#include "collect/worker/measure.h"
#include "core/result.h"
#include "model/perf.h"

namespace assay::collect {

struct SoonCase {
  std::string operator_name;
  std::string case_json;
};

struct CaseRequest {
  std::int64_t id = 0;
  std::string operator_name;
  std::string case_json;  // {"m":1} or, of a module, a list
  bool check = false;     // compare outputs with a reference before timing
  bool measure_power = false;
  double power_seconds = 1;  // how long to run for power, at least
  MeasureOptions options = {};
  std::vector<SoonCase> soon = {};
};

struct WorkerHello {
  DeviceFacts device;
};

struct WorkerFatal {
  std::string message;
};

struct CaseDoing {
  std::int64_t id = 0;
  std::string doing;
};

struct CaseRow {
  std::int64_t id = 0;
  model::PerfMeasurement measurement;
};

struct CaseDone {
  std::int64_t id = 0;
  // Of the device, with launches of this case: warm-ups, samples kept or not. A module's worker
  // does not know.
  std::optional<double> kernels_ms = {};
};

struct CaseSkipped {
  std::int64_t id = 0;
  std::string reason;
};

// Classes of our own: "OutOfMemory", "WrongResult", "DeviceError", "MeasurementError".
struct CaseError {
  std::int64_t id = 0;
  std::string error_class;
  std::string message;
  std::string traceback = {};
  bool lost = false;
};

using WorkerMessage =
    std::variant<WorkerHello, WorkerFatal, CaseDoing, CaseRow, CaseDone, CaseSkipped, CaseError>;

// One line each, without its end.
std::string request_line(const CaseRequest& request);
core::Result<CaseRequest> parse_request(std::string_view line);
std::string message_line(const WorkerMessage& message);
core::Result<WorkerMessage> parse_message(std::string_view line);

}  // namespace assay::collect
