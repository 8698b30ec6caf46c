// Compares with what the public planner answered on the public tables, where both lie beside the
// checkout.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "model/serving/family.h"
#include "plan/compat/compat_test_util.h"
#include "plan/compat/report.h"
#include "plan/compat/search.h"
#include "store/answers/table_cache.h"
#include "store/systems/public_tree.h"

namespace assay::plan::compat {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 0.005;

fs::path shared() {
  return fs::path(ASSAY_SOURCE_DIR) / "../shared";
}

// The public tables and answers are no part of a clone.
class CompatGoldens : public testing::TestWithParam<fs::path> {
 public:
  static std::vector<fs::path> roots() {
    const bool is_there =
        fs::exists(shared() / "golden/plan") && fs::exists(shared() / "data/peer-db/h200_sxm");
    if (!is_there) return {};
    return {shared()};
  }
};

// The rows as the command loads them, without the cache.
Measured public_measured(const std::string& engine, const std::string& version) {
  auto tree = store::PublicTree::open(shared() / "data/peer-db", "h200_sxm");
  EXPECT_TRUE(tree.ok());
  const SystemFacts facts = tree.value().facts();
  const auto load = [tree = std::move(tree).value(), engine, version](
                        const std::string& table) -> core::Result<std::vector<store::WorkRows>> {
    const store::TableCache cache("");
    std::vector<store::WorkRows> rows;
    const auto sources = tree.sources(engine, version, table);
    if (!sources.ok()) return rows;
    for (const store::TreeSource& source : sources.value()) {
      const bool is_other = source.origin == store::TreeOrigin::kLater ||
                            source.origin == store::TreeOrigin::kOtherBackend;
      if (is_other || (source.backend != engine && !rows.empty())) continue;
      rows.push_back(ASSAY_TRY(cache.table(source.file, {})).rows);
    }
    return rows;
  };
  return {facts, load};
}

serving::Model public_model(const std::string& name) {
  const fs::path config = shared() / "data/model-configs" / (name + "_config.json");
  auto model = serving::read_model(fs::exists(config) ? config.string() : name);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  return std::move(model).value();
}

std::string text_of_file(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number behind a label in a printed answer: "  TTFT:   3898.522 ms", "context_ar_1  364.2 ms".
double printed(const std::string& text, const std::string& label) {
  const std::size_t at = text.find("\n  " + label + " ");
  if (at == std::string::npos) return std::nan("");
  const std::size_t begin = text.find_first_of("0123456789", at + 3 + label.size());
  std::string digits;
  for (std::size_t i = begin; i < text.size() && text[i] != ' ' && text[i] != '\n'; ++i) {
    if (text[i] != ',') digits += text[i];
  }
  return std::strtod(digits.c_str(), nullptr);
}

void expect_near(double ours, double theirs, const std::string& what) {
  EXPECT_NEAR(ours, theirs, kTolerance * std::abs(theirs)) << what;
}

// Every operator that an answer prints, against the times of its phase.
std::size_t compare_operators(const std::string& text, const std::vector<OperatorTime>& times) {
  std::size_t compared = 0;
  for (const OperatorTime& one : times) {
    const double theirs = printed(text, one.name);
    if (std::isnan(theirs)) continue;
    expect_near(one.ms, theirs, one.name);
    ++compared;
  }
  return compared;
}

double memory_gib(const serving::Model& model,
                  const Worker& worker,
                  const Operators& operators,
                  const SystemFacts& facts,
                  const MemoryAsked& asked) {
  return memory_of(model, worker, Engine::kTrtllm, operators, facts, asked).total() /
         (1024.0 * 1024 * 1024);
}

TEST_P(CompatGoldens, StaticBatching) {
  const std::string text = text_of_file(shared() / "golden/plan/head_estimate_static_all.txt");
  Measured measured = public_measured("trtllm", "1.3.0rc23");
  const serving::Model model = public_model("qwen3-32b");
  const Worker worker{.tp = 4, .moe_tp = 4};
  const auto bound = operators_of(model, worker, Engine::kTrtllm, measured);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  const Lengths lengths{.prompt = 4096, .output = 1024};
  const auto prompts = prompt_times(bound.value(), 32, lengths);
  const auto decodes = decode_times(bound.value(), 32, lengths);
  EXPECT_EQ(compare_operators(text, prompts), 12U);
  EXPECT_EQ(compare_operators(text, decodes), 12U);
  expect_near(sum_ms(prompts), printed(text, "TTFT:"), "TTFT");
  expect_near(sum_ms(decodes) / 1023, printed(text, "TPOT:"), "TPOT");
  expect_near(memory_gib(model, worker, bound.value(), measured.facts(),
                         {.tokens = 32 * 4096, .requests = 32, .request_tokens = 4096 + 1024}),
              printed(text, "Memory (GPU):"), "memory");
}

struct Decoding {
  std::string file;
  std::string model;
  Worker worker;
  std::int64_t batch;
  Lengths lengths;
  std::size_t operators;
};

void compare_decoding(const Decoding& asked) {
  const std::string text = text_of_file(shared() / "golden/plan" / asked.file);
  Measured measured = public_measured("trtllm", "1.3.0rc23");
  const serving::Model model = public_model(asked.model);
  const auto bound = operators_of(model, asked.worker, Engine::kTrtllm, measured);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  const auto decodes = decode_times(bound.value(), asked.batch, asked.lengths);
  EXPECT_EQ(compare_operators(text, decodes), asked.operators);
  expect_near(sum_ms(decodes), printed(text, "Generation lat.:"), "generation");
  expect_near(memory_gib(model, asked.worker, bound.value(), measured.facts(),
                         {.tokens = asked.batch,
                          .requests = asked.batch,
                          .request_tokens = asked.lengths.prompt + asked.lengths.output}),
              printed(text, "Memory (GPU):"), "memory");
}

TEST_P(CompatGoldens, DecodingInBlocksOfFp8) {
  compare_decoding({.file = "head_static_gen_q32fp8_h200_trtllm.txt",
                    .model = "Qwen--Qwen3-32B-FP8",
                    .worker = {.tp = 4, .moe_tp = 4},
                    .batch = 16,
                    .lengths = {.prompt = 4000, .output = 500},
                    .operators = 12});
}

TEST_P(CompatGoldens, DecodingWithLatentAttentionAndExperts) {
  compare_decoding({.file = "head_static_gen_dsv3_h200_trtllm.txt",
                    .model = "deepseek-v3",
                    .worker = {.tp = 8, .moe_ep = 8},
                    .batch = 40,
                    .lengths = {.prompt = 4000, .output = 1000},
                    .operators = 6});
}

TEST_P(CompatGoldens, ContinuousBatching) {
  const std::string text = text_of_file(shared() / "golden/plan/head_estimate_qwen3-32b.txt");
  Measured measured = public_measured("trtllm", "1.3.0rc23");
  const serving::Model model = public_model("qwen3-32b");
  const Worker worker{.tp = 2, .moe_tp = 2};
  const auto bound = operators_of(model, worker, Engine::kTrtllm, measured);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  const Setting setting{.version = "1.3.0rc23", .lengths = {.prompt = 2048, .output = 512}};
  const AggregatedPoint point = aggregated_point(model, worker, bound.value(), measured.facts(),
                                                 setting, {.batch = 64, .prompt_tokens = 2048});
  expect_near(point.ttft_ms, printed(text, "TTFT:"), "TTFT");
  expect_near(point.tpot_ms, printed(text, "TPOT:"), "TPOT");
  expect_near(point.request_ms(setting.lengths), printed(text, "Request Latency:"), "latency");
  expect_near(point.tokens_per_s, printed(text, "tokens/s:"), "tokens/s");
  expect_near(point.memory.total() / (1024.0 * 1024 * 1024), printed(text, "Memory (GPU):"),
              "memory");
}

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells_of(const std::string& line, char separator) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, separator);) {
    const std::size_t begin = cell.find_first_not_of(" \r");
    const std::size_t end = cell.find_last_not_of(" \r");
    cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
  }
  return cells;
}

