#include "plan/compat/report.h"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace assay::plan::compat {
namespace {

using model::Better;
using model::Cell;
using model::Table;

constexpr double kBytesPerGib = 1024.0 * 1024 * 1024;

Table operators_table(const char* name,
                      const std::string& title,
                      const std::vector<OperatorTime>& times) {
  Table table{.name = name,
              .title = title,
              .columns = {{.name = "operator"},
                          {.name = "time", .unit = "ms", .better = Better::kLower},
                          {.name = "share", .unit = "%"}}};
  const double sum = sum_ms(times);
  for (const OperatorTime& one : times) {
    if (one.ms > 0) table.add_row({one.name, one.ms, 100 * one.ms / sum});
  }
  return table;
}

void add_memory(Table& table, const char* phase, const MemoryParts& memory) {
  table.add_row({phase, memory.weights / kBytesPerGib, memory.cache / kBytesPerGib,
                 memory.activations / kBytesPerGib, memory.collectives / kBytesPerGib,
                 memory.others / kBytesPerGib, memory.total() / kBytesPerGib});
}

Table memory_table() {
  return {.name = "memory",
          .title = "Memory of a GPU",
          .columns = {{.name = "worker"},
                      {.name = "weights", .unit = "GiB"},
                      {.name = "cache", .unit = "GiB"},
                      {.name = "activations", .unit = "GiB"},
                      {.name = "collectives", .unit = "GiB"},
                      {.name = "others", .unit = "GiB"},
                      {.name = "total", .unit = "GiB"}}};
}

core::Error unknown_operator(const std::vector<OperatorTime>& times) {
  for (const OperatorTime& one : times) {
    if (!std::isfinite(one.ms))
      return core::Error{fmt::format("no row of the public tables answers for {}", one.name)};
  }
  return core::Error{"no row of the public tables answers at this size"};
}

// Request rates, TTFT and TPOT of a batch that begins and ends together.
void add_static(Table& table,
                const EstimateAsked& asked,
                const Lengths& lengths,
                double prompt_ms,
                double decode_ms) {
  const auto further = static_cast<double>(lengths.output - 1);
  const double requests = static_cast<double>(asked.batch * asked.worker.dp);
  const double rate = requests / (prompt_ms + decode_ms) * 1000;
  const double tokens = rate * static_cast<double>(lengths.output);
  table.add_row({"static", prompt_ms, further > 0 ? Cell(decode_ms / further) : Cell(),
                 prompt_ms + decode_ms, rate, tokens,
                 tokens / static_cast<double>(asked.worker.gpus())});
}

}  // namespace

core::Result<model::Book> estimate_book(const Named& named,
                                        const EstimateAsked& asked,
                                        Measured& measured) {
  const serving::Model& served = *named.model;
  const Setting& setting = named.setting;
  const Lengths& lengths = setting.lengths;
  const SystemFacts& facts = measured.facts();
  const Operators operators =
      ASSAY_TRY(operators_of(served, asked.worker, setting.engine, measured));
  const auto prompts = prompt_times(operators, asked.batch, lengths);
  const auto decodes = decode_times(operators, asked.batch, lengths);
  if (!std::isfinite(sum_ms(prompts))) return unknown_operator(prompts);
  if (!std::isfinite(sum_ms(decodes))) return unknown_operator(decodes);
  const AggregatedPoint aggregated = aggregated_point(
      served, asked.worker, operators, facts, setting,
      {.batch = asked.batch,
       .prompt_tokens = asked.prompt_tokens == 0 ? lengths.prompt : asked.prompt_tokens});
  Table figures{.name = "estimate",
                .title = named.title,
                .columns = {{.name = "batching"},
                            {.name = "TTFT", .unit = "ms", .better = Better::kLower},
                            {.name = "TPOT", .unit = "ms", .better = Better::kLower},
                            {.name = "request latency", .unit = "ms", .better = Better::kLower},
                            {.name = "requests", .unit = "1/s", .better = Better::kHigher},
                            {.name = "tokens/s", .better = Better::kHigher},
                            {.name = "tokens/s per GPU", .better = Better::kHigher}}};
  add_static(figures, asked, lengths, sum_ms(prompts), sum_ms(decodes));
  figures.add_row(
      {"aggregated", model::cell_of(aggregated.ttft_ms), model::cell_of(aggregated.tpot_ms),
       model::cell_of(aggregated.request_ms(lengths)), model::cell_of(aggregated.requests_per_s),
       model::cell_of(aggregated.tokens_per_s), model::cell_of(aggregated.tokens_per_s_per_gpu())});
  Table memory = memory_table();
  const auto memory_with = [&](std::int64_t tokens, std::int64_t request_tokens) {
    return memory_of(served, asked.worker, setting.engine, operators, facts,
                     {.tokens = tokens, .requests = asked.batch, .request_tokens = request_tokens});
  };
  const std::int64_t all_new = asked.batch * (lengths.prompt - lengths.prefix);
  const std::int64_t whole = lengths.prompt + lengths.output;
  add_memory(memory, "static", memory_with(all_new, whole));
  add_memory(memory, "prompts only", memory_with(all_new, lengths.prompt + 1));
  add_memory(memory, "decoding only", memory_with(asked.batch, whole));
  add_memory(memory, "aggregated", aggregated.memory);
  model::Book book{.title = named.title};
  book.tables.push_back(std::move(figures));
  book.tables.push_back(operators_table("context", "All prompts at once", prompts));
  book.tables.push_back(operators_table("generation", "All steps that decode", decodes));
  book.tables.push_back(std::move(memory));
  return book;
}

