// Our own bugs stop the program with the place and the reason. Never for user input.
#pragma once

namespace assay::core {

[[noreturn]] void check_failed(const char* file,
                               int line,
                               const char* condition,
                               const char* message);

}  // namespace assay::core

#define ASSAY_CHECK(condition, message) \
  (static_cast<bool>(condition)         \
       ? static_cast<void>(0)           \
       : ::assay::core::check_failed(__FILE__, __LINE__, #condition, message))
