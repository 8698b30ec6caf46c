#include "allreduce/codegen/generated_files.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "allreduce/codegen/header_text.h"
#include "allreduce/codegen/nccl_tuner.h"
#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"

namespace assay::allreduce {

std::vector<GeneratedFile> nccl_tuner_files(const NcclSweep& sweep, NcclTunerFacts facts) {
  facts.gpu = sweep.gpu;
  facts.nccl = sweep.nccl;
  if (!sweep.provenance.empty()) facts.provenance = sweep.provenance;
  return {{"nccl_tuner.conf", nccl_tuner_config(sweep.measurements, facts)},
          {"assay_nccl_tuner.conf", assay_tuner_config(sweep.measurements, facts)}};
}

core::Result<std::vector<GeneratedFile>> generated_files(const TunedTables& tables,
                                                         const Benchmark& benchmark,
                                                         const NcclSweep& sweep,
                                                         LookupLayout layout,
                                                         const std::vector<StrategyTable>& others) {
  const std::string header = ASSAY_TRY(strategy_header(tables.table));
  std::vector<StrategyTable> all{tables.table};
  all.insert(all.end(), others.begin(), others.end());
  const std::string dispatcher = ASSAY_TRY(dispatcher_header(all));
  std::vector<GeneratedFile> files{
      {"generated_lookup_table.cpp", lookup_table_cpp(tables.lookup, layout)},
      {"allreduce_table.h", header},
      {"allreduce_tables.h", dispatcher},
      {"allreduce_table.json", table_json(tables.table)}};
  for (GeneratedFile& file : nccl_tuner_files(sweep, {.sm_version = benchmark.sm_version,
                                                     .provenance = tables.table.provenance,
                                                     .tie = tables.options.tie}))
    files.push_back(std::move(file));
  return files;
}

core::Result<std::vector<std::filesystem::path>> write_generated(
    const std::vector<GeneratedFile>& files, const std::filesystem::path& folder) {
  const core::FileLock lock = ASSAY_TRY(core::FileLock::acquire_folder(folder));
  std::vector<std::filesystem::path> paths;
  for (const GeneratedFile& file : files) {
    paths.push_back(folder / file.name);
    const auto written = core::write_file(paths.back(), file.text);
    if (!written.ok()) return written.error();
  }
  return paths;
}

namespace {

// Turns TWOSHOT_PUSH into kTwoshotPush.
std::string constant_name(std::string_view name) {
  std::string result = "k";
  bool begins = true;
  for (const char c : name) {
    if (c == '_') {
      begins = true;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    result += static_cast<char>(begins ? std::toupper(byte) : std::tolower(byte));
    begins = false;
  }
  return result;
}

template <class Names>
std::string enum_text(std::string_view type, const Names& names) {
  std::string text = fmt::format("enum class {} : std::uint8_t {{\n", type);
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("  {} = {},\n", constant_name(names.at(i)), i);
  return text + "};\n";
}

std::string strategies_text() {
  std::string constants;
  std::string names;
  for (const StrategySpec& spec : kStrategies) {
    if (spec.strategy == Strategy::kAuto) continue;
    const std::string name = constant_name(spec.name);
    constants += fmt::format("  {} = {},\n", name, static_cast<int>(spec.strategy));
    names += fmt::format("    case Strategy::{}:\n      return \"{}\";\n", name, spec.name);
  }
  return "// Below 100 the numbers are TensorRT-LLM's.\nenum class Strategy : std::uint8_t {\n" +
         constants +
         "};\n\nGUARD_FUNCTION const char* name_of(Strategy strategy) {\n  switch (strategy) {\n" +
         names + "  }\n  return \"unknown\";\n}\n";
}

// The specs of strategies that a table may choose, in the order of their numbers.
template <class Condition>
std::vector<StrategySpec> specs_where(Condition holds) {
  std::vector<StrategySpec> specs;
  for (const StrategySpec& spec : kStrategies)
    if (spec.strategy != Strategy::kAuto && holds(spec)) specs.push_back(spec);
  std::sort(specs.begin(), specs.end(),
            [](const StrategySpec& a, const StrategySpec& b) { return a.strategy < b.strategy; });
  return specs;
}

std::string condition_text(const std::vector<StrategySpec>& specs) {
  std::vector<std::string> conditions;
  for (const StrategySpec& spec : specs)
    conditions.push_back("strategy == Strategy::" + constant_name(spec.name));
  return fmt::format("{}", fmt::join(conditions, " || "));
}

std::string names_text(const std::vector<StrategySpec>& specs) {
  std::vector<std::string_view> names;
  for (const StrategySpec& spec : specs)
    names.push_back(spec.name);
  return fmt::format("{}", fmt::join(names, " and "));
}

// The three arrays, which are written as macros because the header needs two copies of each.
class Arrays {
 public:
  explicit Arrays(const StrategyTable& table) {
    for (const TableSlice& slice : table.slices) {
      const std::size_t first_row = rows_.size();
      for (const TableRow& row : slice.rows)
        add_row(row);
      slices_.push_back(
          fmt::format("{{{}, {}, Fusion::{}, DataType::{}, {}, {}}}", slice.world_size,
                      slice.from_world_size, constant_name(name_of(slice.fusion)),
                      constant_name(name_of(slice.data_type)), first_row, rows_.size()));
    }
  }

  [[nodiscard]] std::string text() const {
    return macro("GUARD_SLICES", slices_) + macro("GUARD_ROWS", rows_) +
           macro("GUARD_SEGMENTS", segments_);
  }

 private:
  void add_row(const TableRow& row) {
    const std::size_t first_segment = segments_.size();
    for (const TableSegment& segment : row.segments) {
      segments_.push_back(fmt::format("{{{}, Strategy::{}}}", segment.from_bytes,
                                      constant_name(name_of(segment.strategy))));
    }
    rows_.push_back(fmt::format("{{{}, {}, {}, {}}}", row.hidden_size, row.measured_to_bytes,
                                first_segment, segments_.size()));
  }

  static std::string macro(std::string_view name, const std::vector<std::string>& elements) {
    return fmt::format("#define {} \\\n  {}\n", name, core::join(elements, ", \\\n  "));
  }

  std::vector<std::string> slices_;
  std::vector<std::string> rows_;
  std::vector<std::string> segments_;
};

// Ends the text with a period so that no backslash at its end joins the next line to the comment.
std::string comment_text(std::string_view text) {
  return text.empty() ? "nothing is said." : core::printable_line(text) + ".";
}

bool is_word(std::string_view text) {
  const auto fits = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '_'); };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

bool is_namespace(std::string_view name) {
  for (;;) {
    const std::size_t end = name.find("::");
    if (!is_word(name.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 2);
  }
}

// Turns "my::table" into MY_TABLE_H.
std::string guard_of(std::string_view name_space) {
  std::string guard;
  for (const char c : name_space) {
    if (c == ':' && guard.back() == '_') continue;
    guard += c == ':' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return guard + "_H";
}

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
  return text;
}

// FNV-1a: equal texts have equal names on every machine.
std::string hash_text(std::string_view text) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211U;
  }
  return fmt::format("{:016x}", hash);
}

std::string alias_text(const std::string& alias, const std::string& name) {
  const std::size_t end = alias.rfind("::");
  std::string text =
      fmt::format("namespace {} = {};\n", end == std::string::npos ? alias : alias.substr(end + 2),
                  "::" + name);
  if (end != std::string::npos) {
    text = fmt::format("namespace {} {{\n{}}}\n", alias.substr(0, end), text);
  }
  return "#if !defined(ALLREDUCE_TABLE_NO_ALIAS)\n" + text + "#endif\n";
}

std::string launch_constant(Launch launch) {
  constexpr std::array<const char*, kLaunchNames.size()> kConstants = {"kGraph", "kEager",
                                                                       "kIsolated"};
  return kConstants[static_cast<std::size_t>(launch)];
}

// The functions that choose, with the strategies that send alike.
std::string lookup_text() {
  const auto of_nccl =
      specs_where([](const StrategySpec& spec) { return spec.kernels == KernelsOf::kNccl; });
  const auto sending_all = specs_where([](const StrategySpec& spec) {
    return spec.kernels == KernelsOf::kAssay && spec.sends == Sends::kAll;
  });
  const auto sending_parts = specs_where([](const StrategySpec& spec) {
    return spec.kernels == KernelsOf::kAssay && spec.sends == Sends::kPartsTwice;
  });
  std::string text(kHeaderLookup);
  text = replaced(std::move(text), "IS_OF_NCCL", condition_text(of_nccl));
  text = replaced(std::move(text), "IS_SENDING_ALL", condition_text(sending_all));
  text = replaced(std::move(text), "NAMES_SENDING_ALL", names_text(sending_all));
  return replaced(std::move(text), "NAMES_SENDING_PARTS", names_text(sending_parts));
}

core::Status check_name(const HeaderOptions& options) {
  if (is_namespace(options.name_space)) return {};
  return core::Error{
      fmt::format("'{}' is no name of a C++ namespace, such as my::table", options.name_space)};
}

}  // namespace

