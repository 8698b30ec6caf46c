// libFuzzer target: the bytes are a line between `assay collect` and a worker, in either direction.
// No line may crash the reader, and what was read is the same after it was written and read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "collect/worker/protocol.h"
#include "collect/worker/run_case.h"
#include "core/check.h"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace)

void examine(const collect::CaseRequest& request) {
  const std::string line = collect::request_line(request);
  const auto again = collect::parse_request(line);
  ASSAY_CHECK(again.ok(), "a request that was written can be read");
  ASSAY_CHECK(collect::request_line(again.value()) == line, "a request survives");
  const auto point = collect::parse_case(request.operator_name, request.case_json);
  if (point.ok()) ASSAY_CHECK(!point.value().id().empty(), "a case has a name");
}

void examine(const collect::WorkerMessage& message) {
  const std::string line = collect::message_line(message);
  const auto again = collect::parse_message(line);
  ASSAY_CHECK(again.ok(), "a message that was written can be read");
  ASSAY_CHECK(again.value().index() == message.index(), "a message keeps its kind");
  ASSAY_CHECK(collect::message_line(again.value()) == line, "a message survives");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const auto request = collect::parse_request(line);
  if (request.ok()) examine(request.value());
  const auto message = collect::parse_message(line);
  if (message.ok()) examine(message.value());
  return 0;
}
