#include "collect/cuda/cudnn_plan.h"

#include <fmt/core.h>

#include <vector>

namespace assay::collect::cudnn {
namespace {

// cuDNN never proposes this many engines for an attention.
constexpr std::int64_t kMostProposals = 32;

core::Result<Descriptor> ask_heuristics(const Graph& graph,
                                        const Target& target,
                                        cudnnBackendHeurMode_t mode) {
  Descriptor asked =
      ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "the heuristics"));
  ASSAY_TRY(asked.set_descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.descriptor()));
  ASSAY_TRY(asked.set_value(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode));
  if (target.device != nullptr)
    ASSAY_TRY(asked.set_descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.device));
  ASSAY_TRY(asked.finalize());
  return asked;
}

// Returns the proposed engines, the best first.
core::Result<std::vector<Descriptor>> proposals(const Descriptor& heuristics) {
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> places;
  for (std::int64_t i = 0; i < kMostProposals; ++i) {
    configs.push_back(
        ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "an engine's setting")));
    places.push_back(configs.back().get());
  }
  std::int64_t count = 0;
  ASSAY_TRY(status(functions().value().get_attribute(
                       heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                       CUDNN_TYPE_BACKEND_DESCRIPTOR, kMostProposals, &count, places.data()),
                   "reading what the heuristics propose"));
  configs.resize(static_cast<std::size_t>(std::min(count, kMostProposals)));
  return configs;
}

core::Result<Descriptor> empty_plan(const Target& target) {
  Descriptor plan =
      ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "the plan"));
  if (target.handle != nullptr)
    ASSAY_TRY(plan.set_value(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle));
  if (target.device != nullptr)
    ASSAY_TRY(plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.device));
  return plan;
}

core::Result<Descriptor> make_plan(const Target& target, const Descriptor& config) {
  Descriptor plan = ASSAY_TRY(empty_plan(target));
  ASSAY_TRY(plan.set_descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config));
  ASSAY_TRY(plan.finalize());
  return plan;
}

core::Result<std::int64_t> engine_of(const Descriptor& config) {
  Descriptor engine =
      ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, "the plan's engine"));
  cudnnBackendDescriptor_t place = engine.get();
  std::int64_t count = 0;
  ASSAY_TRY(
      status(functions().value().get_attribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                               CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &place),
             "reading the plan's engine"));
  return engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}

}  // namespace

core::Result<Handle> Handle::create(cudaStream_t stream) {
  if (!functions().ok()) return functions().error();
  Handle made;
  ASSAY_TRY(status(functions().value().create(&made.handle_), "starting cuDNN"));
  ASSAY_TRY(
      status(functions().value().set_stream(made.handle_, stream), "giving cuDNN its stream"));
  return made;
}

Handle::~Handle() {
  if (handle_ != nullptr) functions().value().destroy(handle_);
}

core::Result<Descriptor> device_description(const std::string& json) {
  Descriptor device =
      ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "the device"));
  ASSAY_TRY(device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                       static_cast<std::int64_t>(json.size()), json.data()));
  ASSAY_TRY(device.finalize());
  return device;
}

core::Result<std::string> device_json(cudnnHandle_t handle) {
  Descriptor device =
      ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "the device"));
  ASSAY_TRY(device.set_value(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, handle));
  ASSAY_TRY(device.finalize());
  return device.text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
}

core::Result<Plan> Plan::restore(Graph graph, const Target& target, const std::string& json) {
  Plan made;
  made.graph_ = std::move(graph);
  made.plan_ = ASSAY_TRY(empty_plan(target));
  ASSAY_TRY(made.plan_.set(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                           static_cast<std::int64_t>(json.size()), json.data()));
  ASSAY_TRY(made.plan_.finalize());
  made.workspace_bytes_ = ASSAY_TRY(made.plan_.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  return made;
}

core::Result<std::string> Plan::json() const {
  return plan_.text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
}

core::Result<Plan> Plan::create(Graph graph,
                                const Target& target,
                                std::int64_t most_workspace_bytes) {
  Plan made;
  made.graph_ = std::move(graph);
  ASSAY_TRY(made.graph_.finish(target.handle));
  const core::Status first = made.take_first(target, CUDNN_HEUR_MODE_A, most_workspace_bytes);
  if (first.ok()) return made;
  if (made.take_first(target, CUDNN_HEUR_MODE_FALLBACK, most_workspace_bytes).ok()) return made;
  return first.error();
}

core::Status Plan::take_first(const Target& target,
                              cudnnBackendHeurMode_t mode,
                              std::int64_t most_workspace_bytes) {
  const Descriptor heuristics = ASSAY_TRY(ask_heuristics(graph_, target, mode));
  std::vector<Descriptor> configs = ASSAY_TRY(proposals(heuristics));
  core::Status last = core::Error{"the heuristics propose no engine"};
  for (Descriptor& config : configs) {
    last = take(target, std::move(config), most_workspace_bytes);
    if (last.ok()) return last;
  }
  return last;
}

core::Status Plan::take(const Target& target,
                        Descriptor config,
                        std::int64_t most_workspace_bytes) {
  Descriptor plan = ASSAY_TRY(make_plan(target, config));
  const std::int64_t bytes = ASSAY_TRY(plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
  if (bytes > most_workspace_bytes) {
    return core::Error{
        fmt::format("the plan needs a workspace of more than {} MiB", most_workspace_bytes >> 20)};
  }
  engine_ = ASSAY_TRY(engine_of(config));
  workspace_bytes_ = bytes;
  config_ = std::move(config);
  plan_ = std::move(plan);
  return {};
}

core::Result<Descriptor> Plan::pack(const std::map<TensorId, void*>& memory,
                                    void* workspace) const {
  std::vector<std::int64_t> ids;
  std::vector<const void*> pointers;
  for (const auto& [id, pointer] : memory) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  for (const auto& [id, pointer] : graph_.scalar_pointers()) {
    ids.push_back(id);
    pointers.push_back(pointer);
  }
  Descriptor pack =
      ASSAY_TRY(Descriptor::create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "the variant pack"));
  ASSAY_TRY(pack.set_integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids));
  ASSAY_TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                     static_cast<std::int64_t>(pointers.size()), pointers.data()));
  ASSAY_TRY(pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
  ASSAY_TRY(pack.finalize());
  return pack;
}

core::Status Plan::launch(cudnnHandle_t handle, const Descriptor& pack) const {
  return status(functions().value().execute(handle, plan_.get(), pack.get()),
                "launching cuDNN's kernel");
}

}  // namespace assay::collect::cudnn