namespace {

std::string copies_text(std::int64_t each, std::int64_t copies) {
  return fmt::format("{} (={}x{})", each * copies, each, copies);
}

std::string short_parallel(const Worker& worker, bool has_experts) {
  return has_experts ? parallel_name(worker) : fmt::format("tp{}pp1", worker.tp);
}

// Columns with the cells of a row, so that each is told once.
class RowMaker {
 public:
  void add(const char* name, Cell value) {
    names_.emplace_back(name);
    cells_.push_back(std::move(value));
  }

  void add_to(Table& table) const {
    if (table.columns.empty()) {
      for (const std::string& name : names_)
        table.columns.push_back({.name = name});
    }
    table.add_row(cells_);
  }

 private:
  std::vector<std::string> names_;
  std::vector<Cell> cells_;
};

std::string text_of_type(Quantization quantization) {
  return std::string(name_of(quantization));
}

void add_lengths(RowMaker& row, const Named& named) {
  row.add("model", named.model->name);
  row.add("isl", named.setting.lengths.prompt);
  row.add("osl", named.setting.lengths.output);
  row.add("prefix", named.setting.lengths.prefix);
}

void add_worker(RowMaker& row, const std::string& before, const Worker& worker) {
  row.add((before + "tp").c_str(), worker.tp);
  row.add((before + "pp").c_str(), std::int64_t{1});
  row.add((before + "dp").c_str(), worker.dp);
  row.add((before + "moe_tp").c_str(), worker.moe_tp);
  row.add((before + "moe_ep").c_str(), worker.moe_ep);
  if (before != "(d)") row.add((before + "cp").c_str(), std::int64_t{1});
  row.add((before + "parallel").c_str(), parallel_name(worker));
}

void add_precision(RowMaker& row, const std::string& before, const Named& named) {
  const serving::Precision precision = assumed_precision(named.setting.engine, *named.model);
  row.add((before + "gemm").c_str(), text_of_type(precision.linear));
  row.add((before + "kvcache").c_str(), text_of_type(precision.cache));
  // Where prompts are not computed, the type of attention to them is the checkpoint's.
  const Quantization attention = before == "(d)" ? precision.cache : named.attention;
  row.add((before + "fmha").c_str(), text_of_type(attention));
  row.add((before + "moe").c_str(), text_of_type(precision.experts));
  row.add((before + "comm").c_str(), std::string("half"));
}

void add_origin(RowMaker& row, const std::string& before, const Named& named) {
  row.add((before + "backend").c_str(), std::string(name_of(named.setting.engine)));
  row.add((before + "version").c_str(), named.setting.version);
  row.add((before + "system").c_str(), named.system);
}

RowMaker public_row(const Named& named, const AggregatedPoint& point, const Pick& pick) {
  const Lengths& lengths = named.setting.lengths;
  const auto gpus = static_cast<double>(point.worker.gpus());
  const double prompts = point.batch == 1 ? 1
                                          : std::ceil(static_cast<double>(point.prompt_tokens) /
                                                      static_cast<double>(lengths.prompt));
  const double decodes = point.batch == 1 ? 1 : static_cast<double>(point.batch) - prompts;
  const auto tokens = static_cast<double>(point.prompt_tokens);
  RowMaker row;
  add_lengths(row, named);
  row.add("concurrency", pick.offer.concurrency);
  row.add("request_rate", rounded(point.requests_per_s));
  row.add("bs", point.batch);
  row.add("global_bs", point.batch * point.worker.dp);
  row.add("ttft", rounded(point.ttft_ms));
  row.add("tpot", rounded(point.tpot_ms));
  row.add("request_latency", rounded(point.request_ms(lengths)));
  row.add("encoder_latency", std::int64_t{0});
  row.add("encoder_memory", std::int64_t{0});
  row.add("seq/s", rounded(point.requests_per_s));
  row.add("seq/s/gpu", rounded(point.requests_per_s / gpus));
  row.add("tokens/s", rounded(point.tokens_per_s));
  row.add("tokens/s/gpu", rounded(point.tokens_per_s_per_gpu()));
  row.add("tokens/s/user", pick.offer.tokens_per_s_per_user);
  row.add("num_total_gpus", point.worker.gpus());
  add_worker(row, "", point.worker);
  add_precision(row, "", named);
  row.add("memory", rounded(point.memory.total() / kBytesPerGib));
  row.add("balance_score", rounded(static_cast<double>(lengths.prompt * point.batch) / tokens /
                                   static_cast<double>(lengths.output)));
  row.add("num_ctx_reqs", prompts);
  row.add("num_gen_reqs", decodes);
  row.add("num_tokens", point.batch == 1 ? tokens : tokens + decodes);
  row.add("ctx_tokens", point.prompt_tokens);
  row.add("gen_tokens", decodes);
  add_origin(row, "", named);
  row.add("tokens/s/gpu_cluster", rounded(pick.cluster_tokens_per_s_per_gpu));
  return row;
}

void add_phase(RowMaker& row,
               const std::string& before,
               const Named& named,
               const PhaseWorker& worker) {
  add_worker(row, before, worker.worker);
  add_precision(row, before, named);
  row.add((before + "memory").c_str(), worker.memory_gib);
  add_origin(row, before, named);
}

RowMaker public_row(const Named& named, const DisaggregatedPoint& point, const Pick& pick) {
  const Lengths& lengths = named.setting.lengths;
  const double tokens = point.requests_per_s * static_cast<double>(lengths.output);
  const double further = static_cast<double>(lengths.output - 1);
  RowMaker row;
  add_lengths(row, named);
  row.add("concurrency", pick.offer.concurrency);
  row.add("request_rate", rounded(point.requests_per_s));
  row.add("(p)bs", point.prompts.batch);
  row.add("(p)global_bs", point.prompts.batch * point.prompts.worker.dp);
  row.add("(p)workers", point.prompt_workers);
  row.add("(d)bs", point.decodes.batch);
  row.add("(d)global_bs", point.decodes.batch * point.decodes.worker.dp);
  row.add("(d)workers", point.decode_workers);
  row.add("ttft", rounded(point.ttft_ms));
  row.add("tpot", point.decodes.tpot_ms);
  row.add("request_latency", rounded(point.ttft_ms + point.decodes.tpot_ms * further));
  row.add("encoder_latency", std::int64_t{0});
  row.add("seq/s", rounded(point.requests_per_s));
  row.add("seq/s/gpu", rounded(point.requests_per_s / static_cast<double>(point.gpus())));
  row.add("tokens/s", rounded(tokens));
  row.add("tokens/s/gpu", pick.offer.tokens_per_s_per_gpu);
  row.add("tokens/s/user", point.decodes.tokens_per_s_per_user);
  row.add("(p)seq/s/worker", point.prompts.requests_per_s);
  row.add("(d)seq/s/worker", point.decodes.requests_per_s);
  row.add("num_total_gpus", point.gpus());
  add_phase(row, "(p)", named, point.prompts);
  add_phase(row, "(d)", named, point.decodes);
  row.add("tokens/s/gpu_cluster", rounded(pick.cluster_tokens_per_s_per_gpu));
  return row;
}

void add_short(RowMaker& row, const Pick& pick) {
  row.add("tokens/s/gpu", pick.cluster_tokens_per_s_per_gpu);
  row.add("tokens/s/user", pick.offer.tokens_per_s_per_user);
  row.add("req/s", pick.offer.requests_per_s * static_cast<double>(pick.copies));
  row.add("TTFT ms", pick.offer.ttft_ms);
  row.add("TPOT ms", pick.offer.tpot_ms);
  row.add("concurrency", copies_text(pick.offer.concurrency, pick.copies));
  row.add("GPUs", copies_text(pick.offer.gpus, pick.copies));
}

RowMaker short_row(const Named& named, const AggregatedPoint& point, const Pick& pick) {
  RowMaker row;
  add_short(row, pick);
  row.add("parallel", short_parallel(point.worker, named.model->has_experts()));
  row.add("bs", point.batch);
  return row;
}

std::string pool_text(std::int64_t workers, const PhaseWorker& worker, bool has_experts) {
  return fmt::format("{} x {}", workers, short_parallel(worker.worker, has_experts));
}

RowMaker short_row(const Named& named, const DisaggregatedPoint& point, const Pick& pick) {
  const bool has_experts = named.model->has_experts();
  RowMaker row;
  add_short(row, pick);
  row.add("prompts on", pool_text(point.prompt_workers, point.prompts, has_experts));
  row.add("decoding on", pool_text(point.decode_workers, point.decodes, has_experts));
  row.add("bs", point.decodes.batch);
  return row;
}

template <class Point>
Table picks_table(const Named& named,
                  const char* name,
                  const std::string& title,
                  const std::vector<Point>& points,
                  const std::vector<Pick>& picks,
                  Columns columns) {
  Table table{.name = name, .title = title, .columns = {}};
  for (const Pick& pick : picks) {
    const Point& point = points[pick.offer.place];
    const RowMaker row = columns == Columns::kPublic ? public_row(named, point, pick)
                                                     : short_row(named, point, pick);
    row.add_to(table);
  }
  return table;
}

Table left_out_table(const std::vector<LeftOut>& left_out) {
  std::map<std::string, std::pair<std::string, std::int64_t>> reasons;
  for (const LeftOut& one : left_out) {
    auto& [first, count] = reasons[one.reason];
    if (count++ == 0) first = one.worker.text();
  }
  Table table{.name = "left out",
              .title = "Workers that are left out",
              .columns = {{.name = "workers"}, {.name = "the first"}, {.name = "why"}}};
  for (const auto& [reason, workers] : reasons)
    table.add_row({workers.second, workers.first, reason});
  return table;
}

}  // namespace

