// Finds the names of variables that an NCCL or RCCL library reads, in the texts of its file.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace assay::sweep {

using VariableNames = std::set<std::string, std::less<>>;

// Adds every word NCCL_… or RCCL_… of capitals, digits and underscores to `names`.
void add_variable_names(std::string_view piece, VariableNames& names);

// Returns whether these are the names of a whole library: one whose texts could not be read, or
// that makes the names up while it runs, lacks those that every version reads.
bool are_of_a_library(const VariableNames& names);

// Returns whether a variable of this name is NCCL's or RCCL's own. PyTorch, nccl-tests and plugins
// read some that begin alike.
bool is_own_variable(std::string_view name);

}  // namespace assay::sweep
