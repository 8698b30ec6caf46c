// The C interface as other programs use it.
#include <assay/assay.h>
#include <assay/figures.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using testing::AllOf;
using testing::HasSubstr;

struct ResultFree {
  void operator()(assay_result* result) const { assay_result_free(result); }
};

using OwnedResult = std::unique_ptr<assay_result, ResultFree>;

struct Ended {
  int status = 0;
  OwnedResult result;
};

Ended run(const std::vector<const char*>& words, const assay_call* call = nullptr) {
  assay_result* result = nullptr;
  const int status = assay_run(words.data(), words.size(), call, &result);
  return {status, OwnedResult(result)};
}

// A record batch with its schema, taken from a stream and released at the end.
class Batch {
 public:
  explicit Batch(ArrowArrayStream& stream) {
    EXPECT_EQ(stream.get_schema(&stream, &schema_), 0);
    EXPECT_EQ(stream.get_next(&stream, &array_), 0);
    ArrowArray end;
    EXPECT_EQ(stream.get_next(&stream, &end), 0);
    EXPECT_EQ(end.release, nullptr);
    stream.release(&stream);
    EXPECT_EQ(stream.release, nullptr);
  }

  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  ~Batch() {
    array_.release(&array_);
    schema_.release(&schema_);
  }

  [[nodiscard]] std::int64_t rows() const { return array_.length; }

  [[nodiscard]] std::int64_t columns() const { return schema_.n_children; }

  [[nodiscard]] std::size_t place(std::string_view name) const {
    for (std::int64_t i = 0; i < schema_.n_children; ++i)
      if (schema_.children[i]->name == name) return static_cast<std::size_t>(i);
    ADD_FAILURE() << "no column " << name;
    return 0;
  }

  [[nodiscard]] std::string format(std::string_view name) const {
    return schema_.children[place(name)]->format;
  }

  template <class Number>
  [[nodiscard]] const Number* numbers(std::string_view name) const {
    return static_cast<const Number*>(array_.children[place(name)]->buffers[1]);
  }

  [[nodiscard]] bool is_null(std::string_view name, std::size_t row) const {
    const auto* bits = static_cast<const std::uint8_t*>(array_.children[place(name)]->buffers[0]);
    return bits != nullptr && ((bits[row / 8] >> (row % 8)) & 1) == 0;
  }

  [[nodiscard]] std::string text(std::string_view name, std::size_t row) const {
    if (is_null(name, row)) return "";
    const ArrowArray& column = *array_.children[place(name)];
    const auto code = static_cast<const std::int32_t*>(column.buffers[1])[row];
    const auto* ends = static_cast<const std::int32_t*>(column.dictionary->buffers[1]);
    const auto* bytes = static_cast<const char*>(column.dictionary->buffers[2]);
    return {bytes + ends[code], bytes + ends[code + 1]};
  }

  [[nodiscard]] std::map<std::string, std::string> metadata(std::string_view column) const {
    return unpacked(column.empty() ? schema_.metadata : schema_.children[place(column)]->metadata);
  }

 private:
  static std::map<std::string, std::string> unpacked(const char* packed) {
    std::map<std::string, std::string> pairs;
    if (packed == nullptr) return pairs;
    const auto number = [&] {
      std::int32_t value = 0;
      std::memcpy(&value, packed, sizeof value);
      packed += sizeof value;
      return value;
    };
    const auto text = [&] {
      const std::int32_t bytes = number();
      packed += bytes;
      return std::string(packed - bytes, packed);
    };
    for (std::int32_t left = number(); left > 0; --left) {
      std::string key = text();
      pairs[key] = text();
    }
    return pairs;
  }

  ArrowSchema schema_ = {};
  ArrowArray array_ = {};
};

Ended ask(assay_database* database, const assay_questions& questions) {
  assay_result* result = nullptr;
  const int status = assay_database_query(database, &questions, nullptr, &result);
  return {status, OwnedResult(result)};
}

Batch batch(const assay_result* result, std::size_t table = 0) {
  ArrowArrayStream stream;
  EXPECT_EQ(assay_result_table(result, table, &stream), ASSAY_OK);
  return Batch(stream);
}

struct DatabaseClose {
  void operator()(assay_database* database) const { assay_database_close(database); }
};

using Database = std::unique_ptr<assay_database, DatabaseClose>;

Database open(const std::string& name) {
  assay_database* database = nullptr;
  EXPECT_EQ(assay_database_open(name.c_str(), &database), ASSAY_OK) << assay_error();
  return Database(database);
}

// A small table whose answers are known: m from 1 to 64 of one weight, 0.1 ms for each m.
class Tables : public testing::Test {
 protected:
  Tables() {
    std::ofstream file(file_);
    file << "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n";
    for (const char* type : {"bfloat16", "fp8"})
      for (int m = 1; m <= 64; m *= 2)
        file << "a,1,d,gemm,source," << type << "," << m << ",512,1024,"
             << (type[0] == 'b' ? 0.2 : 0.1) * m << "\n";
  }

