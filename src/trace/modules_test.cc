#include "trace/modules.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "trace/analysis.h"
#include "trace/recompute.h"
#include "trace/sheet.h"
#include "trace/small_trace_test_util.h"

namespace assay::trace {
namespace {

constexpr std::string_view kWrapped = "autograd::engine::evaluate_function: MmBackward0";

// A model of two layers on thread 1, its backward pass on thread 2, which first computes the second
// layer again.
testing::SmallTrace trained() {
  testing::SmallTrace small;
  small.python("nn.Module: Model_0", 1, 0, 100);
  small.python("model.py(1): forward", 1, 1, 98);
  small.python("nn.Module: Linear_0", 1, 10, 20);
  small.op({.name = "aten::mm", .start = 12, .duration = 10, .sequence = 1});
  small.launch("forward_0", 1, 14, 5);
  small.python("nn.Module: Linear_1", 1, 40, 20);
  small.op({.name = "aten::mm", .start = 42, .duration = 10, .sequence = 2});
  small.launch("forward_1", 1, 44, 7);
  small.op({.name = "aten::sum", .start = 70, .duration = 10, .sequence = 3});
  small.launch("sum", 1, 72, 1);

  small.op({.name = kWrapped, .thread = 2, .start = 200, .duration = 90, .sequence = 2});
  small.op({.name = "MmBackward0", .thread = 2, .start = 201, .duration = 80, .sequence = 2});
  small.python("nn.Module: Linear_1", 2, 205, 20);
  small.op({.name = "aten::mm", .thread = 2, .start = 207, .duration = 10, .sequence = 9});
  small.launch("forward_1", 2, 208, 7);
  small.op({.name = "aten::mm", .thread = 2, .start = 240, .duration = 10});
  small.launch("backward_1", 2, 242, 11);
  small.op({.name = kWrapped, .thread = 2, .start = 300, .duration = 50, .sequence = 1});
  small.op({.name = "aten::mm", .thread = 2, .start = 302, .duration = 20});
  small.launch("backward_0", 2, 304, 13);
  small.op({.name = "Optimizer.step", .thread = 1, .start = 400, .duration = 20});
  small.launch("adam", 1, 402, 3);
  return small;
}

double cell(const model::Table& table, std::size_t row, std::string_view column) {
  return model::number(table.at(row, *table.column(column)));
}

TEST(Modules, OwnTheKernelsOfBothPasses) {
  const model::Trace trace = trained().read();
  const model::Book book = individual_report(analyze_rank(trace, {}, 0));
  const model::Table* modules = book.find("modules");
  ASSERT_NE(modules, nullptr);
  ASSERT_EQ(modules->row_count(), 4U);
  EXPECT_EQ(model::text(modules->at(1, 0)), "Model_0/Linear_0");
  EXPECT_EQ(model::text(modules->at(2, 0)), "Model_0/Linear_1");
  EXPECT_EQ(model::text(modules->at(3, 0)), "(no module)");
  EXPECT_EQ(cell(*modules, 0, "own ms"), 0.001);
  EXPECT_DOUBLE_EQ(cell(*modules, 0, "total ms"), 0.044);
  EXPECT_EQ(cell(*modules, 1, "forward ms"), 0.005);
  EXPECT_EQ(cell(*modules, 1, "backward ms"), 0.013);
  EXPECT_EQ(cell(*modules, 2, "backward ms"), 0.011);
  EXPECT_EQ(cell(*modules, 2, "recompute ms"), 0.007);
  EXPECT_EQ(cell(*modules, 2, "calls"), 2);
  EXPECT_EQ(cell(*modules, 3, "own ms"), 0.003);
}

TEST(Modules, OfOneClassAreOneRow) {
  const model::Trace trace = trained().read();
  const model::Book book = individual_report(analyze_rank(trace, {}, 0));
  const model::Table* classes = book.find("modules_by_class");
  ASSERT_NE(classes, nullptr);
  ASSERT_EQ(classes->row_count(), 2U);
  EXPECT_EQ(model::text(classes->at(1, *classes->column("path"))), "Model/Linear");
  EXPECT_EQ(cell(*classes, 1, "modules"), 2);
  EXPECT_DOUBLE_EQ(cell(*classes, 1, "total ms"), 0.043);
}

TEST(Modules, ClassesAreNamesWithoutTheirNumber) {
  EXPECT_EQ(module_class("Linear_12"), "Linear");
  EXPECT_EQ(module_class("My_Layer"), "My_Layer");
  EXPECT_EQ(module_class("Layer_"), "Layer_");
}

TEST(Modules, NestedWithoutEndEndSomewhere) {
  testing::SmallTrace small;
  for (int i = 0; i < 500; ++i)
    small.python(fmt::format("nn.Module: M_{}", i), 1, i, 2000 - 2 * i);
  small.launch("k", 1, 600, 5);
  const model::Trace trace = small.read();
  const CallTree tree = build_call_tree(trace);
  const ModuleTree modules(trace, tree);
  EXPECT_EQ(modules.modules().size(), 64U);
  EXPECT_EQ(modules.of_node(0), 63U);
}

TEST(Modules, ATraceWithoutThemHasNoSheet) {
  testing::SmallTrace small;
  small.python("model.py(1): forward", 1, 0, 100);
  small.launch("k", 1, 10, 5);
  const model::Trace trace = small.read();
  EXPECT_TRUE(trace.python_calls.empty());
  EXPECT_EQ(individual_report(analyze_rank(trace, {}, 0)).find("modules"), nullptr);
}

TEST(Modules, OfTorchScriptAreNamedByOperators) {
  EXPECT_EQ(names_in_hierarchy("TOP(Net)::forward.fc1(Linear)::forward.aten::linear"),
            (std::vector<std::string>{"Net", "fc1(Linear)"}));
  EXPECT_EQ(names_in_hierarchy("TOP(Net)::forward.SELF(Net)::helper.0(Block)::forward"),
            (std::vector<std::string>{"Net", "0(Block)"}));
  EXPECT_EQ(names_in_stack("a.py(3): f;b.py(9): g"),
            (std::vector<std::string>{"b.py(9): g", "a.py(3): f"}));
  EXPECT_TRUE(names_in_hierarchy(".()::.((").empty());
  testing::SmallTrace small;
  small.op({.name = "aten::linear",
            .start = 10,
            .duration = 50,
            .arguments = R"("Module Hierarchy": "TOP(Net)::forward.fc1(Linear)::forward",
                            "Call stack": "net.py(3): forward;run.py(9): main")"});
  small.op({.name = "aten::addmm", .start = 12, .duration = 40});
  small.launch("gemm", 1, 14, 5);
  const model::Trace trace = small.read();
  const model::Book book = individual_report(analyze_rank(trace, {.call_stacks = true}, 0));
  const model::Table* modules = book.find("modules");
  ASSERT_NE(modules, nullptr);
  EXPECT_EQ(model::text(modules->at(1, 0)), "Net/fc1(Linear)");
  EXPECT_EQ(cell(*modules, 1, "own ms"), 0.005);
  const model::Table* stacks = book.find("call_stacks");
  ASSERT_NE(stacks, nullptr);
  EXPECT_EQ(model::text(stacks->at(0, *stacks->column("call stack"))),
            "net.py(3): forward; run.py(9): main");
}

TEST(CallStacks, AreThoseOfTheForwardPass) {
  testing::SmallTrace small = trained();
  small.python("<built-in method mm of type object at 0x7f>", 1, 11, 12);
  const model::Trace trace = small.read(LaunchFlows::kSkip, PythonCalls::kAll);
  const model::Book book = individual_report(analyze_rank(trace, {.call_stacks = true}, 0));
  const model::Table* stacks = book.find("call_stacks");
  ASSERT_NE(stacks, nullptr);
  ASSERT_EQ(stacks->row_count(), 5U);
  EXPECT_EQ(model::text(stacks->at(0, *stacks->column("call stack"))),
            "Linear_0; model.py(1): forward; Model_0");
  EXPECT_EQ(cell(*stacks, 0, "kernels"), 2);
  EXPECT_DOUBLE_EQ(cell(*stacks, 0, "time ms"), 0.018);
  // The layer that runs again has a stack of its own.
  EXPECT_EQ(model::text(stacks->at(2, *stacks->column("call stack"))), "Linear_1");
  EXPECT_EQ(model::text(stacks->at(3, 0)), "(none)");
  const model::Table& functions = *book.find("python_functions");
  EXPECT_EQ(model::text(functions.at(0, 0)), "Model_0");
  EXPECT_DOUBLE_EQ(cell(functions, 0, "total ms"), 0.037);
}

// Returns the summed time of recomputing kernels in microseconds.
double recompute_us(const RankAnalysis& rank) {
  const std::vector<Pass> passes = node_passes(*rank.trace, rank.tree);
  double sum = 0;
  for (std::size_t event = 0; event < rank.counted.size(); ++event)
    if (passes[rank.tree.launched_by[event]] == Pass::kRecompute) sum += rank.gpu_event_us(event);
  return sum;
}

TEST(Recompute, IsForwardWorkThatBackwardDoesAgain) {
  const model::Trace trace = trained().read();
  EXPECT_EQ(recompute_us(analyze_rank(trace, {}, 0)), 7);
}

// Where the function that recomputes is named, nothing else recomputes.
TEST(Recompute, IsNamedByCallStacks) {
  testing::SmallTrace small = trained();
  small.python("torch/utils/checkpoint.py(1500): recompute_fn", 2, 239, 15);
  const model::Trace trace = small.read();
  EXPECT_EQ(recompute_us(analyze_rank(trace, {}, 0)), 11);
}

// Re-entrant checkpoints run a whole backward pass inside of a backward operator.
TEST(Recompute, ABackwardPassInsideIsBackward) {
  testing::SmallTrace small;
  small.op({.name = "autograd::engine::evaluate_function: CheckpointFunctionBackward",
            .thread = 2,
            .start = 0,
            .duration = 100,
            .sequence = 5});
  small.python("nn.Module: Linear_3", 2, 9, 12);
  small.op({.name = "aten::mm", .thread = 2, .start = 10, .duration = 10, .sequence = 9});
  small.launch("again", 2, 12, 7);
  small.op({.name = kWrapped, .thread = 2, .start = 30, .duration = 50, .sequence = 9});
  small.op({.name = "MmBackward0", .thread = 2, .start = 31, .duration = 40, .sequence = 9});
  small.launch("backward", 2, 40, 11);
  const model::Trace trace = small.read();
  const RankAnalysis rank = analyze_rank(trace, {}, 0);
  EXPECT_EQ(recompute_us(rank), 7);
  const model::Book book = individual_report(rank);
  EXPECT_EQ(cell(*book.find("modules"), 0, "backward ms"), 0.011);
}

TEST(Recompute, IsToldApartWhenAskedFor) {
  const model::Trace trace = trained().read();
  EXPECT_EQ(individual_report(analyze_rank(trace, {}, 0)).find("recompute"), nullptr);
  const model::Book book = individual_report(analyze_rank(trace, {.detect_recompute = true}, 0));
  const model::Table* recompute = book.find("recompute");
  ASSERT_NE(recompute, nullptr);
  ASSERT_EQ(recompute->row_count(), 1U);
  EXPECT_EQ(model::text(recompute->at(0, 0)), "aten::mm");
  EXPECT_EQ(cell(*recompute, 0, "kernel time ms"), 0.007);
  const model::Table* timeline = book.find("gpu_timeline_recompute");
  ASSERT_NE(timeline, nullptr);
  EXPECT_EQ(cell(*timeline, 0, "time ms"), 0.040);
  EXPECT_EQ(cell(*timeline, 8, "time ms"), 0.007);
  // The same operator, once as forward and once again.
  const model::Table& operators = *book.find("ops_unique_args");
  const std::size_t column = *operators.column("is_recompute");
  int again = 0;
  for (std::size_t row = 0; row < operators.row_count(); ++row)
    if (model::text(operators.at(row, column)) == "True") ++again;
  EXPECT_EQ(again, 1);
}

// A product of the model that backward computes again, and one of backward itself, all of one
// shape.
TEST(Recompute, DividesEverySheetOfOperators) {
  constexpr std::string_view kShape =
      R"("Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"])";
  testing::SmallTrace small;
  small.op({.name = "aten::mm", .duration = 10, .sequence = 1, .arguments = kShape});
  small.launch("forward", 1, 2, 5);
  small.op({.name = kWrapped, .thread = 2, .start = 200, .duration = 90, .sequence = 1});
  small.op({.name = "aten::mm",
            .thread = 2,
            .start = 207,
            .duration = 10,
            .sequence = 9,
            .arguments = kShape});
  small.launch("again", 2, 208, 7);
  small.op({.name = "aten::mm", .thread = 2, .start = 240, .duration = 10, .arguments = kShape});
  small.launch("backward", 2, 242, 11);
  const model::Trace trace = small.read();
  const model::Book plain = individual_report(analyze_rank(trace, {}, 0));
  const model::Book book = individual_report(analyze_rank(trace, {.detect_recompute = true}, 0));
  const std::map<std::string, std::string> times = {
      {"GEMM", "Kernel Time (µs)_sum"},
      {"unified_perf_summary", "Kernel Time (µs)_sum"},
      {"ops_summary", "total_direct_kernel_time_sum"},
      {"ops_summary_by_category", "total_direct_kernel_time_ms"},
      {"ops_unique_args", "total_direct_kernel_time_sum"}};
  for (const auto& [name, time] : times) {
    ASSERT_NE(book.find(name), nullptr) << name;
    EXPECT_FALSE(plain.find(name)->column("is_recompute")) << name;
    const model::Table& table = *book.find(name);
    const double unit = time.ends_with("_ms") ? 1e-3 : 1;
    double again = 0;
    double others = 0;
    for (std::size_t row = 0; row < table.row_count(); ++row)
      (cell(table, row, "is_recompute") == 1 ? again : others) += cell(table, row, time);
    EXPECT_DOUBLE_EQ(again, 7 * unit) << name;
    EXPECT_DOUBLE_EQ(others, 16 * unit) << name;
  }
}

// The thread of backward may stand before that of the model.
TEST(Modules, AreThoseOfTheFirstPassWhenTheyAreCalledFromOutside) {
  testing::SmallTrace small;
  small.python("nn.Module: Layer_0", 1, 200, 50);
  small.python("nn.Module: Linear_0", 1, 210, 20);
  small.launch("again", 1, 212, 5);
  small.python("nn.Module: Model_0", 2, 0, 100);
  small.python("nn.Module: Layer_0", 2, 10, 50);
  small.python("nn.Module: Linear_0", 2, 20, 20);
  const model::Trace trace = small.read();
  const CallTree tree = build_call_tree(trace);
  const ModuleTree modules(trace, tree);
  ASSERT_EQ(modules.modules().size(), 3U);
  EXPECT_EQ(modules.path(modules.of_node(0)), "Model_0/Layer_0/Linear_0");
  EXPECT_EQ(modules.modules()[2].calls, 2);
}

}  // namespace
}  // namespace assay::trace
