#include "core/file_kind.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/files.h"

namespace assay::core {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::string_view begin;
  std::string_view kind;
};

constexpr std::array<Signature, 7> kSignatures = {{
    {"\x1f\x8b"sv, "gzip data"},
    {"PK\x03\x04"sv, "a ZIP archive or a workbook"},
    {"SQLite format 3\0"sv, "an SQLite database"},
    {"PAR1"sv, "a Parquet file"},
    {"\x28\xb5\x2f\xfd"sv, "zstd data"},
    {"\x7f"
     "ELF"sv,
     "an ELF program or library"},
    {"%PDF-"sv, "a PDF"},
}};

bool is_binary(std::string_view bytes) {
  constexpr std::size_t kLook = 4096;
  const std::string_view begin = bytes.substr(0, kLook);
  return begin.find('\0') != std::string_view::npos;
}

bool begins_as_json(std::string_view bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[');
}

// JSON is YAML, too.
bool may_begin_as_json(TextFormat format) {
  return format != TextFormat::kCsv && format != TextFormat::kGoal;
}

std::string_view name_of(TextFormat format) {
  switch (format) {
    case TextFormat::kCsv:
      return "CSV";
    case TextFormat::kYaml:
      return "YAML";
    case TextFormat::kJson:
      return "JSON";
    case TextFormat::kJsonLines:
      return "lines of JSON";
    case TextFormat::kGoal:
      break;
  }
  return "a schedule (GOAL)";
}

}  // namespace

std::string_view foreign_kind(std::string_view bytes, TextFormat wanted) {
  for (const Signature& signature : kSignatures) {
    if (bytes.starts_with(signature.begin)) return signature.kind;
  }
  if (is_binary(bytes)) return "binary data";
  return begins_as_json(bytes) && !may_begin_as_json(wanted) ? "JSON" : "";
}

Status check_kind(std::string_view bytes, TextFormat wanted) {
  const std::string_view kind = foreign_kind(bytes, wanted);
  if (kind.empty()) return {};
  return Error{fmt::format("it is {}, not {}", kind, name_of(wanted))};
}

Result<std::string> read_text(const std::filesystem::path& path, TextFormat wanted) {
  std::string text = ASSAY_TRY(read_file(path));
  const Status checked = check_kind(text, wanted);
  if (!checked.ok()) return checked.error().context(path.string());
  return text;
}

}  // namespace assay::core