  const std::string file_ =
      (std::filesystem::temp_directory_path() / "library_test" / "gemm_perf.csv").string();

  static void SetUpTestSuite() {
    std::filesystem::create_directories(std::filesystem::temp_directory_path() / "library_test");
  }
};

TEST(Library, TellsItsVersionAndCommands) {
  EXPECT_THAT(assay_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(assay_commands(),
              AllOf(HasSubstr(R"("name":"trace report")"), HasSubstr(R"("--extrapolate")")));
}

TEST(Library, TellsWhichOptionsMayBeGivenAgain) {
  const std::string commands = assay_commands();
  EXPECT_THAT(commands, HasSubstr(R"("repeatable":true,"help":"sweep this variable)"));
  EXPECT_THAT(commands, HasSubstr(R"("repeatable":true,"help":"the ranks that FILE's)"));
  EXPECT_THAT(commands, HasSubstr(R"("repeatable":false,"help":"of the random order)"));
}

TEST(Library, WrongUsageIsAnErrorOfThisThread) {
  const Ended wrong = run({"store", "qery"});
  EXPECT_EQ(wrong.status, ASSAY_WRONG_USAGE);
  EXPECT_THAT(assay_error(), HasSubstr("did you mean"));
  std::thread([] { EXPECT_STREQ(assay_error(), ""); }).join();
  EXPECT_EQ(run({"version"}).status, ASSAY_OK);
  EXPECT_STREQ(assay_error(), "");
}

TEST(Library, NullIsAnError) {
  EXPECT_EQ(assay_run(nullptr, 1, nullptr, nullptr), ASSAY_WRONG_USAGE);
  EXPECT_EQ(run({"store", nullptr}).status, ASSAY_WRONG_USAGE);
  EXPECT_EQ(assay_database_open(nullptr, nullptr), ASSAY_WRONG_USAGE);
  EXPECT_EQ(assay_database_query(nullptr, nullptr, nullptr, nullptr), ASSAY_WRONG_USAGE);
  EXPECT_EQ(assay_surface_bind(nullptr, nullptr, nullptr, 0, nullptr), ASSAY_WRONG_USAGE);
  EXPECT_EQ(assay_surface_ask(nullptr, nullptr, 1, nullptr, nullptr), ASSAY_WRONG_USAGE);
  EXPECT_EQ(assay_result_table_count(nullptr), 0U);
  EXPECT_EQ(assay_result_exit_code(nullptr), 0);
  assay_result_free(nullptr);
  assay_database_close(nullptr);
  assay_surface_free(nullptr);
}

// A pointer that no function may leave as it is.
template <class Object>
Object* unset() {
  static char memory;
  return reinterpret_cast<Object*>(&memory);  // NOLINT: it is only compared
}

TEST(Library, WrongUsageSetsWhatIsToBeFreed) {
  const auto error_of = [](auto&& call) {
    auto* result = unset<assay_result>();
    EXPECT_EQ(call(&result), ASSAY_WRONG_USAGE);
    EXPECT_NE(result, unset<assay_result>());
    EXPECT_NE(result, nullptr);
    assay_result_free(result);
    EXPECT_THAT(assay_error(), HasSubstr("must not be null"));
  };
  error_of([](auto** result) { return assay_run(nullptr, 3, nullptr, result); });
  error_of([](auto** result) { return assay_database_columns(nullptr, nullptr, result); });
  error_of([](auto** result) { return assay_database_query(nullptr, nullptr, nullptr, result); });
  error_of(
      [](auto** result) { return assay_strategies_lookup(nullptr, nullptr, nullptr, result); });
  auto* database = unset<assay_database>();
  EXPECT_EQ(assay_database_open(nullptr, &database), ASSAY_WRONG_USAGE);
  EXPECT_EQ(database, nullptr);
  auto* surface = unset<assay_surface>();
  EXPECT_EQ(assay_surface_bind(nullptr, nullptr, nullptr, 0, &surface), ASSAY_WRONG_USAGE);
  EXPECT_EQ(surface, nullptr);
  auto* strategies = unset<assay_strategies>();
  EXPECT_EQ(assay_strategies_open(nullptr, nullptr, 0, &strategies), ASSAY_WRONG_USAGE);
  EXPECT_EQ(strategies, nullptr);
  ArrowArrayStream stream;
  std::memset(&stream, 1, sizeof stream);
  EXPECT_EQ(assay_result_table(nullptr, 0, &stream), ASSAY_WRONG_USAGE);
  EXPECT_EQ(stream.release, nullptr);
  int is_warning = -1;
  EXPECT_EQ(assay_result_message(nullptr, 0, &is_warning), nullptr);
  EXPECT_EQ(is_warning, 0);
}

TEST_F(Tables, NullColumnsAndSizesAreWrongUsage) {
  const Database database = open(file_);
  const assay_questions questions = {sizeof questions, "gemm", nullptr, 4, 0};
  EXPECT_EQ(ask(database.get(), questions).status, ASSAY_WRONG_USAGE);
  EXPECT_STREQ(assay_error(), "the questions' 4 columns are null");
  assay_surface* surface = nullptr;
  EXPECT_EQ(assay_surface_bind(database.get(), &questions, nullptr, 0, &surface),
            ASSAY_WRONG_USAGE);
  EXPECT_STREQ(assay_error(), "the questions' 4 columns are null");
  const assay_questions none = {sizeof none, "gemm", nullptr, 0, 0};
  const char* free_sizes[] = {nullptr};
  EXPECT_EQ(assay_surface_bind(database.get(), &none, free_sizes, 1, &surface), ASSAY_WRONG_USAGE);
  EXPECT_STREQ(assay_error(), "a free size is null");
  const double one = 1;
  const char* null_text = nullptr;
  const assay_column columns[] = {{"m", &one, nullptr, 1}, {"dtype", nullptr, &null_text, 1}};
  EXPECT_EQ(ask(database.get(), {sizeof none, "gemm", columns, 2, 0}).status, ASSAY_FOUND);
}

TEST_F(Tables, AStructureWithoutItsSizeIsWrongUsage) {
  const Database database = open(file_);
  const std::int32_t stop = 1;
  const double m = 1;
  const assay_column columns[] = {{"m", &m, nullptr, 1}};
  const assay_questions questions = {sizeof questions, "gemm", columns, 1, 0};
  for (const std::size_t size : {std::size_t{0}, sizeof(std::size_t), sizeof(assay_call) - 1}) {
    const assay_call call = {size, nullptr, nullptr, &stop};
    EXPECT_EQ(run({"store", "query", "gemm", file_.c_str(), "--m", "48"}, &call).status,
              ASSAY_WRONG_USAGE);
    EXPECT_THAT(assay_error(), HasSubstr("set it to sizeof(assay_call)"));
    assay_result* result = nullptr;
    EXPECT_EQ(assay_database_query(database.get(), &questions, &call, &result), ASSAY_WRONG_USAGE);
    EXPECT_NE(result, nullptr);
    assay_result_free(result);
  }
  for (const std::size_t size : {std::size_t{0}, offsetof(assay_questions, extrapolate)}) {
    const assay_questions cut = {size, "gemm", columns, 1, 0};
    EXPECT_EQ(ask(database.get(), cut).status, ASSAY_WRONG_USAGE);
    EXPECT_THAT(assay_error(), HasSubstr("set it to sizeof(assay_questions)"));
    assay_surface* surface = nullptr;
    EXPECT_EQ(assay_surface_bind(database.get(), &cut, nullptr, 0, &surface), ASSAY_WRONG_USAGE);
  }
}

TEST_F(Tables, ALaterVersionsLongerStructureIsRead) {
  struct {
    assay_call known;
    std::int64_t unknown;
  } later = {};

  const std::int32_t stop = 1;
  later.known.size = sizeof later;
  later.known.stop = &stop;
  EXPECT_EQ(run({"store", "query", "gemm", file_.c_str(), "--m", "48"}, &later.known).status,
            ASSAY_STOPPED);
}

TEST_F(Tables, NoTableHasAnEmptyName) {
  const Database database = open("h200_sxm");
  EXPECT_EQ(ask(database.get(), {sizeof(assay_questions), "", nullptr, 0, 0}).status, ASSAY_FAILED);
  const std::string error = assay_error();
  assay_result* listed = nullptr;
  EXPECT_EQ(assay_database_columns(database.get(), "", &listed), ASSAY_FAILED);
  EXPECT_EQ(assay_error(), error);
  EXPECT_EQ(assay_result_table_count(listed), 0U);
  assay_result_free(listed);
}

TEST_F(Tables, TheErrorSaysWhatWasFound) {
  const Database database = open(file_);
  const std::vector<double> m = {1, 64};
  const assay_column columns[] = {{"m", m.data(), nullptr, m.size()}};
  EXPECT_EQ(ask(database.get(), {sizeof(assay_questions), "gemm", columns, 1, 0}).status,
            ASSAY_FOUND);
  EXPECT_THAT(assay_error(), HasSubstr("2 of 2 questions are refused; question 0: gemm_perf: "
                                       "several kinds of rows are meant"));
  const std::string batch_file = file_ + ".batch";
  std::ofstream(batch_file) << "m,dtype\n100000,fp8\n";
  const Ended found = run({"store", "query", "gemm", file_.c_str(), "--batch", batch_file.c_str()});
  EXPECT_EQ(found.status, ASSAY_FOUND);
  EXPECT_STREQ(assay_error(), "a line of --batch has no answer");
}

TEST_F(Tables, ACommandGivesTheTableThatItPrints) {
  const Ended queried = run({"store", "query", "gemm", file_.c_str(), "--m", "48"});
  ASSERT_EQ(queried.status, ASSAY_OK) << assay_error();
  ASSERT_EQ(assay_result_table_count(queried.result.get()), 1U);
  EXPECT_STREQ(assay_result_table_name(queried.result.get(), 0), "gemm_perf");
  EXPECT_EQ(assay_result_table_name(queried.result.get(), 1), nullptr);
  const Batch answers = batch(queried.result.get());
  EXPECT_EQ(answers.rows(), 2);
  EXPECT_EQ(answers.format("latency"), "g");
  EXPECT_EQ(answers.text("gemm_dtype", 0), "bfloat16");
  EXPECT_EQ(answers.metadata("latency").at("unit"), "ms");
  EXPECT_EQ(answers.metadata("latency").at("better"), "lower");
  EXPECT_EQ(answers.metadata("").at("name"), "gemm_perf");
}

TEST_F(Tables, StreamsOfATableShareItsNumbersAndOutliveTheResult) {
  Ended queried = run({"store", "query", "gemm", file_.c_str(), "--m", "48"});
  const Batch first = batch(queried.result.get());
  const Batch second = batch(queried.result.get());
  EXPECT_EQ(first.numbers<double>("latency"), second.numbers<double>("latency"));
  const double latency = first.numbers<double>("latency")[0];
  queried.result.reset();
  EXPECT_EQ(second.numbers<double>("latency")[0], latency);
}

TEST_F(Tables, ColumnsOfQuestionsAreAnsweredInTheirOrder) {
  const Database database = open(file_);
  const std::vector<double> m = {64, 1, 1000, -1, 3};
  const double n = 512;
  const double k = 1024;
  const std::vector<const char*> types = {"fp8", "bfloat16", "fp8", "fp8", "int3"};
  const assay_column columns[] = {{"m", m.data(), nullptr, m.size()},
                                  {"n", &n, nullptr, 1},
                                  {"k", &k, nullptr, 1},
                                  {"dtype", nullptr, types.data(), types.size()}};
  const assay_questions questions = {sizeof questions, "gemm", columns, 4, 0};
  const Ended asked = ask(database.get(), questions);
  ASSERT_EQ(asked.status, ASSAY_FOUND) << assay_error();
  const Batch answers = batch(asked.result.get());
  ASSERT_EQ(answers.rows(), 5);
  EXPECT_DOUBLE_EQ(answers.numbers<double>("latency")[0], 6.4);
  EXPECT_DOUBLE_EQ(answers.numbers<double>("latency")[1], 0.2);
  EXPECT_EQ(answers.text("method", 0), "exact");
  EXPECT_EQ(answers.text("refused", 0), "");
  EXPECT_TRUE(answers.is_null("latency", 2));
  EXPECT_TRUE(std::isnan(answers.numbers<double>("latency")[2]));
  EXPECT_THAT(answers.text("refused", 2), HasSubstr("was measured from 1 to 64"));
  EXPECT_THAT(answers.text("refused", 3), HasSubstr("-1"));
  EXPECT_THAT(answers.text("refused", 4), HasSubstr("has no gemm_dtype 'int3'"));
}

TEST_F(Tables, NoQuestionsHaveNoAnswers) {
  const Database database = open(file_);
  const double nothing = 0;
  const assay_column columns[] = {{"m", &nothing, nullptr, 0}};
  const Ended asked = ask(database.get(), {sizeof(assay_questions), "gemm", columns, 1, 0});
  ASSERT_EQ(asked.status, ASSAY_OK) << assay_error();
  EXPECT_EQ(batch(asked.result.get()).rows(), 0);
}

TEST_F(Tables, WrongColumnsAreErrors) {
  const Database database = open(file_);
  const std::vector<double> three = {1, 2, 3};
  const std::vector<double> two = {1, 2};
  const double one = 1;
  const auto error = [&](const char* table, std::vector<assay_column> columns, int status) {
    const assay_questions questions = {sizeof questions, table, columns.data(), columns.size(), 0};
    EXPECT_EQ(ask(database.get(), questions).status, status);
    return std::string(assay_error());
  };
  const auto asked = [&](const std::vector<assay_column>& columns) {
    return error("gemm", columns, ASSAY_WRONG_USAGE);
  };
  EXPECT_THAT(asked({{"m", three.data(), nullptr, 3}, {"n", two.data(), nullptr, 2}}),
              HasSubstr("column 'n' has 2 values, but 'm' has 3"));
  EXPECT_THAT(asked({{"mm", &one, nullptr, 1}}), HasSubstr("no column 'mm'"));
  EXPECT_THAT(asked({{"dtype", nullptr, nullptr, 1}}), HasSubstr("either numbers or texts"));
  EXPECT_THAT(asked({{"n", &one, nullptr, 1}}), HasSubstr("needs m"));
  EXPECT_THAT(asked({{"m", &one, nullptr, 1}, {"m", &one, nullptr, 1}}),
              HasSubstr("m is given twice"));
  EXPECT_THAT(error("moe", {{"m", &one, nullptr, 1}}, ASSAY_FAILED), HasSubstr("moe_perf"));
}

TEST_F(Tables, ASurfaceAnswersLikeTheDatabase) {
  Database database = open(file_);
  const char* type = "fp8";
  const assay_column columns[] = {{"dtype", nullptr, &type, 1}};
  const assay_questions bound = {sizeof bound, "gemm", columns, 1, 0};
  const char* free_sizes[] = {"m"};
  assay_surface* surface = nullptr;
  ASSERT_EQ(assay_surface_bind(database.get(), &bound, free_sizes, 1, &surface), ASSAY_OK)
      << assay_error();
  const double one = 1;
  const assay_column twice[] = {{"m", &one, nullptr, 1}};
  const assay_questions bound_twice = {sizeof bound_twice, "gemm", twice, 1, 0};
  assay_surface* none = nullptr;
  EXPECT_EQ(assay_surface_bind(database.get(), &bound_twice, free_sizes, 1, &none),
            ASSAY_WRONG_USAGE);
  EXPECT_THAT(assay_error(), HasSubstr("column 'm' is bound, and a free size"));
  const char* one_size_twice[] = {"m", "m"};
  EXPECT_EQ(assay_surface_bind(database.get(), &bound, one_size_twice, 2, &none),
            ASSAY_WRONG_USAGE);
  EXPECT_STREQ(assay_error(), "the free size 'm' is given twice");
  // A size that is missing is wrong usage; a type that the table lacks is not.
  EXPECT_EQ(assay_surface_bind(database.get(), &bound, nullptr, 0, &none), ASSAY_WRONG_USAGE);
  EXPECT_THAT(assay_error(), HasSubstr("needs m"));
  const char* other_type = "nvfp4";
  const assay_column other[] = {{"dtype", nullptr, &other_type, 1}};
  const assay_questions bound_to_other = {sizeof bound_to_other, "gemm", other, 1, 0};
  EXPECT_EQ(assay_surface_bind(database.get(), &bound_to_other, free_sizes, 1, &none),
            ASSAY_FAILED);
  database.reset();
  const std::vector<double> m = {64, 0, 1e9, 1.5};
  std::vector<double> latency(m.size());
  std::vector<double> uncertainty(m.size());
  ASSERT_EQ(assay_surface_ask(surface, m.data(), m.size(), latency.data(), uncertainty.data()),
            ASSAY_OK);
  assay_surface_free(surface);
  EXPECT_DOUBLE_EQ(latency[0], 6.4);
  EXPECT_TRUE(std::isnan(uncertainty[0]));
  EXPECT_TRUE(std::isnan(latency[1]));
  EXPECT_TRUE(std::isnan(latency[2]));
  EXPECT_GT(latency[3], 0) << "a mean of sizes is one, too";
}

TEST_F(Tables, TheColumnsOfATableAreListed) {
  const Database database = open(file_);
  assay_result* listed = nullptr;
  ASSERT_EQ(assay_database_columns(database.get(), nullptr, &listed), ASSAY_OK) << assay_error();
  const OwnedResult result(listed);
  const Batch columns = batch(listed);
  bool found = false;
  for (std::size_t row = 0; row < static_cast<std::size_t>(columns.rows()); ++row) {
    if (columns.text("column", row) != "m") continue;
    found = true;
    EXPECT_EQ(columns.text("kind", row), "size");
    EXPECT_EQ(columns.numbers<double>("highest")[row], 64);
  }
  EXPECT_TRUE(found);
}

// A benchmark of two cells as the public microbenchmark writes it, with a strategy that is not
// ours.
class Figures : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(file_)
        << "world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,time (us)\n"
           "2,bfloat16,256,1,128,NCCL,NONE,10\n"
           "2,bfloat16,256,1,128,ONESHOT,NONE,4\n"
           "2,bfloat16,512,2,128,NCCL,NONE,10\n"
           "2,bfloat16,512,2,128,ONESHOT,NONE,20\n"
           "2,bfloat16,512,2,128,MNNVL,NONE,1\n";
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  using Function = int (*)(const char*, const char*, const char*, assay_result**);

  [[nodiscard]] Ended draw(Function function, const char* fusion, const char* name) const {
    assay_result* result = nullptr;
    const int status = function(file_.c_str(), fusion, (folder_ / name).c_str(), &result);
    return {status, OwnedResult(result)};
  }

  std::filesystem::path folder_ = [] {
    std::string made = (std::filesystem::temp_directory_path() / "figures-XXXXXX").string();
    return std::filesystem::path(mkdtemp(made.data()));
  }();
  std::filesystem::path file_ = folder_ / "times.csv";
};

TEST_F(Figures, AreDrawnAndTheBestStrategiesReturned) {
  EXPECT_EQ(draw(assay_visualize_2d_heatmap, nullptr, "heatmap.svg").status, ASSAY_OK)
      << assay_error();
  EXPECT_EQ(draw(assay_visualize_strategy_difference_heatmaps, "NONE", "diff.svg").status,
            ASSAY_OK);
  const Ended best = draw(assay_visualize_2d_best_strategy, "NONE", "best_strategy");
  EXPECT_EQ(best.status, ASSAY_OK);
  for (const char* name : {"heatmap.svg", "diff.svg", "best_strategy.png"})
    EXPECT_GT(std::filesystem::file_size(folder_ / name), 1000U) << name;
  EXPECT_THAT(assay_result_message(best.result.get(), 0, nullptr),
              HasSubstr("strategy MNNVL is not known here: rows left out"));
  ASSERT_EQ(assay_result_table_count(best.result.get()), 1U);
  ArrowArrayStream stream;
  ASSERT_EQ(assay_result_table(best.result.get(), 0, &stream), ASSAY_OK);
  const Batch batch(stream);
  EXPECT_EQ(batch.rows(), 2);
  EXPECT_EQ(batch.place("best_time"), 3U);
}

TEST_F(Figures, TellWhatIsWrong) {
  EXPECT_EQ(draw(assay_visualize_2d_heatmap, "NOTHING", "a.png").status, ASSAY_WRONG_USAGE);
  EXPECT_THAT(assay_error(), HasSubstr("there is no fusion 'NOTHING'; there are NONE, RESIDUAL"));
  EXPECT_EQ(draw(assay_visualize_2d_heatmap, "RESIDUAL_RMS_NORM", "a.png").status, ASSAY_FAILED);
  EXPECT_STREQ(assay_error(), "no time of the fusion RESIDUAL_RMS_NORM; there are times of NONE");
  EXPECT_EQ(draw(assay_visualize_2d_heatmap, "NONE", "a.pdf").status, ASSAY_FAILED);
  EXPECT_THAT(assay_error(), HasSubstr("a figure is a .png or a .svg"));
  EXPECT_EQ(assay_visualize_2d_heatmap(nullptr, nullptr, "a.png", nullptr), ASSAY_WRONG_USAGE);
  EXPECT_EQ(assay_visualize_2d_heatmap("/nowhere.csv", nullptr, "a.png", nullptr), ASSAY_FAILED);
  EXPECT_THAT(assay_error(), HasSubstr("/nowhere.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.png"));
}

TEST_F(Tables, ACallCanBeStopped) {
  const std::int32_t stop = 1;
  const assay_call call = {sizeof call, nullptr, nullptr, &stop};
  const Ended stopped = run({"store", "query", "gemm", file_.c_str(), "--m", "48"}, &call);
  EXPECT_EQ(stopped.status, ASSAY_STOPPED);
  EXPECT_STREQ(assay_error(), "interrupted");
}

// One of several kinds of calls, as text that must be the same each time.
class MixedCalls {
 public:
  MixedCalls(assay_database* database, std::string file)
      : database_(database), file_(std::move(file)) {}

  [[nodiscard]] std::string call(int number) const {
    switch (number % 5) {
      case 0:
        return columns();
      case 1:
        return command({"store", "query", "gemm", file_.c_str(), "--m", "48"});
      case 2:
        return command({"store", "query", "gemm", file_.c_str()});
      case 3:
        return surface();
      default:
        return command({"store", "qery"});
    }
  }

 private:
  [[nodiscard]] std::string columns() const {
    const std::vector<double> m = {64, 1000, 3};
    const char* type = "fp8";
    const assay_column asked[] = {{"m", m.data(), nullptr, 3}, {"dtype", nullptr, &type, 1}};
    const Ended ended = ask(database_, {sizeof(assay_questions), "gemm", asked, 2, 0});
    const Batch answers = batch(ended.result.get());
    return std::to_string(ended.status) + std::to_string(answers.numbers<double>("latency")[2]) +
           answers.text("refused", 1);
  }

  static std::string command(const std::vector<const char*>& words) {
    const Ended ended = run(words);
    std::string said = std::to_string(ended.status) + assay_error();
    if (assay_result_table_count(ended.result.get()) == 1)
      said += std::to_string(batch(ended.result.get()).numbers<double>("latency")[0]);
    return said;
  }

  [[nodiscard]] std::string surface() const {
    const char* type = "fp8";
    const assay_column column[] = {{"dtype", nullptr, &type, 1}};
    const assay_questions bound = {sizeof bound, "gemm", column, 1, 0};
    const char* free_sizes[] = {"m"};
    assay_surface* made = nullptr;
    if (assay_surface_bind(database_, &bound, free_sizes, 1, &made) != ASSAY_OK)
      return assay_error();
    const double m = 48;
    double latency = 0;
    assay_surface_ask(made, &m, 1, &latency, nullptr);
    assay_surface_free(made);
    return std::to_string(latency);
  }

  assay_database* database_;
  std::string file_;
};

// ASSAY_MIXED_CALLS=100000 makes as many calls.
TEST_F(Tables, AHundredThreadsGetTheSameAnswers) {
  const char* wanted = std::getenv("ASSAY_MIXED_CALLS");
  const int calls_of_thread = std::max(5, wanted == nullptr ? 0 : std::atoi(wanted) / 100);
  const Database database = open(file_);
  const MixedCalls mixed(database.get(), file_);
  std::vector<std::string> expected;
  for (int kind = 0; kind < 5; ++kind)
    expected.push_back(mixed.call(kind));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i) {
    threads.emplace_back([&, i] {
      for (int call = i; call < i + calls_of_thread; ++call)
        wrong += mixed.call(call) == expected[static_cast<std::size_t>(call % 5)] ? 0 : 1;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

struct StrategiesClose {
  void operator()(assay_strategies* strategies) const { assay_strategies_close(strategies); }
};

using Strategies = std::unique_ptr<assay_strategies, StrategiesClose>;

const std::string kBenchmarks = std::string(ASSAY_SOURCE_DIR) + "/samples/allreduce-h200";

Strategies open_strategies(const std::string& name, const std::vector<const char*>& options = {}) {
  assay_strategies* strategies = nullptr;
  EXPECT_EQ(assay_strategies_open(name.c_str(), options.data(), options.size(), &strategies),
            ASSAY_OK)
      << assay_error();
  return Strategies(strategies);
}

Ended look_up(assay_strategies* strategies, const std::vector<assay_column>& columns) {
  const assay_questions questions = {sizeof questions, nullptr, columns.data(), columns.size(), 0};
  assay_result* result = nullptr;
  const int status = assay_strategies_lookup(strategies, &questions, nullptr, &result);
  return {status, OwnedResult(result)};
}

const double kFour = 4;
const double kHidden = 7168;
const std::vector<double> kTokens = {1, 64, 100, 16384};

std::vector<assay_column> messages(const double* tp = &kFour) {
  return {{"tp", tp, nullptr, 1},
          {"hidden", &kHidden, nullptr, 1},
          {"tokens", kTokens.data(), nullptr, kTokens.size()}};
}

TEST(Strategies, AnswerAsTheCommandsDo) {
  const Strategies strategies = open_strategies(kBenchmarks);
  const Ended found = look_up(strategies.get(), messages());
  ASSERT_EQ(found.status, ASSAY_OK) << assay_error();
  const Batch rows = batch(found.result.get());
  ASSERT_EQ(rows.rows(), 4);
  for (std::size_t i = 0; i < kTokens.size(); ++i) {
    const std::string tokens = std::to_string(static_cast<int>(kTokens[i]));
    const Ended explained = run(
        {"allreduce", "explain", "4", "7168", tokens.c_str(), "--data_dir", kBenchmarks.c_str()});
    const Batch times = batch(explained.result.get(), 1);
    std::size_t chosen = 0;
    while (times.text("remark", chosen) != "chosen")
      ++chosen;
    EXPECT_EQ(rows.text("strategy", i), times.text("strategy", chosen));
    EXPECT_EQ(rows.numbers<double>("time")[i], times.numbers<double>("time")[chosen]);
    EXPECT_EQ(rows.numbers<double>("link limit")[i], times.numbers<double>("link limit")[chosen]);
    EXPECT_EQ(rows.text("time from", i), times.text("from", chosen));
  }
  EXPECT_EQ(rows.text("time from", 2), "between 64 and 128 tokens");
}

TEST(Strategies, SayWhatIsExtrapolated) {
  const double three = 3;
  const Ended found = look_up(open_strategies(kBenchmarks).get(), messages(&three));
  ASSERT_EQ(found.status, ASSAY_OK) << assay_error();
  const Batch rows = batch(found.result.get());
  EXPECT_EQ(rows.format("extrapolated"), "b");
  EXPECT_EQ(rows.numbers<std::uint8_t>("extrapolated")[0] & 0xF, 0xF);
  EXPECT_EQ(rows.text("origin", 0), "extrapolated from TP 4");
  EXPECT_EQ(rows.text("time from", 0), "extrapolated from TP 4");
}

TEST(Strategies, ATableByItselfKnowsNoTimes) {
  const Strategies strategies =
      open_strategies(kBenchmarks + "/gen_heuristic_code/allreduce_table.json");
  const Ended found = look_up(strategies.get(), messages());
  const Ended timed = look_up(open_strategies(kBenchmarks).get(), messages());
  const Batch rows = batch(found.result.get());
  const Batch with_times = batch(timed.result.get());
  EXPECT_EQ(rows.columns() + 4, with_times.columns());
  for (std::size_t i = 0; i < kTokens.size(); ++i)
    EXPECT_EQ(rows.text("strategy", i), with_times.text("strategy", i));
}

TEST(Strategies, OptionsAreThoseOfTheCommand) {
  const Ended graph = look_up(open_strategies(kBenchmarks).get(), messages());
  const Ended eager =
      look_up(open_strategies(kBenchmarks, {"--launch", "eager"}).get(), messages());
  EXPECT_LT(batch(graph.result.get()).numbers<double>("time")[0],
            batch(eager.result.get()).numbers<double>("time")[0]);
}

TEST(Strategies, WhatCannotBeOpenedIsAnError) {
  assay_strategies* strategies = nullptr;
  const auto error = [&](const std::string& name, std::vector<const char*> options, int status) {
    EXPECT_EQ(assay_strategies_open(name.c_str(), options.data(), options.size(), &strategies),
              status);
    EXPECT_EQ(strategies, nullptr);
    return std::string(assay_error());
  };
  const std::string json = kBenchmarks + "/gen_heuristic_code/allreduce_table.json";
  EXPECT_THAT(error("/nowhere", {}, ASSAY_FAILED), HasSubstr("cannot read '/nowhere'"));
  EXPECT_THAT(error(kBenchmarks + "/decode_step.tp4.csv", {}, ASSAY_FAILED), HasSubstr("no JSON"));
  EXPECT_THAT(error(kBenchmarks, {"--lunch", "eager"}, ASSAY_WRONG_USAGE),
              HasSubstr("did you mean '--launch'"));
  EXPECT_THAT(error(kBenchmarks, {"--sm_version", "80"}, ASSAY_FAILED), HasSubstr("only of SM 90"));
  EXPECT_THAT(error(kBenchmarks, {nullptr}, ASSAY_WRONG_USAGE), HasSubstr("null"));
  EXPECT_THAT(error(json, {"--launch", "eager"}, ASSAY_WRONG_USAGE), HasSubstr("is no folder"));
}

TEST(Strategies, WrongQuestionsAreErrors) {
  const Strategies strategies = open_strategies(kBenchmarks);
  const auto error = [&](const std::vector<assay_column>& columns) {
    EXPECT_EQ(look_up(strategies.get(), columns).status, ASSAY_WRONG_USAGE);
    return std::string(assay_error());
  };
  const auto with = [](const assay_column& more) {
    std::vector<assay_column> columns = messages();
    columns.push_back(more);
    return columns;
  };
  const char* word = "RMS";
  const double number = 0.5;
  const std::vector<double> three = {1, 2, 3};
  EXPECT_THAT(error({{"tp", &kFour, nullptr, 1}}), HasSubstr("lack the column 'hidden'"));
  EXPECT_THAT(error(with({"tokns", &number, nullptr, 1})), HasSubstr("did you mean 'tokens'"));
  EXPECT_THAT(error(with({"fusion", nullptr, &word, 1})), HasSubstr("'RMS' is not one of NONE"));
  EXPECT_THAT(error(with({"dtype", &number, nullptr, 1})), HasSubstr("takes texts"));
  EXPECT_THAT(error({{"tp", nullptr, &word, 1}}), HasSubstr("takes numbers"));
  EXPECT_THAT(error(with({"tp", &kFour, nullptr, 1})), HasSubstr("tp is given twice"));
  EXPECT_THAT(error(messages(&number)), HasSubstr("tp of question 0 is 0.5"));
  EXPECT_THAT(error({{"tokens", kTokens.data(), nullptr, kTokens.size()},
                     {"tp", three.data(), nullptr, 3}}),
              HasSubstr("column 'tp' has 3 values"));
}

TEST(Strategies, ALookupCanBeStopped) {
  const Strategies strategies = open_strategies(kBenchmarks);
  const std::vector<assay_column> columns = messages();
  const assay_questions questions = {sizeof questions, nullptr, columns.data(), columns.size(), 0};
  const std::int32_t stop = 1;
  const assay_call call = {sizeof call, nullptr, nullptr, &stop};
  assay_result* result = nullptr;
  EXPECT_EQ(assay_strategies_lookup(strategies.get(), &questions, &call, &result), ASSAY_STOPPED);
  EXPECT_EQ(assay_result_table_count(result), 0U);
  assay_result_free(result);
}

TEST(Strategies, ThreadsGetEqualAnswers) {
  const Strategies strategies = open_strategies(kBenchmarks);
  const double three = 3;
  const auto asked = [&] {
    std::string said;
    for (const double* tp : {&kFour, &three}) {
      const Ended found = look_up(strategies.get(), messages(tp));
      const Batch rows = batch(found.result.get());
      for (std::size_t i = 0; i < kTokens.size(); ++i)
        said += rows.text("strategy", i) + std::to_string(rows.numbers<double>("time")[i]);
    }
    return said;
  };
  const std::string expected = asked();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] { wrong += asked() == expected ? 0 : 1; });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
