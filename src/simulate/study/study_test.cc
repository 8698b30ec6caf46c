#include "simulate/study/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/output_file.h"
#include "simulate/study/study_report.h"

namespace assay::simulate {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kStudy = R"(
jobs:
  - {name: step, file: step.job.json, replicas: [1, 4]}
  - {name: ring, files: [ring8.goal, ring16.goal]}
networks:
  - {file: full.yaml}
  - {name: plain}
failures:
  - {name: none}
  - {name: slow, changes: [{switch: spine0, bandwidth: 50 %, at: 1 ms}]}
seeds: [1, 2]
options: {L: [1000, 2e3], intra-G: 0.003}
exclude:
  - {network: plain, failure: slow}
  - {network: plain, seed: [1, 2]}
only:
  - {job: step, size: 4}
  - {job: ring}
)";

Study study_of(const std::string& yaml) {
  return parse_study(yaml, "study.yaml", "folder").value();
}

std::string refused_study(const std::string& yaml) {
  const auto study = parse_study(yaml, "study.yaml", "");
  if (!study.ok()) return study.error().message;
  const auto tasks = combinations(study.value());
  return tasks.ok() ? "" : tasks.error().message;
}

TEST(Study, IsTheProductOfItsAxes) {
  const Study study = study_of(kStudy);
  EXPECT_THAT(study.axes, ElementsAre("job", "size", "network", "failure", "seed", "L", "intra-G"));
  const auto tasks = combinations(study).value();
  ASSERT_EQ(tasks.size(), 3U * 2 * 2 * 2);
  EXPECT_THAT(tasks.front().values, ElementsAre("step", "4", "full", "none", "1", "1000", "0.003"));
  EXPECT_EQ(tasks.front().file, "folder/step.job.json");
  EXPECT_EQ(tasks.front().replicas, 4U);
  EXPECT_EQ(tasks.front().network, "folder/full.yaml");
  EXPECT_EQ(tasks.front().seed, 1U);
  EXPECT_EQ(tasks.front().links.at("L"), 1000);
  EXPECT_FALSE(tasks.front().conditions.any());
  EXPECT_THAT(tasks.back().values,
              ElementsAre("ring", "ring16", "full", "slow", "2", "2e3", "0.003"));
  EXPECT_EQ(tasks.back().replicas, 0U);
  EXPECT_EQ(tasks.back().links.at("L"), 2000);
  EXPECT_EQ(tasks.back().conditions.changes.at(0).from_ns, 1'000'000);
}

TEST(Study, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(refused_study("networks: []"),
              HasSubstr("study.yaml: line 1: the file needs 'jobs'"));
  EXPECT_THAT(refused_study("jobs:\n  - {name: a}"),
              HasSubstr("line 2: a job needs one of 'file' and 'files'"));
  EXPECT_THAT(refused_study("jobs:\n  - {file: a.bin, replica: 2}"),
              HasSubstr("line 2: a job has no field 'replica'; did you mean replicas?"));
  EXPECT_THAT(refused_study("jobs: [{file: a.bin, replicas: [2, x]}]"),
              HasSubstr("'replicas' of a job has 'x', which is no count"));
  EXPECT_THAT(refused_study("jobs: [{files: [a.bin], replicas: 2, name: a}]"),
              HasSubstr("has 'files' and 'replicas'"));
  EXPECT_THAT(refused_study("jobs: [{files: [a.bin]}]"), HasSubstr("needs a 'name'"));
  EXPECT_THAT(refused_study("jobs: [{file: a.bin}, {file: b/a.bin}]"),
              HasSubstr("'a, ' is there twice"));
  const std::string job = "jobs: [{file: a.bin}]\n";
  EXPECT_THAT(refused_study(job + "network: x"), HasSubstr("did you mean networks?"));
  EXPECT_THAT(refused_study(job + "networks: [{file: n.yaml, bandwidth: 1}]"),
              HasSubstr("a network has no field 'bandwidth'"));
  EXPECT_THAT(refused_study(job + "collectives: [exact, costs]"),
              HasSubstr("has 'costs', which is neither exact nor cost"));
  EXPECT_THAT(refused_study(job + "seeds: [1, 1.5]"), HasSubstr("has '1.5'"));
  EXPECT_THAT(refused_study(job + "options: {L: -1}"), HasSubstr("has '-1', which is no number"));
  EXPECT_THAT(refused_study(job + "options: {l: 1}"), HasSubstr("has no field 'l'"));
  EXPECT_THAT(refused_study(job + "failures: [{name: x, changes: [{rank: 1}]}]"),
              HasSubstr("needs 'failed: true' or 'slower'"));
  EXPECT_THAT(refused_study(job + "exclude: [{netwrk: x}]"),
              AllOf(HasSubstr("names 'netwrk', which is no axis"), HasSubstr("job, size")));
  EXPECT_THAT(refused_study(job + "exclude: [{job: b}]"),
              HasSubstr("'job' has no value 'b'; there are a"));
  EXPECT_THAT(refused_study(job + "exclude: [{job: a}]"), HasSubstr("leave no task"));
  EXPECT_THAT(refused_study(job + "seeds: [1, 2]\nbaseline: {seed: [1, 2]}"),
              HasSubstr("several values of one axis"));
  EXPECT_THAT(refused_study("a: [1"), HasSubstr("study.yaml: line"));
}

