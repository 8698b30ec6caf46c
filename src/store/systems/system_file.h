// Writes systems/NAME.yaml of the public tables from a store: what was measured beside what is
// cited.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"
#include "store/files/frame.h"
#include "store/systems/system_yaml.h"

namespace assay::store {

// The data that a file is made from. A table that the store lacks is an empty frame.
struct SystemData {
  std::string device;  // "NVIDIA H200"
  Frame memory_ops = {};
  Frame gemms = {};
  Frame transfers = {};
  Frame collectives = {};
  std::map<std::string, std::string> facts = {};  // of the device's collections, the latest of each
  std::map<std::string, std::string> dates = {};  // by table: the day of its latest rows
  CitedValues cited = {};
  std::string cited_from = {};  // the name of the cited file
};

struct SystemField {
  std::string section;  // "gpu", "misc.nccl_mem"; "" at the top
  std::string name;
  std::string value;   // as YAML; "" if the field is left out
  std::string source;  // where it comes from, or why it is left out
};

struct SystemRequest {
  std::string name;         // "h200_sxm"
  std::string device = {};  // empty for the only one that the store has
  std::string framework = "assay";
  std::filesystem::path cited = {};  // empty for none
};

// Errors: the store has no rows of this framework and device, or of several devices and none is
// chosen.
core::Result<SystemData> read_system(const Store& store, const SystemRequest& request);

// The fields in the order of the file. A field that the roofline needs as a limit is cited where
// that is possible, and measured otherwise; all others are measured where rows allow it, and cited
// otherwise. Only our files have the section 'measured'.
std::vector<SystemField> system_fields(const SystemData& data);

// The text of the file, with each field's source as a comment.
std::string system_text(const SystemRequest& request,
                        const SystemData& data,
                        const std::vector<SystemField>& fields);

}  // namespace assay::store
