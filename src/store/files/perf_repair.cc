#include "store/files/perf_repair.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

namespace assay::store {
namespace {

constexpr std::string_view kLatency = "latency";
constexpr double kMsPerUs = 1e-3;

FrameColumn* find(Frame& rows, std::string_view name) {
  const auto found = std::find_if(rows.columns.begin(), rows.columns.end(),
                                  [&](const FrameColumn& column) { return column.name == name; });
  return found == rows.columns.end() ? nullptr : &*found;
}

void erase(Frame& rows, std::string_view name) {
  std::erase_if(rows.columns, [&](const FrameColumn& column) { return column.name == name; });
}

FrameColumn constant_text(std::string name, const std::string& text, std::size_t num_rows) {
  FrameColumn column{.name = std::move(name),
                     .values = TextColumn{std::vector<std::uint32_t>(num_rows, 0), {text}}};
  if (text.empty()) column.missing.assign(num_rows, true);
  return column;
}

// Builds a text column row by row; "" is a missing text.
FrameColumn text_column(std::string name,
                        std::size_t num_rows,
                        const std::function<std::string(std::size_t)>& text_of) {
  ColumnBuilder column(std::move(name), TextColumn());
  for (std::size_t row = 0; row < num_rows; ++row) {
    const std::string text = text_of(row);
    if (text.empty()) {
      column.add_missing();
    } else {
      column.add(std::string_view(text));
    }
  }
  return std::move(column).finish();
}

std::string text_at(const FrameColumn& column, std::size_t row) {
  return column.is_missing(row) ? std::string() : as_text(column.value(row));
}

void join_distribution(Frame& rows, model::Warnings& warnings) {
  FrameColumn& distribution = *find(rows, "distribution");
  const FrameColumn& alpha = *rows.find("alpha");
  std::int64_t joined = 0;
  FrameColumn labels = text_column("distribution", rows.num_rows(), [&](std::size_t row) {
    std::string label = text_at(distribution, row);
    if (label != "power_law" || alpha.is_missing(row)) return label;
    ++joined;
    return label + "_" + text_at(alpha, row);
  });
  distribution = std::move(labels);
  erase(rows, "alpha");
  if (joined > 0) {
    warnings.add("distribution \"power_law\" with its alpha in another column",
                 "read as power_law_<alpha>", "column alpha", joined);
  }
}

core::Error wrong_kind(const FrameColumn& column, std::size_t row, std::string_view wanted) {
  return core::Error{fmt::format("column \"{}\": row {} holds \"{}\"; {} belong there", column.name,
                                 row + 1, text_at(column, row), wanted)};
}

// Converts whole numbers to doubles, and doubles to whole numbers.
template <class To, class From>
core::Result<std::vector<To>> numbers(const FrameColumn& column, const std::vector<From>& from) {
  std::vector<To> to(from.size());
  for (std::size_t row = 0; row < from.size(); ++row) {
    if (column.is_missing(row)) continue;
    // Doubles hold every whole number up to 2^53.
    const auto size = std::fabs(static_cast<double>(from[row]));
    if (std::is_same_v<To, std::int64_t> && !(size <= 0x1p53 && std::trunc(size) == size)) {
      return wrong_kind(column, row, "whole numbers");
    }
    to[row] = static_cast<To>(from[row]);
  }
  return to;
}

template <class To>
bool is_number(const std::string& text) {
  To value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

template <class To>
core::Status convert_to_numbers(FrameColumn& column, std::string_view wanted) {
  if (std::holds_alternative<std::vector<To>>(column.values)) return {};
  if (std::holds_alternative<TextColumn>(column.values)) {
    // A column without any value was read as text, as one in which a value is no number was.
    std::optional<std::size_t> wrong;
    for (std::size_t row = 0; row < column.size(); ++row) {
      if (column.is_missing(row)) continue;
      if (!is_number<To>(text_at(column, row))) return wrong_kind(column, row, wanted);
      wrong = wrong.value_or(row);
    }
    if (wrong) return wrong_kind(column, *wrong, wanted);
    column.values = std::vector<To>(column.size());
    return {};
  }
  using From = std::conditional_t<std::is_same_v<To, double>, std::vector<std::int64_t>,
                                  std::vector<double>>;
  column.values = ASSAY_TRY(numbers<To>(column, std::get<From>(column.values)));
  return {};
}

core::Status convert(FrameColumn& column, ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kWhole:
      return convert_to_numbers<std::int64_t>(column, "whole numbers");
    case ColumnKind::kReal:
      return convert_to_numbers<double>(column, "numbers");
    case ColumnKind::kText:
    case ColumnKind::kDataType:
      break;
  }
  if (!std::holds_alternative<TextColumn>(column.values)) {
    column = text_column(column.name, column.size(),
                         [&](std::size_t row) { return text_at(column, row); });
  }
  return {};
}

std::int64_t relabel(FrameColumn& column, const std::string& from, const std::string& to) {
  auto& text = std::get<TextColumn>(column.values);
  const auto code_of = [&](const std::string& word) {
    const auto found = std::find(text.words.begin(), text.words.end(), word);
    return static_cast<std::uint32_t>(found - text.words.begin());
  };
  const std::uint32_t old_code = code_of(from);
  const std::uint32_t new_code = code_of(to);
  if (old_code == text.words.size()) return 0;
  const auto count = std::count(text.codes.begin(), text.codes.end(), old_code);
  if (new_code == text.words.size()) {
    text.words[old_code] = to;
  } else {
    std::replace(text.codes.begin(), text.codes.end(), old_code, new_code);
  }
  return count;
}

void scale(FrameColumn& column, double factor) {
  if (factor == 1) return;
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&column.values))
    column.values = std::vector<double>(whole->begin(), whole->end());
  auto* values = std::get_if<std::vector<double>>(&column.values);
  if (values == nullptr) return;
  for (double& value : *values)
    value *= factor;
}

