#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_options.h"
#include "cli/summary_output.h"
#include "cli/table_inputs.h"
#include "store/answers/packed_tables.h"
#include "store/judging/needs_check.h"

namespace assay::cli {
namespace {

constexpr const char* kModelsGroup = "Models and how they are served";

struct Judged {
  const serving::Need* need;
  store::NeedVerdict verdict;
};

class StoreNeeds final : public Command {
 public:
  explicit StoreNeeds(App& app) {
    app.add_option(
           "CONFIG", models_,
           "config.json files, folders that have one, names of models that ship with assay, "
           "or 'all' of these")
        ->suggest(model_words_or_all())
        ->required();
    add_store_option(app);
    app.add_option("--tp", tp_, "GPUs that share heads and dense layers")
        ->type_name("V,V")
        ->default_str("1,2,4,8")
        ->check(gpu_count_problem)
        ->group(kModelsGroup);
    app.add_option("--ep", ep_, "groups of GPUs with experts of their own")
        ->type_name("V,V")
        ->default_str("every division of the GPUs of --tp")
        ->check(gpu_count_problem)
        ->group(kModelsGroup);
    precision_.add_precision(app, kModelsGroup);
    app.add_flag("--all", all_, "list every shape, not only those that are missing");
    add_roofline_options(app, roofline_);
    add_presentation_options(app, presentation_);
  }

  core::Result<Outcome> run() override {
    const serving::NeedsRequest request = ASSAY_TRY(precision_.request(models_, tp_, ep_));
    const serving::Needs needs = serving::needs_of(request);
    for (const std::string& note : notes_of_excluded(needs.excluded))
      print_note(note);
    if (needs.needs.empty()) return core::Error{"no deployment is left that can be served"};
    ASSAY_TRY(read(needs));
    std::vector<Judged> judged;
    for (const serving::Need& need : needs.needs)
      judged.push_back({&need, store::check_need(need.use, index_of(need.use.table))});
    print_summary(book_of(judged), presentation_.summary());
    const bool any = std::any_of(judged.begin(), judged.end(), [](const Judged& one) {
      return one.verdict.having == store::Having::kMissing;
    });
    return any ? Outcome::kRegressionFound : Outcome::kOk;
  }

 private:
  void add_store_option(App& app) {
    inputs_.without = WithoutInput::kShipped;
    app.add_option("--store", inputs_.store, "the database: a file, or the name of a shipped one")
        ->type_name("STORE")
        ->suggest(shipped_words())
        ->default_str("the shipped one");
  }

  // Reads every table of the database that a use names. The rows of a shipped one stay where they
  // are mapped.
  core::Status read(const serving::Needs& needs) {
    std::set<std::string> wanted;
    for (const serving::Need& need : needs.needs)
      wanted.insert(need.use.table);
    if (const store::ShippedSystem* shipped = inputs_.shipped(); shipped != nullptr)
      return read_packed(*shipped, wanted);
    for (NamedFrame& named : ASSAY_TRY(read_tables(inputs_, "", presentation_))) {
      if (!wanted.contains(named.table)) continue;
      auto binder = ASSAY_TRY(read_rooflines(roofline_, inputs_, named.table)).bound;
      indices_.emplace(named.table, ASSAY_TRY(store::WorkIndex::make(named.table, named.frame,
                                                                     std::move(binder))));
    }
    return {};
  }

  core::Status read_packed(const store::ShippedSystem& shipped,
                           const std::set<std::string>& wanted) {
    const auto tables = ASSAY_TRY(store::PackedTables::open(shipped.tables));
    if (!presentation_.quiet)
      print_note(fmt::format("from the shipped database {}: {}", shipped.name, tables.origin()));
    for (const std::string& name : tables.names()) {
      if (!wanted.contains(name)) continue;
      auto binder = ASSAY_TRY(read_rooflines(roofline_, inputs_, name)).bound;
      indices_.emplace(name, store::WorkIndex(ASSAY_TRY(tables.table(name)), std::move(binder)));
    }
    return {};
  }

