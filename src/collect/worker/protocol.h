// The protocol between `assay collect` and its workers: lines of JSON over the worker's standard
// input and output. Messages for people go to standard error. A worker measures one case at a time.
// Workers are `assay-worker collect`, `assay-cpu-worker`, and Python programs that serve the user's
// modules.
//
//   worker → assay  {"hello":1,"device":{"kind":"cuda","name":"NVIDIA H200","sm_version":90,
//                    "framework":"assay","version":"0.1.0","count":1,
//                    "facts":{"driver":"580.159", ...}}}                  first, when it is ready
//                   {"fatal":"no NVIDIA driver was found"}                instead of it, and exit 1
//   assay → worker  {"id":7,"operator":"gemm","case":{"gemm_dtype":"bfloat16","m":1, ...},
//                    "check":true,"options":{...}}      for a module, "case" is a list of
//                   arguments. It may also have the cases that the worker will probably get next,
//                   so that it can prepare them:
//                   "soon":[{"operator":"gemm","case":{...}}, ...]
//   worker → assay  {"id":7,"doing":"check"}                              before a stage that may
//   hang
//                   {"id":7,"doing":"time"}
//                   {"id":7,"row":{...}}                                  a measured row; a case
//                   has any number of rows, and then one of these:
//                   {"id":7,"done":true,"kernels_ms":8.5,"prepare_ms":2.1,"check_ms":0,
//                    "rest_ms":0}
//                   {"id":7,"skip":"cuDNN has no plan for head size 576"}
//                   {"id":7,"error":{"class":"OutOfMemory","message":"...","traceback":"...",
//                    "lost":false}}          lost: the worker ends, and another one gets
//                   the next case
//   assay → worker  closes the input, and the worker ends
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
  std::string case_json;  // {"m":1}, or a list for a module
  bool check = false;     // compare outputs with a reference before timing
  bool measure_power = false;
  double power_seconds = 0.4;  // between two steps of the energy counter, at least
  // Of a whole collection, not of a case: every Nth size of a key has its power measured.
  std::int64_t power_every = 1;
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

// The parts of a case's time.
struct CaseTimes {
  double kernels_ms =
      0;  // of all launches that were timed, warm-ups and discarded samples included
  double prepare_ms = 0;  // for data, and for trials of the kernels to choose from
  double check_ms = 0;    // for comparing outputs with a reference
  double rest_ms = 0;     // for waiting until the device's clock is back
};

struct CaseDone {
  std::int64_t id = 0;
  std::optional<CaseTimes> times = {};  // unknown for a module's worker
};

struct CaseSkipped {
  std::int64_t id = 0;
  std::string reason;
};

// The classes of Assay's own workers are "OutOfMemory", "WrongResult", "DeviceError",
// "MeasurementError".
struct CaseError {
  std::int64_t id = 0;
  std::string error_class;
  std::string message;
  std::string traceback = {};
  bool lost = false;
};

using WorkerMessage =
    std::variant<WorkerHello, WorkerFatal, CaseDoing, CaseRow, CaseDone, CaseSkipped, CaseError>;

// Each function writes or reads one line, without its end.
std::string request_line(const CaseRequest& request);
core::Result<CaseRequest> parse_request(std::string_view line);
std::string message_line(const WorkerMessage& message);
core::Result<WorkerMessage> parse_message(std::string_view line);

}  // namespace assay::collect