std::string header_alias(const StrategyTable& table, const HeaderOptions& options) {
  return fmt::format("{}_sm{}_{}", options.name_space, table.sm_version, name_of(table.launch));
}

std::string header_namespace(const StrategyTable& table, const HeaderOptions& options) {
  return header_alias(table, options) + "_" + hash_text(table_json(table));
}

constexpr std::array<const char*, kLaunchNames.size()> kLaunchers = {
    "CUDA graphs", "the host", "CUDA graphs that have no other call"};

core::Result<std::string> strategy_header(const StrategyTable& table,
                                          const HeaderOptions& options) {
  ASSAY_TRY(check_name(options));
  if (table.slices.empty()) return core::Error{"the table has no slice, so there is no header"};
  const std::string comment = fmt::format(
      "// All-reduce strategies for SM {}, for calls launched by {}.\n"
      "// Made by assay allreduce codegen; do not edit. Measured on:\n// {}\n",
      table.sm_version, kLaunchers[static_cast<std::size_t>(table.launch)],
      comment_text(table.provenance));
  std::string code(kHeaderBegin);
  code += strategies_text();
  code += "\n" + enum_text("Fusion", kFusionNames) + "\n" + enum_text("DataType", kDataTypeNames);
  code += fmt::format(
      "\ninline constexpr int kSmVersion = {};\ninline constexpr int kSliceCount = {};\n"
      "inline constexpr Strategy kFallback = Strategy::{};\n"
      "// A GPU's NVLinks carry so much in one direction; 0 means that it is not known.\n"
      "inline constexpr double kLinkBytesPerUs = {:g};\n"
      "inline constexpr bool kSwitchesMaySum = {};\n",
      table.sm_version, table.slices.size(), constant_name(name_of(table.fallback)),
      link_bytes_per_us(table.sm_version), switches_may_sum(table.sm_version));
  code += kHeaderStructs;
  code += Arrays(table).text();
  code += lookup_text();
  const std::string name_space = header_namespace(table, options);
  code = replaced(std::move(code), "GUARD", guard_of(name_space));
  code = replaced(std::move(code), "NAMESPACE", name_space);
  return comment +
         replaced(std::move(code), "ALIAS", alias_text(header_alias(table, options), name_space));
}

