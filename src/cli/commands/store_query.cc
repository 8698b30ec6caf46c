#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "cli/table_inputs.h"
#include "collect/plan/operator.h"
#include "core/check.h"
#include "core/file_kind.h"
#include "core/text.h"
#include "store/answers/batch.h"
#include "store/answers/query.h"
#include "store/files/table_spec.h"

namespace assay::cli {
namespace {

// Returns the columns that have an option: "dtype", which stands for a table's own column of types,
// the columns of the public tables, and those of the tables that only assay measures. --where takes
// other columns.
std::vector<std::string> columns_with_option() {
  std::vector<std::string> columns = store::known_key_columns();
  columns.insert(columns.begin(), "dtype");
  for (const collect::Operator* measured : collect::all_operators()) {
    for (const collect::Axis& axis : measured->axes) {
      if (std::find(columns.begin(), columns.end(), axis.column) == columns.end())
        columns.push_back(axis.column);
    }
  }
  return columns;
}

std::string dashed(std::string column) {
  std::replace(column.begin(), column.end(), '_', '-');
  return "--" + column;
}

std::string columns_help() {
  std::vector<std::string> names;
  for (const std::string& column : columns_with_option())
    names.push_back(dashed(column));
  return fmt::format(
      "Columns with an option (others: --where): {}. They may be spelt with _ as well.",
      core::join(names, ", "));
}

std::string option_names_of(const std::string& column) {
  const std::string plain = "--" + column;
  return dashed(column) == plain ? plain : plain + "," + dashed(column);
}

// Messages name a column as it was typed.
std::string option_of(const std::string& column) {
  const std::vector<std::string> columns = columns_with_option();
  const bool has_option = std::find(columns.begin(), columns.end(), column) != columns.end();
  return has_option ? dashed(column) : "--where " + column;
}

std::vector<std::string> short_table_words() {
  constexpr std::string_view kEnding = "_perf";
  std::vector<std::string> words = table_words();
  for (std::string& word : words) {
    if (word.ends_with(kEnding)) word.resize(word.size() - kEnding.size());
  }
  return words;
}

class StoreQuery final : public Command {
 public:
  explicit StoreQuery(App& app) {
    app.add_option("TABLE", table_, "gemm, context_attention, moe, nccl, ...")
        ->suggest(short_table_words())
        ->required();
    inputs_.without = WithoutInput::kShipped;
    add_table_inputs(app, inputs_, "that table as a file, CSV or Parquet; several are joined");
    for (const std::string& column : columns_with_option())
      add_column(app, column);
    app.add_option("--where", where_, "a column by name, for those that have no option")
        ->type_name("COLUMN=VALUE")
        ->one_value_each();
    add_l2_option(app, inputs_.l2);
    app.add_flag(
        "--extrapolate", extrapolate_,
        fmt::format("answer also more than {} times past the measured points", store::kMostBeyond));
    app.add_option("--batch", batch_,
                   "answer every line of this CSV file, whose columns are named as the options")
        ->type_name("FILE.csv");
    add_roofline_options(app, roofline_);
    add_presentation_options(app, presentation_);
  }

  [[nodiscard]] core::Status check() const override {
    ASSAY_TRY(inputs_.check());
    for (const std::string& condition : where_) {
      const std::size_t sign = condition.find('=');
      if (sign == 0 || sign == std::string::npos)
        return core::Error{"--where takes COLUMN=VALUE, not '" + condition + "'"};
    }
    return {};
  }

  core::Status check_inputs() override {
    Presentation silent = presentation_;
    silent.quiet = true;
    index_.emplace(read_index(inputs_, roofline_, table_meant(table_), silent));
    if (!index_->ok()) return {};
    const store::WorkIndex& index = index_->value();
    return batch_.empty() ? store::check_question(index, conditions(), option_of)
                          : store::check_conditions(index, conditions(), option_of);
  }

  core::Result<Outcome> run() override {
    if (!presentation_.quiet) ASSAY_TRY(tell_origin(inputs_));
    ASSAY_CHECK(index_.has_value(), "check_inputs() comes before run()");
    if (!index_->ok()) return index_->error();
    const store::WorkIndex& index = index_->value();
    if (!batch_.empty()) return answer_batch(index);
    const auto result = ASSAY_TRY(store::query(index, conditions(), beyond()));
    return show(index, result);
  }

 private:
  void add_column(App& app, const std::string& column) {
    const auto take = [this, column](const std::string& value) {
      columns_.push_back({column, value});
    };
    // These options are left out of the list of options, because the description names them all.
    app.add_option(option_names_of(column), take, "a column")->type_name("VALUE")->group("");
  }

  [[nodiscard]] store::Beyond beyond() const {
    return extrapolate_ ? store::Beyond::kExtrapolate : store::Beyond::kRefuse;
  }

