// What an engine needs of its own in the files of a deployment.
//
// plan/engine.h says what a new engine needs. Here it is one file, files/<engine>.cc: functions
// that turn a planned deployment into the words of the engine's own options, and
//
//   ASSAY_REGISTER(EngineFiles, kMyEngine);
//
// deployment_files.h puts them into scripts and manifests.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "plan/engine.h"
#include "plan/files/deployment.h"

namespace assay::plan {

using Words = std::vector<std::string>;

// Where the instances of a disaggregated deployment answer, as "host:port".
struct Instances {
  std::vector<std::string> prefill = {};
  std::vector<std::int64_t> prefill_transfer_ports = {};  // beside each
  std::vector<std::string> decode = {};
};

// What a user must fill in before an image's name. Kubernetes refuses capital letters there, so
// that nothing else is pulled in its place.
inline constexpr std::string_view kRegistry = "REGISTRY/";

// Loading weights and capturing graphs takes minutes; nobody waits longer than this.
inline constexpr std::int64_t kLongestStartSeconds = 3600;

// The port by which instances find each other's caches, where they do not find one by themselves.
struct TransferPort {
  std::int64_t first = 0;               // 0: there is none
  std::string_view option = {};         // of serve(), that says it; else
  std::string_view variable = {};       // the variable that does, and
  std::string_view host_variable = {};  // the one that says where others reach this instance
};

// How the nodes of a worker find each other, where it spans several: each runs serve() and these.
struct NodeOptions {
  std::string_view count = {};   // "--nnodes"; "": MPI starts all nodes' processes instead
  std::string_view number = {};  // of a node: "--node-rank"
  std::string_view first = {};   // where the first is: "--dist-init-addr", with a port behind it
  std::string_view first_port = {};  // unless the port has an option of its own
  std::string_view others = {};      // what all but the first have besides: "--headless"
  // Instead of all these: MPI starts this for each GPU, with serve() behind it.
  std::string_view mpi_launcher = {};
};

struct EngineFiles {
  std::string_view name;  // name_of(engine)
  Engine engine;

  // The lowest version whose options these are: "0.12".
  std::string_view least_version;

  // The version that these options were read in: "0.12.0".
  std::string_view version;

  // A container with the engine, of a version. It names no host: one that lies in no public
  // registry that Kubernetes asks by itself begins with kRegistry.
  std::string (*image)(std::string_view version);

  // Images of release candidates are published, too.
  bool has_candidate_images = false;

  // The settings that the engine reads from a YAML file; nullptr: options say everything.
  nlohmann::ordered_json (*settings)(const PlannedDeployment& planned) = nullptr;

  // The command that serves. `settings` is the path of that file.
  Words (*serve)(const PlannedDeployment& planned, const std::string& settings);

  // Variables that the command needs, with their values; nullptr: none.
  std::map<std::string, std::string> (*variables)(const PlannedDeployment& planned) = nullptr;

  NodeOptions nodes = {};

  [[nodiscard]] bool is_started_by_mpi() const { return !nodes.mpi_launcher.empty(); }

  // Disaggregated.
  TransferPort transfer_port = {};

  // The command that takes requests and sends them to the instances in turn. `settings` is the path
  // of what route_settings gives; nullptr: options say everything.
  Words (*route)(const PlannedDeployment& planned,
                 const Instances& instances,
                 const std::string& settings);
  nlohmann::ordered_json (*route_settings)(const PlannedDeployment& planned,
                                           const Instances& instances) = nullptr;
  std::string_view router_image = {};  // "": the engine's

  // llm-d's name of how caches are sent; "": it sends none of this engine's.
  std::string_view llmd_connector = {};

  // Under Dynamo: a worker's module, container and options.
  std::string_view dynamo_service;  // "VllmWorker"
  std::string_view dynamo_module;   // "dynamo.vllm"
  std::string_view dynamo_image;
  Words (*dynamo_options)(const PlannedDeployment& planned, const std::string& settings);

  // The command that measures the server at $url with $concurrency requests in flight, $requests in
  // all, and writes $result. Its words are quoted for the shell; $model is where the weights are.
  Words (*measure)(const PlannedDeployment& planned);
  std::string_view result_ending;  // of $result: "json"
};

const EngineFiles& files_of(Engine engine);

// The container with the engine of the version that is planned for.
std::string image_of(const PlannedDeployment& planned);

// Those of its engine.
std::map<std::string, std::string> variables_of(const PlannedDeployment& planned);

// The ports for caches of one instance: groups with requests of their own have one each.
std::int64_t transfer_ports_each(const PlannedDeployment& planned);

// How long the random prompts of vLLM's client are, and of TensorRT-LLM's, which is made after it.
std::string random_prompt_words(const PlannedDeployment& planned);

}  // namespace assay::plan
