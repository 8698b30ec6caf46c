// oneDNN for the makers of cpu_kernels.h only: its exceptions must not leave them.
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
// Of launches; on CPUs it is done when execute() returns.
dnnl::stream& stream();

// Nothing of the types that oneDNN has not.
std::optional<dnnl::memory::data_type> type_of(DataType type);

dnnl::memory wrap(HostTensor& tensor, const dnnl::memory::desc& shape);

// A primitive with its arguments.
struct Step {
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;

  void run() { primitive.execute(stream(), arguments); }
};

// Runs what makes or launches primitives. oneDNN's "unimplemented" is no error but Unsupported.
core::Result<MadeWork> made(const std::function<std::unique_ptr<Work>()>& make);
core::Status launched(const std::function<void()>& launch);

}  // namespace assay::collect::onednn