TEST(Study, SaysWhatCannotBeSimulatedTogether) {
  const std::string job = "jobs: [{file: a.bin}]\nnetworks: [{name: plain}, {file: full.yaml}]\n";
  EXPECT_THAT(refused_study(job + "failures: [{name: x, noise: {latency: 1 us}}]"),
              HasSubstr("a failure needs a network with a 'file': leave this out by 'exclude': "
                        "{job: a, network: plain, failure: x}"));
  EXPECT_EQ(refused_study(job + "seeds: 3"), "");  // without a network it changes nothing
  EXPECT_THAT(refused_study(job + "collectives: [exact, cost]"),
              HasSubstr("{job: a, network: full, collectives: cost}"));
  EXPECT_THAT(refused_study(job + "compat: [atlahs]"), HasSubstr("knows no network"));
  std::string many = job + "seeds: [";
  for (int i = 0; i < 1000; ++i)
    many += std::to_string(i) + ",";
  many += "]\noptions: {L: [";
  for (int i = 0; i < 1000; ++i)
    many += std::to_string(i) + ",";
  EXPECT_THAT(refused_study(many + "]}"), HasSubstr("more than 100000 tasks"));
}

TEST(Study, KeysAreOfAllThatDecidesAResult) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "keys";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const char* text) {
    ASSERT_TRUE(core::write_file(folder / name, text).ok());
  };
  write("a.bin", "schedule");
  write("n.yaml", "{}");
  const auto key_of = [&](const std::string& more, const std::string& program = "assay 1") {
    const std::string yaml = "jobs: [{file: a.bin}]\nnetworks: [{file: n.yaml}]\n" + more;
    const auto tasks = plan_tasks(parse_study(yaml, "s.yaml", folder).value(), program);
    return tasks.ok() ? tasks.value().at(0).key : tasks.error().message;
  };
  const std::string key = key_of("");
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(key_of(""), key);
  EXPECT_EQ(key_of("failures: [{name: none}]"), key);  // a name decides nothing
  EXPECT_NE(key_of("seeds: 1"), key);
  EXPECT_NE(key_of("options: {L: 1}"), key);
  EXPECT_NE(key_of("", "assay 2"), key);
  EXPECT_NE(key_of("failures: [{name: x, changes: [{rank: 0, slower: 2}]}]"),
            key_of("failures: [{name: x, changes: [{rank: 0, slower: 3}]}]"));
  write("n.yaml", "{ }");
  EXPECT_NE(key_of(""), key);
  write("n.yaml", "{}");
  EXPECT_EQ(key_of(""), key);
  write("a.notes.json", "{}");
  EXPECT_NE(key_of(""), key);
  write("a.bin", "Schedule");
  EXPECT_NE(key_of(""), key);
  std::filesystem::remove(folder / "a.bin");
  EXPECT_THAT(key_of(""), AllOf(HasSubstr("s.yaml: cannot read '"), HasSubstr("a.bin'")));
}

