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
#include "trace/perf/operator_call.h"

namespace assay::trace {

struct Work {
  double flops = 0;
  std::optional<double> bytes = std::nullopt;  // empty when an element's size is unknown
};

// What distinguishes calls of one family ("M", "N", "K"); a column of the roofline sheet.
struct Parameter {
  std::string name;
  Argument value;
  Brackets brackets = Brackets::kTuple;  // how a list is written
};

struct Estimate {
  std::vector<Parameter> parameters;
  std::string compute_spec;  // the peak that bounds it: "matrix_bf16"; "" when unknown
  Work work;                 // of the call itself
  // Of the backward operator that autograd runs for it, where that has no model of its own.
  std::optional<Work> backward_work = std::nullopt;
};

struct OperatorFamily {
  using Model = core::Result<Estimate> (*)(const OperatorCall& call);

  const char* name;                    // unique
  const char* operators;               // their full names, separated by white space
  const char* category;                // "SDPA_fwd"
  const char* backward_category = "";  // of the backward operators that autograd links to these
  const char* sheet = "";              // "SDPA": sheets SDPA_fwd and SDPA_bwd; "": none
  Model model = nullptr;               // none: these operators have a category only

  [[nodiscard]] bool is_backward() const;  // its category ends in "_bwd"
};

// The family of an operator with this exact name, or none.
const OperatorFamily* operator_family(std::string_view operator_name);

}  // namespace assay::trace
