#include "store/answers/latent_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/text.h"
#include "model/serving/uses.h"
#include "store/answers/use_families.h"
#include "store/files/table_spec.h"

namespace assay::store {
namespace {

using serving::Amount;
using serving::OperatorUse;
using serving::Phase;
using serving::Quantization;

// The planner knows the heads of a block by the name of its model, and knows few names.
constexpr std::string_view kModel = "deepseek-ai/DeepSeek-V3";
constexpr std::string_view kArchitecture = "DeepseekV3ForCausalLM";

constexpr std::array kBlockWeights = {Quantization::kBfloat16, Quantization::kFp8,
                                      Quantization::kFp8Block};
constexpr std::array kBlockCaches = {Quantization::kBfloat16, Quantization::kFp8};

using Indices = std::map<std::string, WorkIndex>;

// A kernel of the block, and the rows that answer for it.
struct BlockKernel {
  OperatorUse use;
  UseFamily bound;
  const Family* family = nullptr;
  bool is_attention = false;
};

struct BlockPoint {
  std::int64_t requests = 1;
  std::int64_t new_tokens = 1;  // of a request
  std::int64_t cached = 0;      // of a request
};

struct BlockSum {
  double latency = 0;   // ms
  double variance = 0;  // ms squared
  double joules = 0;    // in units of W ms, of the kernels whose power is known
  double known = 0;     // ms of these
};

struct BlockTypes {
  Phase phase;
  Quantization weights;
  Quantization cache;
  Quantization attention = Quantization::kBfloat16;  // as rows name it
};

double amount_of(Amount amount, const BlockPoint& point) {
  switch (amount) {
    case Amount::kRequests:
      return static_cast<double>(point.requests);
    case Amount::kNewTokens:
      return static_cast<double>(point.new_tokens);
    case Amount::kCachedTokens:
      return static_cast<double>(point.cached);
    case Amount::kTokens:
    case Amount::kExpertTokens:
      break;
  }
  return static_cast<double>(point.requests * point.new_tokens);
}

// Null unless some layer has latent attention.
const serving::LatentAttention* latent_attention_of(const serving::Model& model) {
  for (const serving::EqualLayers& equal : model.layers) {
    const auto* latent = std::get_if<serving::LatentAttention>(&equal.layer.mixer);
    if (latent != nullptr) return latent;
  }
  return nullptr;
}

// The kernels of a block with so many heads; empty if a table has no rows for one of them.
std::vector<BlockKernel> kernels_of(const serving::Model& model,
                                    const BlockTypes& types,
                                    std::int64_t heads,
                                    const Indices& indices) {
  serving::LatentAttention latent = *latent_attention_of(model);
  latent.heads = heads;
  const serving::Deployment deployment{
      .precision = {.linear = types.weights, .cache = types.cache}};
  std::vector<BlockKernel> kernels;
  for (OperatorUse& use :
       serving::uses_of_layer(model, {latent, serving::NoFeedForward{}}, deployment, types.phase)) {
    if (use.op == "add_rms_norm") continue;  // it stands before the block
    const auto index = indices.find(use.table);
    if (index == indices.end()) return {};
    std::vector<UseFamily> found = families_of(use, index->second.rows());
    if (found.empty()) return {};
    const auto exact = std::find_if(found.begin(), found.end(),
                                    [](const UseFamily& family) { return family.has_key; });
    UseFamily& best = exact == found.end() ? found.front() : *exact;
    const Family& family = index->second.family(best.family);
    const bool is_attention = use.op == "context_mla" || use.op == "generation_mla";
    kernels.push_back({.use = std::move(use),
                       .bound = std::move(best),
                       .family = &family,
                       .is_attention = is_attention});
  }
  return kernels;
}

WorkEstimate estimate_of(const BlockKernel& kernel, const BlockPoint& point) {
  std::vector<double> sizes = kernel.bound.sizes;
  for (std::size_t i = 0; i < kernel.use.sizes.size(); ++i) {
    const serving::SizeField& field = kernel.use.sizes[i];
    if (kernel.bound.places[i] == kNoSize) continue;
    sizes[kernel.bound.places[i]] =
        amount_of(field.amount, point) * static_cast<double>(field.factor);
  }
  return kernel.family->at(sizes, Beyond::kRefuse);
}

// Past the measured tokens a kernel is taken to draw what it draws with half as many requests.
std::optional<double> watts_at(const BlockKernel& kernel, BlockPoint point) {
  while (true) {
    const auto power = kernel.family->power(estimate_of(kernel, point));
    if (power) return power->watts;
    if (point.requests == 1) return std::nullopt;
    point.requests /= 2;
  }
}

// std::nullopt where a kernel has no answer.
std::optional<BlockSum> sum_at(const std::vector<BlockKernel>& kernels, const BlockPoint& point) {
  BlockSum sum;
  for (const BlockKernel& kernel : kernels) {
    const WorkEstimate estimate = estimate_of(kernel, point);
    if (estimate.refused != Refused::kNo) return std::nullopt;
    if (kernel.is_attention && estimate.is_beyond()) return std::nullopt;
    const auto count = static_cast<double>(kernel.use.count);
    sum.latency += count * estimate.latency;
    if (std::isfinite(estimate.sigma))
      sum.variance += std::pow(count * estimate.latency * estimate.uncertainty(), 2);
    if (const auto watts = watts_at(kernel, point)) {
      sum.joules += count * estimate.latency * *watts;
      sum.known += count * estimate.latency;
    }
  }
  return sum;
}

// Halves of the way between neighbours in powers of 2, and between these: 1 4 6 gives 1 2 3 4 6.
std::vector<std::int64_t> with_middles(const std::set<std::int64_t>& values) {
  std::set<std::int64_t> all = values;
  for (auto value = values.begin(); value != values.end(); ++value) {
    const auto next = std::next(value);
    if (next == values.end()) break;
    for (std::int64_t low = *value; low < *next; low *= 2) {
      all.insert(low);
      if (low % 2 == 0 && low + low / 2 < *next) all.insert(low + low / 2);
      if (low == 0) break;
    }
  }
  return {all.begin(), all.end()};
}

std::set<std::int64_t> values_of(const Frame& rows, std::string_view name) {
  std::set<std::int64_t> values;
  const FrameColumn* column = rows.find(name);
  for (std::size_t row = 0; column != nullptr && row < column->size(); ++row)
    if (!column->is_missing(row)) values.insert(std::llround(number_at(*column, row)));
  return values;
}

std::vector<BlockPoint> points_of(const Frame& attention, Phase phase) {
  const bool is_context = phase == Phase::kContext;
  std::vector<BlockPoint> points;
  const std::set<std::int64_t> measured = values_of(attention, is_context ? "isl" : "step");
  // Decoding takes time in a straight line over its cache.
  const std::vector<std::int64_t> lengths =
      is_context ? with_middles(measured)
                 : std::vector<std::int64_t>(measured.begin(), measured.end());
  for (const std::int64_t requests : with_middles(values_of(attention, "batch_size"))) {
    for (const std::int64_t length : lengths) {
      points.push_back({.requests = requests,
                        .new_tokens = is_context ? length : 1,
                        .cached = is_context ? 0 : length});
    }
  }
  return points;
}

// Writes the rows of a table.
class BlockWriter {
 public:
  BlockWriter(std::string table, const Frame& attention, PromptTypes prompt_types)
      : table_(std::move(table)), prompt_types_(prompt_types) {
    for (const char* name : {"framework", "version", "device"}) {
      const FrameColumn* column = attention.find(name);
      const bool is_there = column != nullptr && column->size() > 0 && !column->is_missing(0);
      origin_.emplace_back(name, is_there ? value_text(column->value(0)) : "");
    }
  }