TaskResult result_at(std::int64_t ranks, std::int64_t end_ns) {
  TaskResult result;
  result.ranks = ranks;
  result.end_ns = end_ns;
  return result;
}

TEST(StudyReport, ComparesEachTaskWithItsBaseline) {
  const Study study = study_of(
      "jobs: [{name: r, files: [a.bin, b.bin]}]\nnetworks: [{file: full.yaml}, {file: half.yaml}]");
  const auto tasks = combinations(study).value();
  std::vector<TaskResult> results{
      result_at(8, 1'000'000), result_at(8, 1'500'000), {}, result_at(16, 3'000'000)};
  results[2].error = "no way\nat all";
  const StudyOutcome outcome{study, tasks, results};
  EXPECT_EQ(outcome.failed(), 1U);
  const model::Table table = result_table(outcome);
  const auto at = [&](std::size_t row, const char* name) {
    return table.at(row, table.column(name).value());
  };
  EXPECT_EQ(model::number(at(1, "end")), 1.5);
  EXPECT_EQ(model::number(at(0, "ratio")), 1);
  EXPECT_EQ(model::number(at(1, "ratio")), 1.5);
  EXPECT_TRUE(std::isnan(model::number(at(2, "end"))));
  EXPECT_TRUE(std::isnan(model::number(at(3, "ratio"))));  // what it is compared with failed
  EXPECT_EQ(model::text(at(2, "error")), "no way");
  EXPECT_FALSE(table.column("contention").has_value());
  const auto figure = std::get<report::CurveFigure>(study_figure(outcome).value());
  ASSERT_EQ(figure.curves.size(), 2U);
  EXPECT_EQ(figure.curves[1].name, "half");
  EXPECT_EQ(figure.curves[1].points.at(1).x, 16);
  EXPECT_EQ(figure.curves[1].points.at(1).y, 3);
  EXPECT_THAT(study_page(outcome, table).answer.sentence,
              HasSubstr("1.5 times as long as with network full: 1.5 ms (size a, half)"));
}

TEST(StudyReport, ShowsFailuresAsMarksAndSeedsAsBands) {
  const Study study = study_of(
      "jobs: [{file: a.job.json, name: a, replicas: [1, 2]}]\nnetworks: [{file: n.yaml}]\n"
      "failures: [{name: none}, {name: cut, changes: [{rank: 0, slower: 2}]}]\nseeds: [1, 2, 3]");
  const auto tasks = combinations(study).value();
  std::vector<TaskResult> results;
  for (const StudyTask& task : tasks)
    results.push_back(result_at(task.replicas, static_cast<std::int64_t>(*task.seed) * 1'000'000));
  const StudyOutcome outcome{study, tasks, results};
  const auto figure = std::get<report::CurveFigure>(study_figure(outcome).value());
  ASSERT_EQ(figure.curves.size(), 2U);
  EXPECT_EQ(figure.curves[0].look, report::Curve::Look::kMeasured);
  EXPECT_EQ(figure.curves[1].look, report::Curve::Look::kMarks);
  EXPECT_EQ(figure.curves[1].color, figure.curves[0].color);
  EXPECT_EQ(figure.curves[0].points.at(0).y, 2);
  EXPECT_EQ(figure.curves[0].points.at(0).low, 1);
  EXPECT_EQ(figure.curves[0].points.at(0).high, 3);
}

TEST(StudyReport, OfOneSizeRanksWhatIsLonger) {
  const Study study = study_of("jobs: [{file: a.bin}]\noptions: {G: [0.04, 0.08]}");
  const auto tasks = combinations(study).value();
  const std::vector<TaskResult> results{result_at(8, 1'000'000), result_at(8, 1'900'000)};
  const StudyOutcome outcome{study, tasks, results};
  const auto figure = std::get<report::RankingFigure>(study_figure(outcome).value());
  EXPECT_EQ(figure.items.at(1).name, "G 0.08");
  EXPECT_NEAR(figure.items.at(1).value, 90, 1e-9);
}

}  // namespace
}  // namespace assay::simulate
