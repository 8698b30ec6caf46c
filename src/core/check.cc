#include "core/check.h"

#include <cstdio>
#include <cstdlib>

namespace assay::core {

void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "assay: internal error at %s:%d: %s (%s)\nPlease report this.\n", file, line,
               message, condition);
  std::abort();
}

}  // namespace assay::core
