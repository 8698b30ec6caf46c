#pragma once

#include <charconv>
#include <cstddef>
#include <string_view>

namespace assay::recorder {

// Returns the name of a kernel's function from its mangled or its readable name: "ncclDevKernel_X"
// for "_Z15ncclDevKernel_X4Args" and "ncclDevKernel_X(Args<4>)".
inline std::string_view kernel_name(const char* name) {
  if (name == nullptr) return "";
  std::string_view text(name);
  if (text.starts_with("_Z")) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), length);
    if (error == std::errc()) return text.substr(static_cast<std::size_t>(end - name), length);
  }
  return text.substr(0, text.find_first_of("(<"));
}

}  // namespace assay::recorder
