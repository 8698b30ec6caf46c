// A setting of a sweep, which is a name and the environment variables that define it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay::sweep {

// Variables that every run gets from the sweep itself, so that no setting can have them. The value
// of kMark is the plan's id, which identifies the sweep's processes.
inline constexpr const char* kMark = "ASSAY_SWEEP_ID";
inline constexpr const char* kRunFolderVariable = "ASSAY_RUN_DIR";
inline constexpr const char* kRunSettingVariable = "ASSAY_RUN_SETTING";

// Environment variables; an empty value means that the variable is not set.
using Variables = std::vector<std::pair<std::string, std::string>>;

struct Setting {
  std::string name;  // also the name of a folder
  Variables variables;
};

using Settings = std::vector<Setting>;

// One --set option: a variable and the values that it takes in turn.
struct Axis {
  std::string variable;
  std::vector<std::string> values;  // "" if the variable is not set
};

// Parses "NAME=v1,v2". A comma that belongs to a value is written "\,".
core::Result<Axis> parse_axis(const std::string& text);

// Combines every setting with every value. Without settings, returns one setting for each value.
Settings with_axis(const Settings& settings, const Axis& axis);

// Makes every setting set or unset each variable that any of them or of `others` names, so that the
// caller's environment has no influence. Fails if two settings are equal, or by check_names().
core::Status complete(Settings& settings, const Settings& others = {});

// Fails if a setting's name cannot be that of a folder inside the sweep's, or if a variable's name
// is not of letters, digits and '_', since shells get it without quotes.
core::Status check_names(const Settings& settings);

// Returns a part of a folder's name: "256threads", "ring-algo", "default-algo". Known variables
// have short names.
std::string name_part(const std::string& variable, const std::string& value);

// Returns the value in lower case, with '-' for characters that are special in a path or a shell,
// and nothing that a terminal obeys.
std::string folder_text(const std::string& value);

}  // namespace assay::sweep
