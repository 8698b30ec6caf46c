#include "store/systems/system_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace assay::store {
namespace {

constexpr const char* kTables[] = {"memory_op_perf", "gemm_perf", "transfer_perf", "nccl_perf"};

bool is_used(const Content& content, const SystemRequest& request) {
  const bool is_of_table =
      std::find(std::begin(kTables), std::end(kTables), content.table) != std::end(kTables);
  return is_of_table && content.framework == request.framework &&
         (request.device.empty() || content.device == request.device);
}

core::Result<std::string> only_device(const std::vector<Content>& contents) {
  std::vector<std::string> devices;
  for (const Content& content : contents)
    devices.push_back(content.device);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  if (devices.size() == 1) return devices.front();
  return core::Error{"the store has rows of several devices; choose one by --device-name: " +
                     core::join(devices, ", ")};
}

core::Error nothing_of(const SystemRequest& request) {
  return core::Error{fmt::format(
      "the store has no rows of {}{} in memory_op_perf, gemm_perf, transfer_perf or nccl_perf; "
      "measure first: assay collect copy read launch host_to_device device_to_host gemm nccl",
      request.framework, request.device.empty() ? "" : " on " + request.device)};
}

core::Result<Frame> rows_of(const Store& store,
                            const std::vector<Content>& contents,
                            const std::string& table) {
  const auto found = std::find_if(contents.begin(), contents.end(),
                                  [&](const Content& content) { return content.table == table; });
  if (found == contents.end()) return Frame();
  return store.table({.table = table, .framework = found->framework, .device = found->device},
                     Store::Columns::kWithStatistics);
}

core::Result<std::map<std::string, std::string>> facts_of(const Store& store,
                                                          const std::string& device) {
  std::map<std::string, std::string> facts;
  const std::vector<StoredRun> runs = ASSAY_TRY(store.runs());
  for (const StoredRun& stored : runs) {
    if (stored.run.kind != "collect" || stored.run.device != device) continue;
    for (const auto& [name, value] : stored.run.facts)
      facts[name] = value;
  }
  return facts;
}

// A section within a section is indented by two more spaces.
std::string indent_of(const std::string& section) {
  if (section.empty()) return "";
  const auto depth = 1 + std::count(section.begin(), section.end(), '.');
  return std::string(static_cast<std::size_t>(2 * depth), ' ');
}

// Returns a name or a value as YAML has it: in quotes, unless it has them or needs none.
std::string scalar(const std::string& text) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-";
  const bool has_quotes = text.size() > 1 && text.front() == '\'' && text.back() == '\'';
  const std::string inner = has_quotes ? text.substr(1, text.size() - 2) : text;
  if (inner.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string result = "'";
  for (const char c : core::printable_line(inner))
    result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

std::string heading_of(const std::string& section) {
  const std::size_t dot = section.rfind('.');
  if (dot == std::string::npos) return '\n' + scalar(section) + ":\n";
  return indent_of(section.substr(0, dot)) + scalar(section.substr(dot + 1)) + ":\n";
}

}  // namespace

core::Result<SystemData> read_system(const Store& store, const SystemRequest& request) {
  std::vector<Content> contents = ASSAY_TRY(store.list());
  const auto unused = [&](const Content& content) { return !is_used(content, request); };
  contents.erase(std::remove_if(contents.begin(), contents.end(), unused), contents.end());
  if (contents.empty()) return nothing_of(request);
  SystemData data{.device = ASSAY_TRY(only_device(contents))};
  data.memory_ops = ASSAY_TRY(rows_of(store, contents, "memory_op_perf"));
  data.gemms = ASSAY_TRY(rows_of(store, contents, "gemm_perf"));
  data.transfers = ASSAY_TRY(rows_of(store, contents, "transfer_perf"));
  data.collectives = ASSAY_TRY(rows_of(store, contents, "nccl_perf"));
  data.facts = ASSAY_TRY(facts_of(store, data.device));
  for (const Content& content : contents) {
    std::string& date = data.dates[content.table];
    date = std::max(date, day_of(content.last_at));
  }
  if (request.cited.empty()) return data;
  data.cited = ASSAY_TRY(read_cited_values(request.cited));
  data.cited_from = request.cited.filename().string();
  return data;
}

std::string system_text(const SystemRequest& request,
                        const SystemData& data,
                        const std::vector<SystemField>& fields) {
  std::string text = fmt::format(
      "# {}: {}, from rows of {}.\n"
      "# Units: bytes, bytes per second in one direction, operations per second, seconds, watts.\n"
      "# 'measured' is what was reached of the limits above it.\n\n"
      "data_dir: data/{}  # relative to this file's folder\n",
      request.name, core::printable_line(data.device), core::printable_line(request.framework),
      request.name);
  std::string section;
  for (const SystemField& field : fields) {
    if (field.section != section) text += heading_of(section = field.section);
    const std::string indent = indent_of(section);
    const std::string source = core::printable_line(field.source);
    text += field.value.empty()
                ? fmt::format("{}# {}: left out: {}\n", indent, scalar(field.name), source)
                : fmt::format("{}{}: {}  # {}\n", indent, scalar(field.name), scalar(field.value),
                              source);
  }
  return text;
}

}  // namespace assay::store