  [[nodiscard]] const store::WorkIndex* index_of(const std::string& table) const {
    const auto found = indices_.find(table);
    return found == indices_.end() ? nullptr : &found->second;
  }

  // CSV is for other programs, which want the shapes as one table.
  [[nodiscard]] model::Book book_of(const std::vector<Judged>& judged) const {
    model::Book book{.title = "What serving the models needs"};
    model::Table shapes = all_ ? every_shape(judged) : missing_shapes(judged);
    const bool is_csv = presentation_.summary() == Summary::kCsv;
    if (!is_csv) book.tables.push_back(summary_of(judged));
    if (is_csv || shapes.row_count() > 0) book.tables.push_back(std::move(shapes));
    return book;
  }

  static model::Table summary_of(const std::vector<Judged>& judged) {
    std::map<std::string, std::array<std::int64_t, 3>> counts;
    for (const Judged& one : judged)
      ++counts[one.need->use.op][static_cast<std::size_t>(one.verdict.having)];
    model::Table table{
        .name = "needs",
        .title = "Shapes that the models need",
        .columns = {
            {.name = "operator"}, {.name = "there"}, {.name = "derived"}, {.name = "missing"}}};
    for (const auto& [op, count] : counts)
      table.add_row({op, count[0], count[1], count[2]});
    return table;
  }

  static model::Table missing_shapes(const std::vector<Judged>& judged) {
    model::Table table{
        .name = "missing",
        .title = "Missing shapes",
        .columns = {{.name = "operator"}, {.name = "shape"}, {.name = "models"}, {.name = "why"}}};
    for (const Judged& one : judged) {
      if (one.verdict.having != store::Having::kMissing) continue;
      table.add_row({one.need->use.op, serving::key_text(one.need->use),
                     core::join(one.need->models, ", "), one.verdict.how});
    }
    return table;
  }

  static model::Table every_shape(const std::vector<Judged>& judged) {
    model::Table table{.name = "shapes",
                       .title = "Every shape",
                       .columns = {{.name = "operator"},
                                   {.name = "having"},
                                   {.name = "shape"},
                                   {.name = "models"},
                                   {.name = "how"},
                                   {.name = "uncertainty", .unit = "%"}}};
    for (const Judged& one : judged) {
      const bool is_derived = one.verdict.having == store::Having::kDerived;
      table.add_row({one.need->use.op, std::string(store::name_of(one.verdict.having)),
                     serving::key_text(one.need->use), core::join(one.need->models, ", "),
                     one.verdict.how,
                     is_derived ? model::Cell(one.verdict.sigma_percent) : model::Cell()});
    }
    return table;
  }

  std::vector<std::string> models_;
  TableInputs inputs_;
  RooflineInputs roofline_;
  std::string tp_;
  std::string ep_;
  ModelArguments precision_;
  bool all_ = false;
  Presentation presentation_;
  std::map<std::string, store::WorkIndex> indices_;
};

const CommandSpec kStoreNeeds{
    .name = "store needs",
    .summary = "tell which shapes that serving models needs a database has",
    .description =
        "Reads config.json files, as 'assay collect --for-model' does, and looks for every shape "
        "that serving these models needs: 'there' are shapes with rows of their own, 'derived' "
        "those that rows of the same work or the roofline answer, 'missing' those without an "
        "answer.\n\n"
        "With --speculative-tokens these are also the shapes of steps that draft tokens: attention "
        "that verifies them, as that of so many times the heads, and the operators of the layers "
        "that draft, of models that have such layers.",
    .regression_means = "a shape is missing",
    .examples =
        "assay store needs qwen3-32b --tp 4\n"
        "assay store needs config.json --quant fp8 --store perf/perf.db --all\n"
        "assay store needs qwen3-next-80b-a3b --tp 2 --speculative-tokens 2\n"
        "assay store needs all --quant config,bfloat16,fp8,fp8_block\n",
    .make = make_command<StoreNeeds>,
};
ASSAY_REGISTER(CommandSpec, kStoreNeeds);

}  // namespace
}  // namespace assay::cli
