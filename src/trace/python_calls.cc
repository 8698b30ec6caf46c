#include "trace/python_calls.h"

#include <tuple>

namespace assay::trace {

std::vector<const model::PythonCall*> python_calls_in_order(
    const model::Trace& trace, const std::function<bool(const model::PythonCall&)>& wanted) {
  std::vector<const model::PythonCall*> calls;
  for (const model::PythonCall& call : trace.python_calls)
    if (wanted(call)) calls.push_back(&call);
  std::stable_sort(calls.begin(), calls.end(),
                   [](const model::PythonCall* a, const model::PythonCall* b) {
                     return std::tuple(a->track, a->start_ns, -a->duration_ns) <
                            std::tuple(b->track, b->start_ns, -b->duration_ns);
                   });
  return calls;
}

}  // namespace assay::trace
