#include "core/locale.h"

#include "core/check.h"

namespace assay::core {

locale_t plain_locale() {
  static const locale_t plain = [] {
    const locale_t made = ::newlocale(LC_ALL_MASK, "C", nullptr);
    ASSAY_CHECK(made != nullptr, "C's own locale is always there");
    return made;
  }();
  return plain;
}

}  // namespace assay::core
