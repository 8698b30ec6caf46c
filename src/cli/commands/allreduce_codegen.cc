#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "allreduce/benchmark_csv.h"
#include "allreduce/bucket_times.h"
#include "allreduce/codegen/generated_files.h"
#include "allreduce/codegen/lookup_table.h"
#include "allreduce/measured_on.h"
#include "allreduce/nccl_csv.h"
#include "allreduce/shipped_tables.h"
#include "allreduce/tuning.h"
#include "allreduce/validate.h"
#include "cli/allreduce_commands.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/summary_output.h"
#include "core/counted.h"
#include "core/files.h"
#include "core/text.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kPercent = 100;

const Choices<allreduce::LookupLayout> kLookupLayouts{
    {"readme", allreduce::LookupLayout::kReadme}, {"upstream", allreduce::LookupLayout::kUpstream}};

constexpr std::int64_t kMostServed = 1 << 20;

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words(1);
  for (const char c : list) {
    if (c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::string served_problem(const std::string& list) {
  for (const std::string& word : words_of(list)) {
    std::string problem = count_problem(word);
    if (!problem.empty()) return problem;
    if (word.size() > 7 || std::stoll(word) < 1 || std::stoll(word) > kMostServed) {
      return "'" + word + "' is not a whole number from 1 to 1048576";
    }
  }
  return "";
}

void add_served(App& app, const char* name, std::vector<std::int64_t>& values, const char* help) {
  app.add_option(
         name,
         [&values](const std::string& list) {
           for (const std::string& word : words_of(list))
             values.push_back(std::stoll(word));
         },
         help)
      ->type_name("N,...")
      ->check(served_problem);
}

struct SizeRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// The bucket of an axis' value goes up to below twice that.
template <class Axis>
SizeRange buckets_of(const Axis& axis) {
  return {.first = axis.front(), .last = 2 * axis.back() - 1};
}

// Says which sizes a served one must be among.
std::string ranges_text(const SizeRange& buckets, const std::set<std::int64_t>& timed) {
  const std::string text =
      fmt::format("the lookup table's buckets go from {} to {}", buckets.first, buckets.last);
  if (timed.empty()) return text + ", and nothing was timed there";
  return text + fmt::format(", and times from {} to {}", *timed.begin(), *timed.rbegin());
}

core::Status tell_unused(const char* option,
                         const std::vector<std::int64_t>& unused,
                         const std::vector<std::int64_t>& served,
                         const std::string& ranges) {
  if (unused.empty()) return {};
  std::vector<std::string> words;
  for (const std::int64_t value : unused)
    words.push_back(std::to_string(value));
  const std::string problem =
      fmt::format("{} {} decides no entry: {}", option, core::join(words, ","), ranges);
  if (unused.size() == served.size()) return core::Error{problem};
  print_warning(problem);
  return {};
}

class AllreduceCodegen final : public Command {
 public:
  explicit AllreduceCodegen(App& app) {
    add_tuning_options(app, arguments_, "DIR,--data_dir,--data-dir")->default_str("measure first");
    app.add_option("--save_csv_dir,--save-csv-dir", csv_folder_,
                   "where the files of a measurement go; has no effect with DIR")
        ->type_name("DIR")
        ->default_str("data");
    app.add_flag(
        "--enable_auto,--enable-auto", measure_auto_,
        "also measure AUTO, to see it beside the others; it is never chosen; has no effect "
        "with DIR");
    add_choice(app, "--layout", layout_, kLookupLayouts,
               "layout of generated_lookup_table.cpp; 'upstream' also has NCCL_SYMMETRIC as the "
               "newest public generator does: it may be chosen, and fills what was not measured "
               "unless --fallback names another");
    app.add_option("--base", base_,
                   "fill what was not measured of the lookup table from this one: a C++ file, or "
                   "'shipped' for TensorRT-LLM's of SM 90")
        ->type_name("FILE");
    add_served(app, "--for-hidden", arguments_.tuning.served.hidden_sizes,
               "the hidden sizes that will be served, with commas between: their entries of the "
               "lookup table are decided for them alone, others for their whole bucket");
    add_served(app, "--tokens", arguments_.tuning.served.num_tokens,
               "the token counts that will be served, in the same way");
    app.add_option("--with-table", others_,
                   "another table, JSON as this command writes it, that allreduce_tables.h answers "
                   "with, too; may be repeated")
        ->type_name("FILE")
        ->one_value_each();
    app.add_option("-o,--output", output_, "the folder to write to")
        ->type_name("DIR")
        ->default_str("gen_heuristic_code in the folder of the files");
    app.add_option("--validate", held_out_,
                   "compare the table with other ways to choose, on the benchmark files of this "
                   "folder, which it was not made from")
        ->type_name("DIR");
    app.add_option("--stability", again_,
                   "decide again from this folder, a second measurement of the same grid, and "
                   "count the cells that differ")
        ->type_name("DIR");
    app.add_option("--max-regret", most_regret_percent_,
                   "with --validate: fail (exit status 3) when the 95th percentile of the table's "
                   "regret is larger than this, in percent")
        ->type_name("PERCENT")
        ->check(not_negative_problem);
    add_presentation_options(app, presentation_);
    app.note_given(given_);
  }

  [[nodiscard]] core::Status check() const override {
    if (most_regret_percent_ && held_out_.empty()) {
      return core::Error{"--max-regret needs --validate DIR"};
    }
    return {};
  }

  core::Result<Outcome> run() override {
    if (arguments_.data_folder.empty()) {
      arguments_.data_folder = ASSAY_TRY(measure_first());
    } else {
      tell_unused_options();
    }
    ASSAY_TRY(check_benchmark_folder(arguments_.data_folder));
    use_layout();
    if (const auto version = ASSAY_TRY(version_of_sweep_alone())) return write_sweep(*version);
    ASSAY_TRY(check_other_folder("--validate", held_out_));
    ASSAY_TRY(check_other_folder("--stability", again_));
    TunedBenchmark tuned = ASSAY_TRY(load_tuned(arguments_.data_folder, arguments_));
    allreduce::TunedTables& tables = tuned.tables;
    ASSAY_TRY(check_type(tables.timings));
    ASSAY_TRY(check_served(tables));
    if (base_.empty()) {
      warn_of_missing(tables.lookup);
    } else {
      ASSAY_TRY(fill_from_base(tables.lookup));
    }
    model::Book book = allreduce::tuning_summary(tables);
    const bool passed = ASSAY_TRY(add_checks(book, tuned));
    const auto others = ASSAY_TRY(other_tables());
    const auto sweep =
        ASSAY_TRY(allreduce::read_nccl_sweep(arguments_.data_folder, tuned.benchmark.sm_version));
    const auto files =
        ASSAY_TRY(allreduce::generated_files(tables, tuned.benchmark, sweep, layout_, others));
    const auto paths = ASSAY_TRY(allreduce::write_generated(files, output_folder()));
    if (presentation_.shows_summary()) print_summary(book, presentation_.summary(), kAllRows);
    tell_written(paths);
    return passed ? Outcome::kOk : Outcome::kRegressionFound;
  }

 private:
  // Benchmarks the whole grid on this machine, and returns the folder of the files.
  [[nodiscard]] core::Result<fs::path> measure_first() const {
    auto options = default_benchmark(csv_folder_.empty() ? fs::path("data") : csv_folder_);
    if (!options.ok()) {
      return options.error().context(
          "nothing to make a table of (no folder of benchmark files is named), and this "
          "machine cannot be measured");
    }
    allreduce::BenchmarkOptions benchmark = std::move(options).value();
    if (measure_auto_) benchmark.strategies.push_back(allreduce::Strategy::kAuto);
    const auto result =
        benchmark_with_progress(benchmark, presentation_.quiet ? Talk::kNever : Talk::kOnTerminal);
    if (!result.ok()) return result.error();
    for (const fs::path& path : result.value().files)
      print_note("measured " + path.string());
    return benchmark.folder;
  }

  // Scripts of the public tool give options of a measurement in all cases.
  void tell_unused_options() const {
    if (presentation_.quiet) return;
    std::vector<std::string> unused;
    if (!csv_folder_.empty()) unused.emplace_back("--save_csv_dir");
    if (measure_auto_) unused.emplace_back("--enable_auto");
    if (unused.empty()) return;
    print_note(fmt::format("nothing is measured, since '{}' is named: no effect of {}",
                           arguments_.data_folder.string(), core::join(unused, " and ")));
  }

  // Returns the SM version of a folder that has sweeps of NCCL and no benchmark file of it.
  [[nodiscard]] core::Result<std::optional<int>> version_of_sweep_alone() const {
    const fs::path& folder = arguments_.data_folder;
    const std::optional<int> wanted = arguments_.sm_version;
    const auto versions = ASSAY_TRY(allreduce::nccl_sweep_versions(folder));
    std::optional<int> version = wanted;
    if (!wanted && versions.size() == 1) version = versions.front();
    const bool swept = version && std::count(versions.begin(), versions.end(), *version) > 0;
    if (!swept || allreduce::find_benchmarks(folder, wanted, arguments_.tuning.launch).ok()) {
      return std::optional<int>();
    }
    return version;
  }

  // The options that a sweep of NCCL has a use for.
  [[nodiscard]] core::Status check_sweep_options() const {
    static const std::set<std::string> used = {"--data_dir",   "--data-dir",     "--sm_version",
                                               "--sm-version", "--save_csv_dir", "--save-csv-dir",
                                               "--tie",        "--output",       "--quiet"};
    for (const std::string& name : given_) {
      if (used.contains(name)) continue;
      return core::Error{fmt::format(
          "{} is of benchmark files, and '{}' has none of {} launches, only sweeps of NCCL", name,
          arguments_.data_folder.string(), name_of(arguments_.tuning.launch))};
    }
    return {};
  }

  [[nodiscard]] core::Result<Outcome> write_sweep(int version) const {
    ASSAY_TRY(check_sweep_options());
    const auto sweep = ASSAY_TRY(allreduce::read_nccl_sweep(arguments_.data_folder, version));
    if (sweep.gpu.empty()) {
      print_warning(fmt::format(
          "no .json in '{}' says on what its sweeps were measured: the tuner's rows will hold for "
          "any GPU and NCCL",
          arguments_.data_folder.string()));
    }
    const auto paths = ASSAY_TRY(allreduce::write_generated(
        allreduce::nccl_tuner_files(sweep, {.sm_version = version, .tie = arguments_.tuning.tie}),
        output_folder()));
    tell_written(paths);
    return Outcome::kOk;
  }

  // A table loses little on the times that it was made from, whatever it is worth elsewhere.
  [[nodiscard]] core::Status check_other_folder(const char* option, const fs::path& folder) const {
    std::error_code unreadable;
    if (!fs::equivalent(folder, arguments_.data_folder, unreadable)) return {};
    return core::Error{
        fmt::format("{} needs another measurement than '{}', which the table is made from", option,
                    arguments_.data_folder.string())};
  }

  // Without a time of its type all of a lookup table would be the fallback.
  [[nodiscard]] core::Status check_type(const allreduce::Timings& timings) const {
    std::set<std::string> timed;
    for (const auto& [cell, of_cell] : timings) {
      if (of_cell.empty()) continue;
      if (cell.data_type == arguments_.tuning.data_type) return {};
      timed.emplace(name_of(cell.data_type));
    }
    const std::vector<std::string> names(timed.begin(), timed.end());
    return core::Error{fmt::format("no {} time in '{}', which has {} (--dtype)",
                                   name_of(arguments_.tuning.data_type),
                                   arguments_.data_folder.string(), core::join(names, ", "))};
  }

  // Warns of served sizes that change nothing, and fails if an option has no other.
  [[nodiscard]] core::Status check_served(const allreduce::TunedTables& tables) const {
    const allreduce::ServedShapes& served = tables.options.served;
    if (served.empty()) return {};
    allreduce::Timings timings = restricted(tables.timings, tables.public_strategies);
    std::erase_if(timings, [&](const auto& timed) {
      return timed.first.data_type != tables.options.data_type || timed.second.empty();
    });
    const allreduce::ServedShapes unused = allreduce::unused_shapes(timings, served);
    std::set<std::int64_t> hidden_sizes;
    std::set<std::int64_t> num_tokens;
    for (const auto& [cell, of_cell] : timings) {
      hidden_sizes.insert(cell.hidden_size);
      num_tokens.insert(cell.num_tokens);
    }
    const SizeRange hidden_buckets = buckets_of(allreduce::kPublicHiddenSizes);
    const SizeRange token_buckets = buckets_of(allreduce::kPublicTokens);
    ASSAY_TRY(tell_unused("--for-hidden", unused.hidden_sizes, served.hidden_sizes,
                          ranges_text(hidden_buckets, hidden_sizes)));
    return tell_unused("--tokens", unused.num_tokens, served.num_tokens,
                       ranges_text(token_buckets, num_tokens));
  }

  void tell_written(const std::vector<fs::path>& paths) const {
    if (presentation_.quiet) return;
    for (const fs::path& path : paths)
      print_note("wrote " + path.string());
  }

  [[nodiscard]] fs::path output_folder() const {
    return output_.empty() ? arguments_.data_folder / "gen_heuristic_code" : output_;
  }

  void warn_of_missing(const allreduce::LookupTable& table) const {
    for (const int world_size : allreduce::missing_world_sizes(table)) {
      print_warning(
          fmt::format("no {} measurement of TP {} in '{}' with a strategy that the lookup table "
                      "knows: its part "
                      "of it is filled with {}",
                      name_of(arguments_.tuning.data_type), world_size,
                      arguments_.data_folder.string(), name_of(table.fallback)));
    }
  }

  void use_layout() {
    if (layout_ != allreduce::LookupLayout::kUpstream) return;
    arguments_.tuning.lookup_strategies.push_back(allreduce::Strategy::kNcclSymmetric);
    arguments_.tuning.lookup_fallback = allreduce::Strategy::kNcclSymmetric;
  }

  [[nodiscard]] core::Result<allreduce::LookupTable> base_table(int sm_version) const {
    if (base_ != "shipped") return allreduce::read_lookup_table(base_, sm_version);
    return allreduce::shipped_tables().back().table;
  }

  [[nodiscard]] core::Status fill_from_base(allreduce::LookupTable& table) const {
    const allreduce::LookupTable base = ASSAY_TRY(base_table(table.sm_version));
    if (base.sm_version != table.sm_version) {
      return core::Error{fmt::format("--base is a table of SM {}, the measurements are of SM {}",
                                     base.sm_version, table.sm_version)};
    }
    const std::string name = base_ == "shipped"
                                 ? std::string(allreduce::shipped_tables().back().source)
                                 : fs::path(base_).filename().string();
    const std::size_t filled = allreduce::fill_from(table, base, name);
    print_note(
        fmt::format("{} of the lookup table {} from {}", core::counted(filled, "entry", "entries"),
                    filled == 1 ? "was not measured and is" : "were not measured and are", name));
    return {};
  }

  [[nodiscard]] core::Result<std::vector<allreduce::StrategyTable>> other_tables() const {
    std::vector<allreduce::StrategyTable> tables;
    for (const fs::path& path : others_) {
      const std::string text = ASSAY_TRY(core::read_file(path));
      tables.push_back(ASSAY_TRY(allreduce::table_from_json(text, path.string())));
    }
    return tables;
  }

  // Loads a folder whose times are compared with those of the table, so of the same GPU.
  [[nodiscard]] core::Result<TunedBenchmark> load_compared(const fs::path& folder,
                                                           const TunedBenchmark& tuned) const {
    TuningArguments same = arguments_;
    same.sm_version = tuned.benchmark.sm_version;
    TunedBenchmark other = ASSAY_TRY(load_tuned(folder, same));
    ASSAY_TRY(allreduce::check_same_gpu(other.files, tuned.files));
    return other;
  }

  // Adds the tables of --validate and --stability. Returns false if the regret is too large.
  core::Result<bool> add_checks(model::Book& book, const TunedBenchmark& tuned) const {
    if (!again_.empty()) {
      const TunedBenchmark again = ASSAY_TRY(load_compared(again_, tuned));
      auto table = allreduce::stability_table(tuned.tables, again.tables);
      if (!table.ok()) return table.error().context("--stability '" + again_.string() + "'");
      book.tables.push_back(std::move(table).value());
    }
    if (held_out_.empty()) return true;
    const TunedBenchmark held_out = ASSAY_TRY(load_compared(held_out_, tuned));
    auto validation = allreduce::validate(tuned.tables, held_out.tables.timings);
    for (model::Table& table : validation.book.tables)
      book.tables.push_back(std::move(table));
    return passes(validation.table_p95 * kPercent);
  }

  [[nodiscard]] bool passes(double regret_percent) const {
    if (std::isnan(regret_percent)) {
      print_warning(
          fmt::format("none of the table's choices was timed in '{}': its regret cannot be judged",
                      held_out_.string()));
      return !most_regret_percent_;
    }
    if (!most_regret_percent_ || regret_percent <= *most_regret_percent_) return true;
    print_warning(
        fmt::format("the 95th percentile of the table's regret is {:.3g} %, more than {:g} %",
                    regret_percent, *most_regret_percent_));
    return false;
  }

  TuningArguments arguments_;
  fs::path csv_folder_;
  fs::path output_;
  fs::path held_out_;
  fs::path again_;
  std::string base_;
  std::vector<fs::path> others_;
  std::optional<double> most_regret_percent_;
  bool measure_auto_ = false;
  allreduce::LookupLayout layout_ = allreduce::LookupLayout::kReadme;
  Presentation presentation_;
  std::set<std::string> given_;
};

const CommandSpec kAllreduceCodegen{
    .name = "allreduce codegen",
    .summary = "make strategy tables from measurements, as C++, as JSON and for NCCL",
    .description =
        "Decides for every TP size, fusion, hidden size and message size which strategy to use, "
        "and writes six files: generated_lookup_table.cpp (TensorRT-LLM's table, with NCCL, "
        "ONESHOT and TWOSHOT), allreduce_table.h (a stand-alone constexpr header with all "
        "strategies, looked up by bytes), allreduce_tables.h (the same behind a lookup by SM and "
        "launch, for several tables in one program), allreduce_table.json (the same for 'assay "
        "allreduce lookup' and the C library), and nccl_tuner.conf and assay_nccl_tuner.conf (for "
        "NCCL's example tuner plugin and for libassay_nccl_tuner.so, from what 'assay allreduce "
        "bench --nccl-sweep' measured). From a folder that has only such a sweep it makes these "
        "two.\n\n"
        "The cells of a row are decided together. A gain that is below the tie, or whose "
        "intervals overlap, is not worth a change of strategy in one cell, but it is in many. A "
        "row therefore reads ONESHOT, then TWOSHOT, then NCCL, unless the data "
        "contradict that by more than their noise; where they do, the summary says so. A cell "
        "without data takes the choice of the nearest message of its row, a row without any "
        "data takes the fallback, and the summary reports both. A missing file of one TP size "
        "leaves the other sizes usable.\n\n"
        "Numbers of GPUs that were not measured are extrapolated by the bytes that a GPU sends, "
        "(N-1) S with ONESHOT and 2 (N-1)/N S with the others, and marked as such. An entry of the "
        "lookup table is decided for its whole bucket, because TensorRT-LLM rounds hidden sizes "
        "and tokens down to it.\n\n"
        "The regret of --validate is the time of the chosen strategy divided by the least time "
        "measured for the same shape, minus 1. A table is compared only with the strategies "
        "that it knows.",
    .regression_means = "the regret is larger than --max-regret",
    .examples =
        "assay allreduce codegen\n"
        "assay allreduce codegen data\n"
        "assay allreduce codegen data --sm_version 90 --layout upstream -o generated\n"
        "assay allreduce codegen data --layout upstream --base shipped --for-hidden 7168\n"
        "assay allreduce codegen data --with-table eager/allreduce_table.json\n"
        "assay allreduce codegen data --validate held_out --max-regret 3\n",
    .make = make_command<AllreduceCodegen>,
};
ASSAY_REGISTER(CommandSpec, kAllreduceCodegen);

}  // namespace
}  // namespace assay::cli
