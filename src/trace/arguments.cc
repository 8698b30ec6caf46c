#include "trace/arguments.h"

#include <nlohmann/json.hpp>

#include <charconv>

#include "core/text.h"

namespace assay::trace {
namespace {

Argument from_json(const nlohmann::json& json) {
  using Kind = nlohmann::json::value_t;
  switch (json.type()) {
    case Kind::boolean:
      return {json.get<bool>()};
    case Kind::number_integer:
    case Kind::number_unsigned:
      return {json.get<std::int64_t>()};
    case Kind::number_float:
      return {json.get<double>()};
    case Kind::string:
      return {json.get<std::string>()};
    case Kind::array: {
      ArgumentList list;
      for (const auto& element : json)
        list.push_back(from_json(element));
      return {std::move(list)};
    }
    default:
      return {};
  }
}

// Shapes nest two or three deep. Text that nests deeper than this is damaged and could exhaust the
// stack of the recursive parser.
bool nests_too_deep(std::string_view json) {
  constexpr int kDeepest = 64;
  int depth = 0;
  for (const char c : json) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (depth > kDeepest) return true;
  }
  return false;
}

struct Repr {
  Brackets brackets;

  std::string operator()(std::monostate) const { return "None"; }

  std::string operator()(bool value) const { return value ? "True" : "False"; }

  std::string operator()(std::int64_t value) const { return std::to_string(value); }

  std::string operator()(double value) const { return core::shortest(value); }

  std::string operator()(const std::string& value) const { return python_repr(value); }

  std::string operator()(const ArgumentList& list) const { return python_repr(list, brackets); }
};

}  // namespace

ArgumentList parse_arguments(std::string_view json) {
  if (nests_too_deep(json)) return {};
  const auto parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  Argument argument = from_json(parsed);
  if (auto* list = std::get_if<ArgumentList>(&argument.value)) return std::move(*list);
  return {};
}

std::string python_repr(std::string_view text) {
  const bool single = text.find('\'') == std::string_view::npos;
  const bool use_double = !single && text.find('"') == std::string_view::npos;
  const char quote = use_double ? '"' : '\'';
  std::string repr(1, quote);
  for (const char c : text) {
    if (c == '\\' || c == quote) repr += '\\';
    if (c == '\n') {
      repr += "\\n";
    } else if (c == '\t') {
      repr += "\\t";
    } else if (c == '\r') {
      repr += "\\r";
    } else {
      repr += c;
    }
  }
  return repr + quote;
}

std::string python_repr(const Argument& argument, Brackets brackets) {
  return std::visit(Repr{brackets}, argument.value);
}

std::string python_repr(const ArgumentList& list, Brackets brackets) {
  const bool tuple = brackets == Brackets::kTuple;
  std::string repr = tuple ? "(" : "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) repr += ", ";
    repr += python_repr(list[i], brackets);
  }
  if (tuple && list.size() == 1) repr += ',';
  return repr + (tuple ? ")" : "]");
}

std::string python_repr_json(std::string_view json, Brackets brackets) {
  return json.empty() ? "" : python_repr(parse_arguments(json), brackets);
}

}  // namespace assay::trace