namespace {

constexpr std::array<std::string_view, 3> kLaunchWords = {"GRAPH", "EAGER", "ISOLATED"};

std::string table_key(const StrategyTable& table) {
  return fmt::format("{}, Launch::{}", table.sm_version, launch_constant(table.launch));
}

std::string nearer_text(const std::vector<StrategyTable>& tables) {
  std::string text;
  for (std::size_t i = 1; i < tables.size(); ++i) {
    text += fmt::format(
        "  if (distance({0}, sm_version, launch) < least) {{\n"
        "    least = distance({0}, sm_version, launch);\n    best = {1};\n  }}\n",
        table_key(tables[i]), i);
  }
  return text;
}

std::string cases_text(const std::vector<StrategyTable>& tables, const HeaderOptions& options) {
  std::string text;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    text += i + 1 < tables.size() ? fmt::format("    case {}: {{\n", i) : "    default: {\n";
    text += fmt::format(
        "      const ::{0}::Match match =\n"
        "          ::{0}::find(world_size, static_cast<::{0}::Fusion>(fusion),\n"
        "              static_cast<::{0}::DataType>(data_type), hidden_size, num_tokens);\n"
        "      return Match{{static_cast<Strategy>(match.strategy), {1}, match.is_extrapolated,\n"
        "                   match.is_measured && detail::distance({1}, sm_version, launch) == "
        "0}};\n"
        "    }}\n",
        header_namespace(tables[i], options), table_key(tables[i]));
  }
  return text;
}

core::Status check_distinct(const std::vector<StrategyTable>& tables) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (table_key(tables[i]) != table_key(tables[j])) continue;
      return core::Error{fmt::format("two tables are of SM {} and {} launches: one can answer",
                                     tables[i].sm_version, name_of(tables[i].launch))};
    }
  }
  return {};
}

}  // namespace

core::Result<std::string> dispatcher_header(const std::vector<StrategyTable>& tables,
                                            const HeaderOptions& options) {
  ASSAY_TRY(check_distinct(tables));
  if (tables.empty()) return core::Error{"there is no table to dispatch to"};
  std::string text = fmt::format(
      "// All-reduce strategies of {} tables, by SM and launch.\n"
      "// Made by assay allreduce codegen; do not edit.\n\n",
      tables.size());
  std::string contents;
  for (const StrategyTable& table : tables) {
    text += ASSAY_TRY(strategy_header(table, options)) + "\n";
    contents += table_json(table);
  }
  const std::string alias = options.name_space + "s";
  const std::string name_space = alias + "_" + hash_text(contents);
  std::string code(kDispatcherBegin);
  code += strategies_text();
  code += "\n" + enum_text("Fusion", kFusionNames) + "\n" + enum_text("DataType", kDataTypeNames) +
          "\n" + enum_text("Launch", kLaunchWords);
  code += kDispatcherEnd;
  code = replaced(std::move(code), "GUARD", guard_of(name_space));
  code = replaced(std::move(code), "NAMESPACE", name_space);
  code = replaced(std::move(code), "FIRST", table_key(tables.front()));
  code = replaced(std::move(code), "NEARER", nearer_text(tables));
  code = replaced(std::move(code), "CASES", cases_text(tables, options));
  return text + replaced(std::move(code), "ALIAS", alias_text(alias, name_space));
}

}  // namespace assay::allreduce
