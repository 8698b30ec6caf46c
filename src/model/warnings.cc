#include "model/warnings.h"

#include <algorithm>

namespace assay::model {

void Warnings::add(std::string_view reason,
                   std::string_view effect,
                   std::string_view example,
                   std::int64_t count) {
  const auto found = std::find_if(warnings_.begin(), warnings_.end(),
                                  [&](const Warning& w) { return w.reason == reason; });
  if (found != warnings_.end()) {
    found->count += count;
  } else {
    warnings_.push_back({std::string(reason), std::string(effect), std::string(example), count});
  }
}

void Warnings::merge(const Warnings& other) {
  for (const Warning& w : other.warnings_)
    add(w.reason, w.effect, w.example, w.count);
}

}  // namespace assay::model
