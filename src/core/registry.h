// A list that grows by one file at a time: the file defines a spec and registers it.
//
//   const SheetSpec kTimeline{.name = "gpu_timeline", ...};
//   ASSAY_REGISTER(SheetSpec, kTimeline);
//
// The library that holds registrations must be an OBJECT library (see src/CMakeLists.txt).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/result.h"

namespace assay::core {

template <class Spec>
class Registry {
 public:
  static void add(const Spec* spec) { specs().push_back(spec); }

  // All specs in the order of their names, whatever order the linker chose. No two share a name.
  [[nodiscard]] static std::vector<const Spec*> all() {
    std::vector<const Spec*> sorted = specs();
    std::sort(sorted.begin(), sorted.end(), [](const Spec* a, const Spec* b) {
      return std::string_view(a->name) < std::string_view(b->name);
    });
    const auto twin =
        std::adjacent_find(sorted.begin(), sorted.end(), [](const Spec* a, const Spec* b) {
          return std::string_view(a->name) == std::string_view(b->name);
        });
    ASSAY_CHECK(twin == sorted.end(),
                ("two files register the name " + std::string((*twin)->name)).c_str());
    return sorted;
  }

 private:
  static std::vector<const Spec*>& specs() {
    static std::vector<const Spec*> instance;
    return instance;
  }
};

template <class Spec>
struct Registration {
  explicit Registration(const Spec* spec) { Registry<Spec>::add(spec); }
};

}  // namespace assay::core

#define ASSAY_REGISTER(Spec, instance)                                                      \
  static const ::assay::core::Registration<Spec> ASSAY_CONCAT(kRegistration, __COUNTER__) { \
    &(instance)                                                                             \
  }
