// A plan: a kernel of cuDNN for an operation graph, ready to launch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "collect/cuda/cudnn_graph.h"
#include "core/result.h"

namespace assay::collect::cudnn {

// A handle of cuDNN for the current GPU.
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

// Creates a device from its description in JSON by cuDNN 9.8 or newer, to make plans without the
// device.
core::Result<Descriptor> device_description(const std::string& json);

// Returns the description of the handle's device.
core::Result<std::string> device_json(cudnnHandle_t handle);

// The target of a plan: a handle, or the description of a device that need not be present.
struct Target {
  cudnnHandle_t handle = nullptr;
  const Descriptor* device = nullptr;
};

class Plan {
 public:
  // Makes the first kernel of those that cuDNN's heuristics propose that needs no larger workspace.
  // Fails if no kernel can be made; the message has what cuDNN said about the last.
  static core::Result<Plan> create(Graph graph,
                                   const Target& target,
                                   std::int64_t most_workspace_bytes);

  // Makes a plan from the json() of another without compiling. `graph` must be built like that of
  // the other.
  static core::Result<Plan> restore(Graph graph, const Target& target, const std::string& json);

  // Returns the whole plan, including its compiled kernel.
  [[nodiscard]] core::Result<std::string> json() const;

  [[nodiscard]] std::int64_t workspace_bytes() const { return workspace_bytes_; }

  // Returns cuDNN's number of the engine, for messages, or -1 for a restored plan.
  [[nodiscard]] std::int64_t engine() const { return engine_; }

  // Binds the tensors to their memory. The memory and the plan must outlive the result.
  [[nodiscard]] core::Result<Descriptor> pack(const std::map<TensorId, void*>& memory,
                                              void* workspace) const;

  // Launches the kernel on the handle's stream.
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
