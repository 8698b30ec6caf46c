// What the last call of a thread failed by.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "core/locale.h"
#include "core/result.h"

namespace assay::library {

// Keeps the text for assay_error() and returns `status`.
int ended(int status, std::string error);

const char* last_error();

// Runs a call of the C interface, whose errors become its status and text. The locale of the
// process is nothing to it.
template <class Body>
int guarded(const Body& body) {
  const core::InLocale plain(core::plain_locale());
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return ended(1, "there is not enough memory");
  } catch (const std::exception& error) {
    return ended(1, error.what());
  }
}

}  // namespace assay::library
