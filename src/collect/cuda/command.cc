#include "collect/cuda/command.h"

#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "collect/cuda/device.h"
#include "collect/cuda/self_checking.h"
#include "collect/worker_loop.h"

namespace assay::collect {
namespace {

struct Options {
  std::vector<int> gpus = {0};
  bool self_test = false;
};

std::optional<std::vector<int>> numbers(const std::string& list) {
  std::vector<int> values;
  const char* at = list.data();
  const char* end = at + list.size();
  while (at < end) {
    int value = 0;
    const auto read = std::from_chars(at, end, value);
    if (read.ec != std::errc{} || (read.ptr != end && *read.ptr != ',')) return std::nullopt;
    values.push_back(value);
    at = read.ptr == end ? end : read.ptr + 1;
  }
  if (values.empty()) return std::nullopt;
  return values;
}

core::Result<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--self-test") {
      options.self_test = true;
    } else if (arguments[i] == "--gpus" && i + 1 < arguments.size()) {
      const auto gpus = numbers(arguments[++i]);
      if (!gpus) return core::Error{"--gpus must be numbers with commas, like 0,1"};
      options.gpus = *gpus;
    } else {
      return core::Error{"unknown option " + arguments[i]};
    }
  }
  return options;
}

}  // namespace

int run_collect_command(const std::vector<std::string>& arguments) {
  const auto options = parse(arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "assay-worker collect: %s\n", options.error().message.c_str());
    return 2;
  }
  const std::vector<int>& gpus = options.value().gpus;
  if (options.value().self_test) return run_self_test(gpus);
  return run_worker([&gpus]() -> core::Result<WorkerDevice> {
    return WorkerDevice{.device = ASSAY_TRY(CudaDevice::open(gpus))};
  });
}

}  // namespace assay::collect
