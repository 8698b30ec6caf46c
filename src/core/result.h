// The return type of functions that can fail in expected ways: a value or an Error, never an
// exception.
//
//   Result<Trace> read(path);
//   const Trace trace = ASSAY_TRY(read(path));      // returns the error to our caller
//
// An error's message names what is wrong, where, and what to do about it.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/check.h"

namespace assay::core {

struct Error {
  std::string message;
  // It is an output that cannot be written, so that no input is to blame, and going on with others
  // will not help.
  bool is_of_output = false;

  // The same error with what was being done in front: "reading a.json: no such file".
  [[nodiscard]] Error context(const std::string& doing) const {
    return Error{doing + ": " + message, is_of_output};
  }
};

template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): returning a plain T or Error is the point.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }

  [[nodiscard]] const T& value() const& {
    ASSAY_CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }

  [[nodiscard]] T& value() & {
    ASSAY_CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }

  [[nodiscard]] T value() && {
    ASSAY_CHECK(ok(), "value() of a failed Result");
    return std::get<0>(std::move(state_));
  }

  [[nodiscard]] const Error& error() const {
    ASSAY_CHECK(!ok(), "error() of a successful Result");
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;

  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }

  void value() const { ASSAY_CHECK(ok(), "value() of a failed Status"); }

  [[nodiscard]] const Error& error() const {
    ASSAY_CHECK(!ok(), "error() of a successful Status");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace assay::core

#define ASSAY_CONCAT_INNER(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_INNER(a, b)
#define ASSAY_TRY_NAMED(expr, name)                            \
  (__extension__({                                             \
    auto name = (expr);                                        \
    if (!name.ok()) return ::assay::core::Error(name.error()); \
    std::move(name).value();                                   \
  }))
#define ASSAY_TRY(expr) ASSAY_TRY_NAMED(expr, ASSAY_CONCAT(assay_try_, __COUNTER__))