struct Runtime {
  std::string framework;
  std::string version;
};

// The folders of "<backend>/<version>/<file>" tell it.
Runtime runtime_of(const std::filesystem::path& path) {
  static constexpr std::pair<std::string_view, const char*> kFrameworks[] = {
      {"trtllm", "TRTLLM"}, {"vllm", "VLLM"},     {"sglang", "SGLang"},
      {"nccl", "TRTLLM"},   {"oneccl", "TRTLLM"},  // as the public tables of collectives say
  };
  const std::filesystem::path folder = path.parent_path();
  const std::string backend = folder.parent_path().filename().string();
  for (const auto& [name, framework] : kFrameworks) {
    if (backend == name) return {framework, folder.filename().string()};
  }
  return {};
}

struct TimeName {
  std::string_view name;
  double ms = 1;
};

constexpr TimeName kTimeNames[] = {
    {"latency_ms"},
    {"latency (ms)"},
    {"time_ms"},
    {"avg_ms"},
    {"latency_us", kMsPerUs},
    {"latency (us)", kMsPerUs},
    {"time_us", kMsPerUs},
    {"avg_us", kMsPerUs},
};

// A column of texts of which some are numbers has those. One without stays as it is: it is no
// column of times.
void take_numbers(FrameColumn& column, model::Warnings& warnings) {
  if (!std::holds_alternative<TextColumn>(column.values)) return;
  std::vector<double> numbers(column.size());
  std::vector<bool> missing(column.size());
  std::vector<std::string> others;
  for (std::size_t row = 0; row < column.size(); ++row) {
    const std::string text = column.is_missing(row) ? "" : value_text(column.value(row));
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), numbers[row]);
    missing[row] = problem != std::errc() || end != text.data() + text.size();
    if (missing[row] && !text.empty()) others.push_back(text);
  }
  if (std::find(missing.begin(), missing.end(), false) == missing.end()) return;
  for (const std::string& text : others)
    warnings.add("a time that is no number", "taken for a missing one", text);
  column.values = std::move(numbers);
  column.missing = std::move(missing);
}

}  // namespace

std::vector<std::string> first_allreduce_header() {
  return {"allreduce_dtype", "num_gpus", "message_size", "strategy", "layer_name", "latency"};
}

bool rename_old_columns(Frame& rows, model::Warnings& warnings) {
  bool is_first = false;
  FrameColumn* strategy = find(rows, "strategy");
  if (strategy != nullptr && rows.find("layer_name") != nullptr &&
      rows.find("framework") == nullptr) {
    strategy->name = "backend";
    erase(rows, "layer_name");
    rows.columns.push_back(constant_text("framework", "TRTLLM", rows.num_rows()));
    rows.columns.push_back(constant_text("op_name", "all_reduce", rows.num_rows()));
    rows.columns.push_back(constant_text("kernel_source", "TRTLLM", rows.num_rows()));
    warnings.add("rows of the first release, without column names",
                 "strategy read as backend, layer name not read", "custom all-reduce",
                 static_cast<std::int64_t>(rows.num_rows()));
    is_first = true;
  }
  if (rows.find("alpha") != nullptr && rows.find("distribution") != nullptr) {
    join_distribution(rows, warnings);
    is_first = true;
  }
  return is_first;
}

