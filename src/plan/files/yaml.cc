#include "plan/files/yaml.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace assay::plan {
namespace {

using Json = nlohmann::ordered_json;

// A word that begins with a letter or a slash, has no character that YAML reads, and is none of the
// words that readers of YAML 1.1 take for something else.
bool is_plain(const std::string& text) {
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                      "off",  "null",  "y",   "n"};
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  if (text.empty() || !(is_letter(text.front()) || text.front() == '/')) return false;
  const auto is_kept = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
           c == '/';
  };
  if (!std::all_of(text.begin(), text.end(), is_kept)) return false;
  std::string small = text;
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kWords.begin(), kWords.end(), small) == kWords.end();
}

// JSON's quotes are YAML's double ones.
std::string json_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string scalar(const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return is_plain(text) ? text : json_text(value);
}

bool is_block(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\n') != std::string::npos;
}

bool is_flow(const Json& value) {
  if (!value.is_structured()) return false;
  if (value.empty()) return true;
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_number(); });
}

void write_block(const std::string& text, std::size_t indent, std::string& out) {
  out += " |\n";
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) out += std::string(indent, ' ');
    out += text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
}

void write_flow(const Json& list, std::string& out) {
  if (list.is_object()) {
    out += " {}\n";
    return;
  }
  std::string numbers;
  for (const Json& one : list)
    numbers += (numbers.empty() ? "" : ", ") + one.dump();
  out += fmt::format(" [{}]\n", numbers);
}

void write_lines(const Json& value, std::size_t indent, std::string& out);

// What follows "key:" or "-".
void write_value(const Json& value, std::size_t indent, std::string& out) {
  if (is_block(value)) {
    write_block(value.get_ref<const std::string&>(), indent, out);
  } else if (is_flow(value)) {
    write_flow(value, out);
  } else if (value.is_structured()) {
    out += "\n";
    write_lines(value, indent, out);
  } else {
    out += " " + scalar(value) + "\n";
  }
}

void write_lines(const Json& value, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  if (value.is_object()) {
    for (const auto& [key, one] : value.items()) {
      out += margin + scalar(key) + ":";
      write_value(one, indent + 2, out);
    }
    return;
  }
  for (const Json& one : value) {
    if (one.is_object() && !one.empty()) {
      std::string lines;
      write_lines(one, indent + 2, lines);
      out += margin + "- " + lines.substr(indent + 2);
    } else {
      out += margin + "-";
      write_value(one, indent + 2, out);
    }
  }
}

}  // namespace

std::string yaml_text(const Json& value) {
  std::string out;
  write_lines(value, 0, out);
  return out;
}

}  // namespace assay::plan
