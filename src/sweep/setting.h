// A setting of a sweep: a name and the environment variables that make it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay::sweep {

// Environment variables; an empty value means that the variable is not set.
using Variables = std::vector<std::pair<std::string, std::string>>;

struct Setting {
  std::string name;  // a folder's name
  Variables variables;
};

using Settings = std::vector<Setting>;

// One --set: a variable and the values it takes in turn.
struct Axis {
  std::string variable;
  std::vector<std::string> values;  // "": not set
};

// "NAME=v1,v2": a comma that belongs to a value is written "\,".
core::Result<Axis> parse_axis(const std::string& text);

// Every setting with every value. No settings: the values alone.
Settings with_axis(const Settings& settings, const Axis& axis);

// Gives every setting a word on every variable that any of them sets, so that nothing of the
// caller's environment decides. Fails when two settings have the same name.
core::Status complete(Settings& settings);

// "256threads", "ring-algo", "default-algo": part of a folder's name. Known variables have short
// names.
std::string name_part(const std::string& variable, const std::string& value);

// A value as a part of a folder's name: small letters, '-' for what a path or a shell would mind.
std::string folder_text(const std::string& value);

}  // namespace assay::sweep