model::Book search_book(const Named& named,
                        const SearchAsked& asked,
                        const SearchFound& found,
                        Columns columns) {
  Named priced = named;
  priced.attention = found.attention;
  model::Book book{.title = named.title};
  const std::string limits =
      fmt::format("TTFT <= {:g} ms and TPOT <= {:g} ms", asked.ttft_limit_ms, asked.tpot_limit_ms);
  const auto add = [&](const auto& part, const char* best, const char* all, const char* what) {
    if (part.picks.empty()) {
      if (!book.tables.empty())
        book.tables.front().notes.push_back(fmt::format("{}: none has {}", what, limits));
      return;
    }
    const bool keeps = part.picks.front().offer.tpot_ms <= asked.tpot_limit_ms;
    const std::string count = fmt::format("{}", part.offers.size());
    const std::string title = keeps
                                  ? fmt::format("{}, the best of {} with {}", what, count, limits)
                                  : fmt::format("{}, the nearest of {} to {}", what, count, limits);
    book.tables.push_back(picks_table(priced, best, title, part.points, part.picks, columns));
    book.tables.push_back(picks_table(priced, all,
                                      fmt::format("{}, the frontier of throughput and speed", what),
                                      part.points, part.frontier, columns));
  };
  add(found.aggregated, "agg", "agg pareto", "Aggregated");
  add(found.disaggregated, "disagg", "disagg pareto", "Disaggregated");
  if (!found.left_out.empty()) book.tables.push_back(left_out_table(found.left_out));
  return book;
}

}  // namespace assay::plan::compat
