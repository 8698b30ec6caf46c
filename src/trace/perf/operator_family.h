// A family of operators: their category, their roofline sheet, and how much they compute and
// move.
//
// To add one: write src/trace/perf/<family>.cc with an OperatorFamily and
//   ASSAY_REGISTER(OperatorFamily, kMyFamily);
// Its operators then show their category in the ops sheets and, with a model, appear in the
// family's roofline sheet and with their figures in unified_perf_summary.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "trace/options.h"
#include "trace/perf/operator_call.h"

namespace assay::trace {

struct Work {
  double flops = 0;
  std::optional<double> bytes = std::nullopt;  // empty when an element's size is unknown
};

// One of the values that distinguish the calls of a family ("M", "N", "K"): a column of the
// roofline sheet.
struct Parameter {
  std::string name;
  Argument value;
  Brackets brackets = Brackets::kTuple;  // how a list is written
};

struct Estimate {
  std::vector<Parameter> parameters;
  std::string compute_spec;  // the peak rate that bounds it: "matrix_bf16"; "" when unknown
  Work work;                 // of the call itself
  // The work of the backward operator that autograd runs for it, for when that has no model itself.
  std::optional<Work> backward_work = std::nullopt;
};

// Whether a call that the model does not fit is an operator with a model whose figures are missing,
// or one without a model.
enum class ModelFits { kEveryCall, kSomeCalls };

struct OperatorFamily {
  using Model = core::Result<Estimate> (*)(const OperatorCall& call);

  const char* name;                    // unique
  const char* operators;               // their names, separated by white space; "a_*": all that
                                       // begin with "a_"
  const char* category;                // "SDPA_fwd"
  const char* backward_category = "";  // of their backward operators
  const char* sheet = "";              // "SDPA" for SDPA_fwd and SDPA_bwd; "" for none
  Model model = nullptr;               // null: these operators only have a category
  ModelFits fits = ModelFits::kEveryCall;

  [[nodiscard]] bool is_backward() const;  // whether its category ends in "_bwd"
};

// Returns the family that has the operator, or nullptr.
const OperatorFamily* operator_family(std::string_view operator_name);

// Returns the kind of work that an operator launches, by which the ops sheets group it: "GEMM",
// "SDPA_fwd", "elementwise", …, or "other" when neither name says it. `first_kernel` is the name of
// the first kernel that the operator launched, "" for none. The public tool does not know the
// operators that launch PyTorch's attention kernels and calls them "other".
std::string_view op_category(std::string_view operator_name,
                             std::string_view first_kernel,
                             Compat compat);

}  // namespace assay::trace