  void add(const BlockTypes& types,
           std::int64_t heads,
           const BlockPoint& point,
           const std::vector<BlockKernel>& kernels,
           const BlockSum& sum) {
    for (const auto& [name, value] : origin_)
      text(name, value);
    text("op_name", table_.substr(0, table_.rfind("_perf")));
    text("kernel_source", kSumOfRows);
    text("model", kModel);
    text("architecture", kArchitecture);
    text("mla_dtype", serving::name_of(types.attention));
    text("kv_cache_dtype", serving::name_of(types.cache));
    text("gemm_type", serving::name_of(types.weights));
    whole("num_heads", heads);
    whole("batch_size", point.requests);
    whole("isl", point.new_tokens);
    whole("tp_size", 1);  // the heads are those of one GPU
    whole("step", point.cached);
    real("latency", sum.latency);
    add_power(sum);
    if (has_fp8_prompts()) text(kMeasuredTypeColumn, serving::name_of(Quantization::kBfloat16));
    text(kSumOfColumn, operators_of(kernels));
    real(kSumErrorColumn, 100 * std::sqrt(sum.variance) / sum.latency);
    ++rows_;
  }

  void refuse() { ++refused_; }

  [[nodiscard]] bool has_fp8_prompts() const { return prompt_types_ == PromptTypes::kAlsoFp8; }

  [[nodiscard]] BlockTable finish() && {
    BlockTable table{.table = table_, .rows = {}, .without_answer = refused_};
    for (ColumnBuilder& column : columns_)
      table.rows.columns.push_back(std::move(column).finish());
    return table;
  }

 private:
  // Norms and products of latents have no power where nobody measured it. The power of the sum is
  // that of its other kernels, if they take a quarter of it.
  void add_power(const BlockSum& sum) {
    constexpr double kLeastKnown = 0.25;
    if (sum.known < kLeastKnown * sum.latency) {
      column(kPowerColumns.front()).add_missing();
      column(kPowerSourceColumn).add_missing();
      return;
    }
    real(kPowerColumns.front(), sum.joules / sum.known);
    text(kPowerSourceColumn, kSumOfRows);
  }

  static std::string operators_of(const std::vector<BlockKernel>& kernels) {
    std::vector<std::string> names;
    for (const BlockKernel& kernel : kernels)
      names.push_back(kernel.use.op);
    return core::join(names, " + ");
  }

