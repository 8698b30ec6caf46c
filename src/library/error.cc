#include "library/error.h"

#include <utility>

namespace assay::library {
namespace {

thread_local std::string error_text;  // NOLINT: the C interface returns a pointer to it

}  // namespace

int ended(int status, std::string error) {
  error_text = std::move(error);
  return status;
}

const char* last_error() {
  return error_text.c_str();
}

}  // namespace assay::library
