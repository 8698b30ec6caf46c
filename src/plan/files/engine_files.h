// What an engine needs of its own in the files of a deployment.
//
// A new engine is one file, files/<engine>.cc: functions that turn a planned deployment into the
// words of the engine's own options, and
//
//   ASSAY_REGISTER(EngineFiles, kMyEngine);
//
// deployment_files.h puts them into scripts and manifests.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "plan/engine.h"
#include "plan/files/deployment.h"

namespace assay::plan {

using Words = std::vector<std::string>;

struct EngineFiles {
  std::string_view name;  // name_of(engine)
  Engine engine;

  // A container with the engine, of a version; "": of the one that these options were read in.
  std::string (*image)(const std::string& version);

  // The settings that the engine reads from a YAML file; nullptr: options say everything.
  nlohmann::ordered_json (*settings)(const PlannedDeployment& planned) = nullptr;

  // The command that serves. `settings` is the path of that file.
  Words (*serve)(const PlannedDeployment& planned, const std::string& settings);

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

// A word as the shell needs it: in single quotes, unless it is harmless.
std::string shell_quoted(const std::string& word);

}  // namespace assay::plan
