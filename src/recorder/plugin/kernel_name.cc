#include "recorder/plugin/kernel_name.h"

#include <charconv>
#include <cstddef>

namespace assay::recorder {

std::string_view kernel_name(const char* name) {
  if (name == nullptr) return "";
  std::string_view text(name);
  if (text.substr(0, 2) == "_Z") {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), length);
    if (error == std::errc()) return text.substr(static_cast<std::size_t>(end - name), length);
  }
  return text.substr(0, text.find_first_of("(<"));
}

}  // namespace assay::recorder