std::vector<Row> csv_rows(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const auto names = cells_of(line, ',');
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const auto cells = cells_of(line, ',');
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i)
      row[names[i]] = cells[i];
  }
  return rows;
}

std::string cell_text(const model::Cell& cell) {
  return model::text(cell);
}

// Columns that are numbers within the tolerance, or equal texts; of the public file those that ours
// has. A figure of three places may be off by one in the last.
void compare_table(const model::Table& ours, const std::vector<Row>& theirs) {
  ASSERT_EQ(ours.row_count(), theirs.size()) << ours.name;
  for (std::size_t row = 0; row < theirs.size(); ++row) {
    for (std::size_t column = 0; column < ours.columns.size(); ++column) {
      const std::string& name = ours.columns[column].name;
      const auto found = theirs[row].find(name);
      if (found == theirs[row].end() || name == "model") continue;
      char* end = nullptr;
      const double value = std::strtod(found->second.c_str(), &end);
      const bool is_number = !found->second.empty() && *end == '\0';
      if (is_number) {
        EXPECT_NEAR(model::number(ours.at(row, column)), value,
                    std::max(kTolerance * std::abs(value), 0.00101))
            << ours.name << " row " << row << ": " << name;
      } else {
        EXPECT_EQ(cell_text(ours.at(row, column)), found->second)
            << ours.name << " row " << row << ": " << name;
      }
    }
  }
}

model::Book searched(const std::string& engine,
                     const std::string& version,
                     const serving::Model& model,
                     SearchAsked asked) {
  Measured measured = public_measured(engine, version);
  asked.setting.engine = *engine_named(engine);
  asked.setting.version = version;
  const auto found = search(model, asked, measured);
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  return search_book({.model = &model, .title = "", .system = "h200_sxm", .setting = asked.setting},
                     asked, found.value(), Columns::kPublic);
}