void read_times(Frame& rows, const std::string& stem, model::Warnings& warnings) {
  const TableSpec* spec = find_table_spec(table_of_fastest(stem));
  const TableColumn* declared = spec == nullptr ? nullptr : spec->latency();
  if (declared == nullptr) return;
  FrameColumn* times = find(rows, declared->name);
  for (const TimeName& known : kTimeNames) {
    FrameColumn* column = spec->find(known.name) == nullptr ? find(rows, known.name) : nullptr;
    if (column == nullptr) continue;
    if (times != nullptr) {
      warnings.add("a second column of times", "not read", std::string(known.name));
      column->name.clear();
      continue;
    }
    times = column;
    warnings.add(fmt::format("times named {}", known.name),
                 fmt::format("read as {} in {}", declared->name, declared->unit), stem);
    times->name = declared->name;
    take_numbers(*times, warnings);
    scale(*times, known.ms / (declared->unit == "us" ? kMsPerUs : 1));
  }
  if (times != nullptr) take_numbers(*times, warnings);
  erase(rows, "");
}

bool add_common_columns(Frame& rows,
                        const TableSpec& spec,
                        const std::filesystem::path& path,
                        model::Warnings& warnings) {
  const Runtime runtime = runtime_of(path);
  bool some_missing = false;
  for (const std::string_view name : kCommonColumns) {
    if (rows.find(name) != nullptr) continue;
    some_missing = true;
    std::string text;
    if (name == "framework") text = runtime.framework;
    if (name == "version") text = runtime.version;
    if (name == "op_name" && spec.op_names.size() == 1) text = spec.op_names.front();
    warnings.add(fmt::format("no column {}", name),
                 text.empty() ? "left empty" : fmt::format("read as {}", text), spec.table);
    rows.columns.push_back(constant_text(std::string(name), text, rows.num_rows()));
  }
  return some_missing;
}

void keep_measured_power(Frame& rows, model::Warnings& warnings) {
  const FrameColumn* source = rows.find(kPowerSourceColumn);
  if (source == nullptr) return;
  std::vector<bool> is_unmeasured;
  for (std::size_t row = 0; row < rows.num_rows(); ++row)
    is_unmeasured.push_back(source->is_missing(row) || text_at(*source, row) != "measured");
  for (const std::string_view name : kPowerColumns) {
    FrameColumn* column = find(rows, name);
    if (column == nullptr) continue;
    column->missing.resize(rows.num_rows(), false);
    for (std::size_t row = 0; row < rows.num_rows(); ++row)
      if (is_unmeasured[row]) column->missing[row] = true;
  }
  erase(rows, kPowerSourceColumn);
  erase(rows, kPowerErrorColumn);
  const auto count = std::count(is_unmeasured.begin(), is_unmeasured.end(), true);
  if (count > 0) warnings.add("power that was not measured", "not read", "power", count);
}

core::Status convert_kinds(Frame& rows, const TableSpec& spec) {
  for (FrameColumn& column : rows.columns) {
    const TableColumn* declared = spec.find(column.name);
    core::Status converted;
    if (is_common_column(column.name)) {
      converted = convert(column, ColumnKind::kText);
    } else if (is_power_column(column.name)) {
      converted = convert(column, ColumnKind::kReal);
    } else if (declared != nullptr) {
      converted = convert(column, declared->kind);
    }
    if (!converted.ok()) return converted;
  }
  return {};
}

std::int64_t relabel_types(Frame& rows,
                           const TableSpec& spec,
                           const std::string& from,
                           const std::string& to) {
  std::int64_t count = 0;
  for (const TableColumn& column : spec.columns) {
    FrameColumn* found = find(rows, column.name);
    if (column.kind != ColumnKind::kDataType || found == nullptr) continue;
    if (std::holds_alternative<TextColumn>(found->values)) count += relabel(*found, from, to);
  }
  return count;
}

void to_latency_ms(Frame& rows, const TableSpec& spec) {
  const TableColumn* declared = spec.latency();
  FrameColumn* latency = declared == nullptr ? nullptr : find(rows, declared->name);
  if (latency == nullptr) return;
  latency->name = kLatency;
  if (declared->unit == "us") scale(*latency, kMsPerUs);
}

void from_latency_ms(Frame& rows, const TableSpec& spec) {
  const TableColumn* declared = spec.latency();
  FrameColumn* latency = declared == nullptr ? nullptr : find(rows, kLatency);
  if (latency == nullptr) return;
  latency->name = declared->name;
  if (declared->unit == "us") scale(*latency, 1 / kMsPerUs);
}

void order_columns(Frame& rows, const TableSpec& spec) {
  std::vector<std::string> order(kCommonColumns.begin(), kCommonColumns.end());
  for (const TableColumn& column : spec.columns) {
    order.push_back(column.name);
    if (column.role == ColumnRole::kLatency) order.emplace_back(kLatency);
  }
  order.insert(order.end(), kPowerColumns.begin(), kPowerColumns.end());
  const auto rank = [&](const FrameColumn& column) {
    return std::find(order.begin(), order.end(), column.name) - order.begin();
  };
  std::stable_sort(rows.columns.begin(), rows.columns.end(),
                   [&](const FrameColumn& a, const FrameColumn& b) { return rank(a) < rank(b); });
}

}  // namespace assay::store
