// Fuzzes both sides of the protocols: a line that can be parsed must also be parsed after it is
// written again.
#include <cstdint>
#include <string_view>

#include "allreduce/bench/nccl_protocol.h"
#include "allreduce/bench/protocol.h"
#include "core/check.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto request = allreduce::parse_request(line); request.ok()) {
    const std::string written = allreduce::request_line(request.value());
    const auto again = allreduce::parse_request(written);
    ASSAY_CHECK(again.ok(), "a request that was written cannot be read");
    ASSAY_CHECK(allreduce::request_line(again.value()) == written, "a request changed");
  }
  if (const auto message = allreduce::parse_message(line); message.ok()) {
    const auto again = allreduce::parse_message(allreduce::message_line(message.value()));
    ASSAY_CHECK(again.ok(), "a message that was written cannot be read");
  }
  if (const auto request = allreduce::parse_nccl_request(line); request.ok()) {
    const auto again = allreduce::parse_nccl_request(allreduce::request_line(request.value()));
    ASSAY_CHECK(again.ok(), "a sweep's request that was written cannot be read");
  }
  if (const auto message = allreduce::parse_nccl_message(line); message.ok()) {
    const auto again = allreduce::parse_nccl_message(allreduce::nccl_message_line(message.value()));
    ASSAY_CHECK(again.ok(), "a sweep's message that was written cannot be read");
  }
  return 0;
}
