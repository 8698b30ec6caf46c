// systems/NAME.yaml of the public tables, as a view of a store: what was measured, beside what is
// cited.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"
#include "store/files/frame.h"
#include "store/systems/cited_values.h"

namespace assay::store {

// What a file is made of. A table that the store lacks is an empty frame.
struct SystemData {
  std::string device;  // "NVIDIA H200"
  Frame memory_ops = {};
  Frame gemms = {};
  Frame transfers = {};
  Frame collectives = {};
  std::map<std::string, std::string> facts = {};  // of the device's collections, the latest of each
  std::map<std::string, std::string> dates = {};  // by table: the day of its latest rows
  CitedValues cited = {};
  std::string cited_from = {};  // the name of that file
};

struct SystemField {
  std::string section;  // "gpu", "misc.nccl_mem"; "": on top
  std::string name;
  std::string value;   // as YAML; "": the field is left out
  std::string source;  // where it comes from, or why it is left out
};

struct SystemRequest {
  std::string name;         // "h200_sxm"
  std::string device = {};  // empty: the only one that the store has
  std::string framework = "assay";
  std::filesystem::path cited = {};  // empty: none
};

// Errors: no rows of this framework and device, several devices and none chosen.
core::Result<SystemData> read_system(const Store& store, const SystemRequest& request);

// In the file's order. A field that the roofline needs as a limit is cited where that is possible,
// and measured where not; all others are measured where rows allow it, and cited where not. The
// section 'measured' is ours.
std::vector<SystemField> system_fields(const SystemData& data);

// The file, with each field's source as a comment.
std::string system_text(const SystemRequest& request,
                        const SystemData& data,
                        const std::vector<SystemField>& fields);

}  // namespace assay::store