  // Each row gives the columns in one order.
  ColumnBuilder& column(std::string_view name) {
    if (rows_ == 0) {
      columns_.emplace_back(std::string(name));
      return columns_.back();
    }
    if (next_ == columns_.size()) next_ = 0;
    return columns_[next_++];
  }

  void text(std::string_view name, std::string_view value) { column(name).add(value); }

  void whole(std::string_view name, std::int64_t value) { column(name).add(value); }

  void real(std::string_view name, double value) { column(name).add(value); }

  std::string table_;
  PromptTypes prompt_types_;
  std::vector<std::pair<std::string, std::string>> origin_;
  std::vector<ColumnBuilder> columns_;
  std::size_t next_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t refused_ = 0;
};

// The sums of one kind of blocks; those with a cache of fp8 a second time where that is asked for.
void add_sums(const BlockTypes& types,
              std::int64_t heads,
              const std::vector<BlockPoint>& points,
              const std::vector<BlockKernel>& kernels,
              BlockWriter& writer) {
  BlockTypes fp8 = types;
  fp8.attention = Quantization::kFp8;
  const bool has_fp8 = writer.has_fp8_prompts() && types.cache == Quantization::kFp8;
  for (const BlockPoint& point : points) {
    const std::optional<BlockSum> sum = sum_at(kernels, point);
    if (!sum) {
      writer.refuse();
      continue;
    }
    writer.add(types, heads, point, kernels, *sum);
    if (has_fp8) writer.add(fp8, heads, point, kernels, *sum);
  }
}

BlockTable blocks_of(const serving::Model& model,
                     Phase phase,
                     const Frame& attention,
                     const Indices& indices,
                     PromptTypes prompt_types) {
  const bool is_context = phase == Phase::kContext;
  BlockWriter writer(is_context ? "mla_context_module_perf" : "mla_generation_module_perf",
                     attention, is_context ? prompt_types : PromptTypes::kMeasured);
  const std::vector<BlockPoint> points = points_of(attention, phase);
  for (const std::int64_t heads : values_of(attention, "num_heads")) {
    for (const Quantization weights : kBlockWeights) {
      for (const Quantization cache : kBlockCaches) {
        const BlockTypes types{.phase = phase, .weights = weights, .cache = cache};
        const std::vector<BlockKernel> kernels = kernels_of(model, types, heads, indices);
        if (!kernels.empty()) add_sums(types, heads, points, kernels, writer);
      }
    }
  }
  return std::move(writer).finish();
}

// Answers know the power of measured rows alone, unless nothing says where it comes from.
Frame without_sources_of_power(Frame rows) {
  const auto tells_source = [](const FrameColumn& column) {
    return column.name == kPowerSourceColumn || column.name == kPowerErrorColumn;
  };
  rows.columns.erase(std::remove_if(rows.columns.begin(), rows.columns.end(), tells_source),
                     rows.columns.end());
  return rows;
}

bool is_of_a_block(std::string_view table) {
  constexpr std::array<std::string_view, 5> kTables = {
      "gemm_perf", "memory_op_perf", "mla_bmm_perf", "context_mla_perf", "generation_mla_perf"};
  return std::find(kTables.begin(), kTables.end(), table) != kTables.end();
}

}  // namespace

core::Result<std::vector<BlockTable>> latent_blocks(const std::vector<RowsOfTable>& tables,
                                                    const serving::Model& model,
                                                    const BinderOfTable& binder,
                                                    PromptTypes types) {
  const auto rows_of = [&](std::string_view table) -> const Frame* {
    const auto found = std::find_if(tables.begin(), tables.end(),
                                    [&](const RowsOfTable& rows) { return rows.table == table; });
    return found == tables.end() || found->rows.num_rows() == 0 ? nullptr : &found->rows;
  };
  const Frame* const context = rows_of("context_mla_perf");
  const Frame* const generation = rows_of("generation_mla_perf");
  std::vector<BlockTable> blocks;
  if (latent_attention_of(model) == nullptr || (context == nullptr && generation == nullptr))
    return blocks;
  Indices indices;
  for (const RowsOfTable& one : tables) {
    if (!is_of_a_block(one.table) || one.rows.num_rows() == 0) continue;
    const RooflineBinder rooflines = ASSAY_TRY(binder(one.table));
    const Frame rows = without_sources_of_power(one.rows);
    indices.emplace(one.table, ASSAY_TRY(WorkIndex::make(one.table, rows, rooflines)));
  }
  if (context != nullptr)
    blocks.push_back(blocks_of(model, Phase::kContext, *context, indices, types));
  if (generation != nullptr)
    blocks.push_back(blocks_of(model, Phase::kGeneration, *generation, indices, types));
  blocks.erase(std::remove_if(blocks.begin(), blocks.end(),
                              [](const BlockTable& table) { return table.rows.num_rows() == 0; }),
               blocks.end());
  return blocks;
}

}  // namespace assay::store
