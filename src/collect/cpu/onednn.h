// oneDNN for the makers of cpu_device.h. No exception of oneDNN may leave them.
#pragma once

#include <dnnl.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collect/cpu/host_tensor.h"
#include "collect/kernels/device.h"

namespace assay::collect::onednn {

const dnnl::engine& engine();
// The stream of all launches. On CPUs a primitive is finished when execute() returns.
dnnl::stream& stream();

// std::nullopt for types that oneDNN does not have.
std::optional<dnnl::memory::data_type> type_of(DataType type);

dnnl::memory wrap(HostTensor& tensor, const dnnl::memory::desc& shape);

// A primitive with its arguments.
struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;

  void run() { primitive.execute(stream(), arguments); }
};

// Calls a function that makes or launches primitives, and turns oneDNN's exceptions into errors.
// Its "unimplemented" becomes Unsupported.
core::Result<MadeWork> made(const std::function<std::unique_ptr<Work>()>& make);
core::Status launched(const std::function<void()>& launch);

}  // namespace assay::collect::onednn
