// Python modules of the public collector's form: operators whose kernels live in Python.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "collect/plan/plan.h"
#include "core/result.h"

namespace assay::collect {

// The programs and files with which python/assay_module_worker.py runs a module.
struct ModuleProgram {
  std::string python = "python3";
  std::filesystem::path script;  // assay_module_worker.py
  std::filesystem::path engine;  // libassay_measure.so
  std::filesystem::path module;

  // The command line of a worker on this device: "cpu" or "cuda:0".
  [[nodiscard]] std::vector<std::string> worker(const std::string& device) const;
};

// What a module's worker says its framework is; each row names its own.
inline constexpr const char* kModuleFramework = "module";

struct ModuleOperator {
  std::string name;                // "dsa_context"
  std::vector<std::string> cases;  // JSON lists of arguments, as run_dsa() takes them
};

struct ModuleListing {
  std::vector<ModuleOperator> operators;
  std::vector<std::string> notes = {};  // operators of a registry that cannot be used here, and why
};

// Runs the module's functions that list cases. Errors: there is no Python, the module does not load
// or has no such function, in its own words, or what it lists is of another form.
core::Result<ModuleListing> list_module(const ModuleProgram& program);

// The plan of the operators, or only of those in `names` if there are any; ids are "dsa_context
// [4096,1,8]". Of the options it uses filters, limit, order and seed. Error: no such operator.
core::Result<Plan> make_module_plan(const std::vector<ModuleOperator>& operators,
                                    const std::vector<std::string>& names,
                                    const PlanOptions& options);

}  // namespace assay::collect