  core::Result<Outcome> answer_batch(const store::WorkIndex& index) const {
    const std::string questions = ASSAY_TRY(core::read_text(batch_, core::TextFormat::kCsv));
    auto answers = store::query_batch(index, questions, conditions(), beyond());
    if (!answers.ok()) return answers.error().context(batch_.string());
    store::BatchAnswers& found = answers.value();
    if (!found.passed_over.empty() && !presentation_.quiet) {
      print_note(fmt::format("{}: columns of results say nothing of what is asked: {}",
                             batch_.string(), core::join(found.passed_over, ", ")));
    }
    model::Book book{.title = "Latencies"};
    book.tables.push_back(std::move(found.table));
    print_summary(book, presentation_.format.value_or(Summary::kCsv));
    if (found.refused == 0) return Outcome::kOk;
    print_note(
        fmt::format("{} of {} have no answer", found.refused, found.refused + found.answered));
    return Outcome::kRegressionFound;
  }

  [[nodiscard]] std::vector<store::Condition> conditions() const {
    std::vector<store::Condition> all = columns_;
    for (const std::string& condition : where_) {
      const std::size_t sign = condition.find('=');
      all.push_back({condition.substr(0, sign), condition.substr(sign + 1)});
    }
    return all;
  }

  core::Result<Outcome> show(const store::WorkIndex& index,
                             const store::QueryResult& result) const {
    if (result.answers.empty()) {
      return core::Error{fmt::format(
          "{}{}{}: {}{}", index.rows().table, result.refused.size() > 1 ? " of " : "",
          result.refused.size() > 1 ? index.rows().family_name(result.refused.front().family) : "",
          result.refused.front().reason,
          result.refused.front().is_final ? "" : "; --extrapolate answers all the same")};
    }
    const auto columns =
        presentation_.is_for_reading() ? store::KeyColumns::kVarying : store::KeyColumns::kAll;
    const model::Book book{.title = "Latencies",
                           .tables = {store::answers_table(index, result, columns)}};
    if (presentation_.shows_summary()) print_summary(book, presentation_.summary());
    for (const store::Refusal& refusal : result.refused) {
      print_note(fmt::format("no answer of {}: {}", index.rows().family_name(refusal.family),
                             refusal.reason));
    }
    return Outcome::kOk;
  }

  std::string table_;
  TableInputs inputs_;
  std::optional<core::Result<store::WorkIndex>> index_;
  std::vector<store::Condition> columns_;
  std::vector<std::string> where_;
  bool extrapolate_ = false;
  std::filesystem::path batch_;
  RooflineInputs roofline_;
  Presentation presentation_;
};

const CommandSpec kStoreQuery{
    .name = "store query",
    .summary = "ask a performance table for a latency, measured or interpolated",
    .description =
        "Latencies are milliseconds of one launch. Without --store and FILE they are those of the "
        "database that ships with assay, by the peaks of its own device, and a line on standard "
        "error names that device: on another GPU, or with other libraries, they are others.\n\n"
        "TABLE is a table (gemm, moe, nccl) or an operator of 'assay collect' "
        "(attention_generation). Every column of the table is an option: --m 300, --batch-size 8, "
        "--dtype fp8 (the table's own column of types), --framework VLLM. Sizes, heads, experts "
        "and widths need not be as measured; all other columns must be. Columns that are left out "
        "give one row for each of their values.\n\n"
        "A row with other columns that is the same work answers as well (16 heads with 2 key-value "
        "heads as 8 with 1 at twice the batch). Between two points of a weight's own curve the "
        "time above the roofline runs in a straight line, corrected by the curves beside it; "
        "where there is no curve, those near by are scaled by the roofline. 'method' says which, "
        "and 'low' and 'high' are the rows that the answer comes from; 'throttled' names those of "
        "them that were measured while the GPU had lowered its clocks. Without peaks (--system), "
        "the product of the sizes stands for the roofline.\n\n"
        "'uncertainty' is one sigma of the answer, and 'low_80' to 'high_80' an interval that "
        "holds the time in 80 % of cases: assay store check --held-out tells how often it does. "
        "An answer whose sigma is more than itself is refused.\n\n"
        "'interval_low' and 'interval_high' are of a measured row alone: an interval of the median "
        "of its samples, which holds it with 'interval_confidence' (at least 95 % from 6 samples "
        "on, 93.75 % of 5), if samples are independent. It tells nothing of other runs. An "
        "interpolated answer has none, nor has a row of a file or of an imported table.",
    .more_description = columns_help,
    .regression_means = "a line of --batch has no answer",
    .examples =
        "assay store query gemm --m 300 --n 4096 --k 4096 --dtype fp8\n"
        "assay store query gemm --m 300 --n 4096 --k 4096 --store mine.db\n"
        "assay store query gemm gemm_perf.parquet --m 300 --n 4096 --k 4096 --dtype fp8\n"
        "assay store query gemm --batch products.csv > answers.csv\n"
        "assay store query nccl --op-name all_reduce --num-gpus 8 --message-size 3000000 \\\n"
        "    --dtype half --store h200.db --format json\n",
    .make = make_command<StoreQuery>,
};
ASSAY_REGISTER(CommandSpec, kStoreQuery);

}  // namespace
}  // namespace assay::cli