void compare_artifacts(const std::string& engine, const std::string& version) {
  const fs::path root = shared() / "golden/plan/artifacts" / ("out_" + engine) / "Qwen";
  const fs::path folder = *fs::directory_iterator(root);
  const serving::Model model = public_model("Qwen--Qwen3-32B-FP8");
  const SearchAsked asked{.setting = {.lengths = {.prompt = 4000, .output = 500}},
                          .gpus = 16,
                          .ttft_limit_ms = 1000,
                          .tpot_limit_ms = 20,
                          .most = 1};
  const model::Book book = searched(engine, version, model, asked);
  for (const std::string& mode : {std::string("agg"), std::string("disagg")}) {
    ASSERT_NE(book.find(mode), nullptr);
    compare_table(*book.find(mode), csv_rows(folder / mode / "best_config_topn.csv"));
    ASSERT_NE(book.find(mode + " pareto"), nullptr);
    auto frontier = csv_rows(folder / mode / "pareto.csv");
    compare_table(*book.find(mode + " pareto"), frontier);
  }
}

TEST_P(CompatGoldens, SearchesOfTensorRtLlm) {
  compare_artifacts("trtllm", "1.3.0rc23");
}

TEST_P(CompatGoldens, SearchesOfVllm) {
  compare_artifacts("vllm", "0.24.0");
}

TEST_P(CompatGoldens, SearchesOfSglang) {
  compare_artifacts("sglang", "0.5.16");
}

// The rows of a printed table that follows this title.
std::vector<Row> printed_rows(const std::string& text, const std::string& title) {
  std::stringstream stream(text.substr(text.find(title)));
  std::vector<std::string> names;
  std::vector<Row> rows;
  std::size_t rules = 0;
  for (std::string line; rules < 3 && std::getline(stream, line);) {
    if (line.starts_with("+")) ++rules;
    if (!line.starts_with("|")) continue;
    auto cells = cells_of(line.substr(1), '|');
    if (names.empty()) {
      names = cells;
      continue;
    }
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i)
      row[names[i]] = cells[i];
  }
  return rows;
}

double leading_number(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}

template <class Point>
void compare_printed(const Found<Point>& ours, const std::vector<Row>& theirs) {
  ASSERT_EQ(ours.picks.size(), theirs.size());
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const Pick& pick = ours.picks[i];
    const Row& row = theirs[i];
    const std::string& parallel =
        row.contains("parallel") ? row.at("parallel") : row.at("(d)parallel");
    EXPECT_TRUE(pick.offer.parallel.starts_with(parallel)) << parallel << pick.offer.parallel;
    expect_near(pick.cluster_tokens_per_s_per_gpu, leading_number(row.at("tokens/s/gpu")),
                parallel);
    expect_near(pick.offer.tokens_per_s_per_user, leading_number(row.at("tokens/s/user")),
                parallel);
    expect_near(pick.offer.ttft_ms, leading_number(row.at("TTFT")), parallel);
    // "32 (24=1x24)": 24 of 32 are used.
    const std::string& gpus = row.at("total_gpus (used)");
    EXPECT_EQ(pick.gpus(), leading_number(gpus.substr(gpus.find('(') + 1))) << parallel;
    EXPECT_EQ(pick.copies, leading_number(row.at("replicas"))) << parallel;
    EXPECT_EQ(pick.copies * pick.offer.concurrency, leading_number(row.at("concurrency")))
        << parallel;
  }
}

void compare_search(const std::string& file, const std::string& name, SearchAsked asked) {
  const std::string text = text_of_file(shared() / "golden/plan" / file);
  Measured measured = public_measured("trtllm", "1.3.0rc23");
  asked.setting.version = "1.3.0rc23";
  const auto found = search(public_model(name), asked, measured);
  ASSERT_TRUE(found.ok()) << found.error().message;
  compare_printed(found.value().aggregated, printed_rows(text, "agg Top Configurations"));
  compare_printed(found.value().disaggregated, printed_rows(text, "disagg Top Configurations"));
}

TEST_P(CompatGoldens, TheDefaultSearchOfADenseModel) {
  compare_search("head_default_qwen3-32b-fp8_h200_32.txt", "Qwen--Qwen3-32B-FP8", {.gpus = 32});
}

TEST_P(CompatGoldens, TheDefaultSearchOfDeepSeek) {
  compare_search("head_default_dsv3_h200_32.txt", "deepseek-v3", {.gpus = 32});
}

TEST_P(CompatGoldens, TheFewestGpusForALoad) {
  compare_search("head_recommend.txt", "qwen3-32b", {.load = Load{.requests_per_s = 50}});
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CompatGoldens);
INSTANTIATE_TEST_SUITE_P(Shared, CompatGoldens, testing::ValuesIn(CompatGoldens::roots()));

}  // namespace
}  // namespace assay::plan::compat
