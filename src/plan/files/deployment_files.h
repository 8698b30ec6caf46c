// The files of a deployment: what starts it, what measures it, and what `plan validate` reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "plan/files/deployment.h"

namespace assay::plan {

// kPlain: scripts for one machine, which are always written.
enum class Target : std::uint8_t { kPlain, kKubernetes, kDynamo, kLlmd };

struct DeploymentFile {
  std::string name;  // "serve.sh"
  std::string content;
  bool is_program = false;
  std::string purpose;  // "starts one copy of the model on this machine"
};

// Precondition: check_planned() accepts. Error: llm-d cannot find the model.
core::Result<std::vector<DeploymentFile>> deployment_files(const PlannedDeployment& planned,
                                                           const std::vector<Target>& targets);

enum class Existing : std::uint8_t { kRefused, kReplaced };

// Error: a file exists and may not be replaced, and then nothing is written; or the folder cannot
// be written.
core::Status write_files(const std::filesystem::path& folder,
                         const std::vector<DeploymentFile>& files,
                         Existing existing);

}  // namespace assay::plan
