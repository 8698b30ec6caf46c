// A kernel of cuDNN for an operation graph, ready to launch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "collect/cuda/cudnn_graph.h"
#include "core/result.h"

namespace assay::collect::cudnn {

// cuDNN on the GPU that is current.
class Handle {
 public:
  static core::Result<Handle> create(cudaStream_t stream);

  Handle() = default;

  Handle(Handle&& other) noexcept { *this = std::move(other); }

  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~Handle();

  [[nodiscard]] cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

// A device as cuDNN describes it in JSON (cuDNN 9.8 and newer), to make plans for it elsewhere.
core::Result<Descriptor> device_description(const std::string& json);

// That JSON of the handle's device.
core::Result<std::string> device_json(cudnnHandle_t handle);

// What plans are made for: a handle, or a description of a device that is not here.
struct Target {
  cudnnHandle_t handle = nullptr;
  const Descriptor* device = nullptr;
};

class Plan {
 public:
  // Of the kernels that cuDNN's heuristics propose the first that it can make and that needs at
  // most that workspace. Error: there is none; says what cuDNN said of the last.
  static core::Result<Plan> create(Graph graph,
                                   const Target& target,
                                   std::int64_t most_workspace_bytes);

  // From json(): nothing is compiled. `graph` is built as that plan's was.
  static core::Result<Plan> restore(Graph graph, const Target& target, const std::string& json);

  // The compiled kernel and all else of the plan.
  [[nodiscard]] core::Result<std::string> json() const;

  [[nodiscard]] std::int64_t workspace_bytes() const { return workspace_bytes_; }

  // cuDNN's number of the engine, for reports of errors; -1: restored.
  [[nodiscard]] std::int64_t engine() const { return engine_; }

  // The tensors' memory, for launches. The memory and the plan outlive it.
  [[nodiscard]] core::Result<Descriptor> pack(const std::map<TensorId, void*>& memory,
                                              void* workspace) const;

  // On the handle's stream.
  [[nodiscard]] core::Status launch(cudnnHandle_t handle, const Descriptor& pack) const;

 private:
  core::Status take_first(const Target& target,
                          cudnnBackendHeurMode_t mode,
                          std::int64_t most_workspace_bytes);
  core::Status take(const Target& target, Descriptor config, std::int64_t most_workspace_bytes);

  Graph graph_;
  Descriptor config_;
  Descriptor plan_;
  std::int64_t workspace_bytes_ = 0;
  std::int64_t engine_ = -1;
};

}  // namespace assay::collect::cudnn
