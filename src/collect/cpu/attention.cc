// Attention as two products of oneDNN with a softmax between them; one product serves all heads
// that share a kv head.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "collect/cpu/cpu_device.h"
#include "collect/cpu/onednn.h"

namespace assay::collect {
namespace {

using dnnl::memory;

constexpr std::int64_t kAttentionSamples = 64;
constexpr std::int64_t kMostScoreBytes = std::int64_t{2} << 30;
constexpr float kMasked = -1e30F;

// oneDNN's fast products have three dimensions: a batch element and kv head, the queries of all
// heads that share it, and the columns. Therefore heads lie before tokens here.
struct AttentionShapes {
  explicit AttentionShapes(const AttentionSpec& spec)
      : AttentionShapes(spec,
                        *onednn::type_of(spec.type),
                        spec.batch * spec.kv_heads,
                        spec.heads / spec.kv_heads * spec.query_length) {}

  AttentionShapes(const AttentionSpec& spec,
                  memory::data_type type,
                  std::int64_t products,
                  std::int64_t queries)
      : query({products, queries, spec.head_dim}, type, memory::format_tag::abc),
        key({products, spec.head_dim, spec.kv_length}, type, memory::format_tag::acb),
        value({products, spec.kv_length, spec.value_dim},
              type,
              {spec.kv_length * value_row(spec), value_row(spec), 1}),
        scores({products, queries, spec.kv_length}, type, memory::format_tag::abc),
        mask({1, queries, spec.kv_length}, memory::data_type::f32, memory::format_tag::abc),
        output({products, queries, spec.value_dim}, type, memory::format_tag::abc) {}

  // The distance from one value to the next: MLA's values are the front of its keys.
  static std::int64_t value_row(const AttentionSpec& spec) {
    return spec.values_in_keys ? spec.head_dim : spec.value_dim;
  }

  memory::desc query;
  memory::desc key;
  memory::desc value;
  memory::desc scores;
  memory::desc mask;
  memory::desc output;
};

dnnl::matmul make_matmul(const memory::desc& a, const memory::desc& b, const memory::desc& c) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul(dnnl::matmul::primitive_desc(onednn::engine(), a, b, c));
#else
  return dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), onednn::engine()));
#endif
}

dnnl::binary make_addition(const memory::desc& to, const memory::desc& summand) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::binary(
      dnnl::binary::primitive_desc(onednn::engine(), dnnl::algorithm::binary_add, to, summand, to));
#else
  return dnnl::binary(dnnl::binary::primitive_desc(
      dnnl::binary::desc(dnnl::algorithm::binary_add, to, summand, to), onednn::engine()));
#endif
}

dnnl::softmax_forward make_softmax(const memory::desc& scores) {
  constexpr int kLastAxis = 2;
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::softmax_forward(dnnl::softmax_forward::primitive_desc(
      onednn::engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate,
      scores, scores, kLastAxis));
#else
  return dnnl::softmax_forward(dnnl::softmax_forward::primitive_desc(
      dnnl::softmax_forward::desc(dnnl::prop_kind::forward_inference, scores, kLastAxis),
      onednn::engine()));
#endif
}

struct AttentionBuffers {
  explicit AttentionBuffers(const AttentionSpec& spec)
      : query(spec.type, spec.batch * spec.query_length * spec.heads * spec.head_dim),
        key(spec.type, spec.batch * spec.kv_length * spec.kv_heads * spec.head_dim),
        value(spec.type,
              spec.values_in_keys ? 0
                                  : spec.batch * spec.kv_length * spec.kv_heads * spec.value_dim) {}

  HostTensor query;
  HostTensor key;
  HostTensor value;
};

class Attention final : public Work {
 public:
  Attention(const AttentionSpec& spec, Copies copies)
      : spec_(spec),
        layout_(spec),
        group_(spec.heads / spec.kv_heads),
        mask_(DataType::kFloat32, group_ * spec.query_length * spec.kv_length),
        scores_(spec.type, spec.batch * spec.heads * spec.query_length * spec.kv_length),
        output_(spec.type, spec.batch * spec.query_length * spec.heads * spec.value_dim) {
    fill_mask();
    for (Copies i = 0; i < copies; ++i)
      add_copy(static_cast<std::uint64_t>(i));
  }

  core::Status launch() override {
    next_ = (next_ + 1) % steps_.size();
    return onednn::launched([&] {
      for (onednn::Step& step : steps_[next_])
        step.run();
    });
  }

  [[nodiscard]] std::string kernel_source() const override { return "onednn_matmul_softmax"; }

  core::Result<Accuracy> check() override {
    ASSAY_TRY(launch());
    Accuracy accuracy;
    for (const std::int64_t place : sample_places(output_.elements(), kAttentionSamples))
      compare(place, accuracy);
    return accuracy;
  }

 private:
  void fill_mask() {
    auto* mask = static_cast<float*>(mask_.data());
    for (std::int64_t query = 0; query < group_ * spec_.query_length; ++query) {
      for (std::int64_t key = 0; key < spec_.kv_length; ++key)
        *mask++ = attends(query % spec_.query_length, key) ? 0 : kMasked;
    }
  }

  [[nodiscard]] bool attends(std::int64_t query, std::int64_t key) const {
    const std::int64_t position = spec_.kv_length - spec_.query_length + query;
    if (spec_.causal && key > position) return false;
    return spec_.window == 0 || key > position - spec_.window;
  }

  void add_copy(std::uint64_t number) {
    AttentionBuffers& buffers = *buffers_.emplace_back(std::make_unique<AttentionBuffers>(spec_));
    // The factor 1 / sqrt(head_dim) is part of the query, as engines fold it into the weights.
    buffers.query.fill(3 * number, 1 / std::sqrt(static_cast<float>(spec_.head_dim)));
    buffers.key.fill(3 * number + 1);
    buffers.value.fill(3 * number + 2);
    HostTensor& values = spec_.values_in_keys ? buffers.key : buffers.value;
    steps_.push_back({{make_matmul(layout_.query, layout_.key, layout_.scores),
                       {{DNNL_ARG_SRC, onednn::wrap(buffers.query, layout_.query)},
                        {DNNL_ARG_WEIGHTS, onednn::wrap(buffers.key, layout_.key)},
                        {DNNL_ARG_DST, onednn::wrap(scores_, layout_.scores)}}},
                      {make_addition(layout_.scores, layout_.mask),
                       {{DNNL_ARG_SRC_0, onednn::wrap(scores_, layout_.scores)},
                        {DNNL_ARG_SRC_1, onednn::wrap(mask_, layout_.mask)},
                        {DNNL_ARG_DST, onednn::wrap(scores_, layout_.scores)}}},
                      {make_softmax(layout_.scores),
                       {{DNNL_ARG_SRC, onednn::wrap(scores_, layout_.scores)},
                        {DNNL_ARG_DST, onednn::wrap(scores_, layout_.scores)}}},
                      {make_matmul(layout_.scores, layout_.value, layout_.output),
                       {{DNNL_ARG_SRC, onednn::wrap(scores_, layout_.scores)},
                        {DNNL_ARG_WEIGHTS, onednn::wrap(values, layout_.value)},
                        {DNNL_ARG_DST, onednn::wrap(output_, layout_.output)}}}});
  }

  // A row of the output. A head counts batch elements too; the query counts within it.
  struct Row {
    std::int64_t query_head;
    std::int64_t kv_head;
    std::int64_t query;
  };

  [[nodiscard]] double score(const Row& row, std::int64_t key) const {
    const AttentionBuffers& buffers = *buffers_[next_];
    const std::int64_t query_row = row.query_head * spec_.query_length + row.query;
    const std::int64_t key_row = row.kv_head * spec_.kv_length + key;
    double sum = 0;
    for (std::int64_t i = 0; i < spec_.head_dim; ++i) {
      sum += buffers.query.at(query_row * spec_.head_dim + i) *
             buffers.key.at(key_row * spec_.head_dim + i);
    }
    return sum;
  }

  [[nodiscard]] double value(const Row& row, std::int64_t key, std::int64_t column) const {
    const AttentionBuffers& buffers = *buffers_[next_];
    const std::int64_t kv_row = row.kv_head * spec_.kv_length + key;
    return spec_.values_in_keys ? buffers.key.at(kv_row * spec_.head_dim + column)
                                : buffers.value.at(kv_row * spec_.value_dim + column);
  }

  void compare(std::int64_t place, Accuracy& accuracy) const {
    const std::int64_t column = place % spec_.value_dim;
    const std::int64_t line = place / spec_.value_dim;
    const std::int64_t query_head = line / spec_.query_length;
    const Row row{query_head, query_head / group_, line % spec_.query_length};
    double weights = 0;
    double exact = 0;
    double magnitude = 0;
    double largest = 0;
    for (std::int64_t key = 0; key < spec_.kv_length; ++key) {
      if (!attends(row.query, key)) continue;
      const double product = score(row, key);
      const double weight = std::exp(product);
      const double of_key = value(row, key, column);
      weights += weight;
      exact += weight * of_key;
      magnitude += weight * std::fabs(of_key);
      largest = std::max(largest, std::fabs(product));
    }
    exact /= weights;
    magnitude /= weights;
    // A score rounded by u changes its weight by u * score, in the sum and in the quotient. Weights
    // are rounded once more, and sums are made in float32.
    const double unit = rounding(spec_.type, 1);
    const double sums =
        static_cast<double>(spec_.head_dim + 2 * spec_.kv_length) * rounding(DataType::kFloat32, 1);
    const double allowed =
        magnitude * (2 * unit * (largest + 1) + unit + 2 * sums) + rounding(spec_.type, exact);
    const double found = output_.at(place);
    const double off = std::fabs(found - exact) / allowed;
    ++accuracy.compared;
    if (off <= accuracy.worst) return;
    accuracy.worst = off;
    accuracy.where = fmt::format("output[{}, {}, {}] is {}, should be {}", query_head, row.query,
                                 column, found, exact);
  }

  AttentionSpec spec_;
  AttentionShapes layout_;
  std::int64_t group_;
  HostTensor mask_;
  HostTensor scores_;
  HostTensor output_;
  std::vector<std::unique_ptr<AttentionBuffers>> buffers_;
  std::vector<std::vector<onednn::Step>> steps_;
  std::size_t next_ = 0;
};

}  // namespace

core::Result<MadeWork> make_attention(const AttentionSpec& spec, Copies copies) {
  if (spec.type != spec.kv_type || !onednn::type_of(spec.type) || spec.type == DataType::kInt8) {
    return MadeWork(Unsupported{fmt::format("attention of {} over a {} cache is not for CPUs",
                                            name_of(spec.type), name_of(spec.kv_type))});
  }
  const std::int64_t score_bytes =
      spec.batch * spec.heads * spec.query_length * spec.kv_length * bytes_of(spec.type);
  if (score_bytes > kMostScoreBytes) {
    return MadeWork(Unsupported{
        fmt::format("its scores would take {} GiB", score_bytes / (std::int64_t{1} << 30))});
  }
  return onednn::made([&] { return std::make_unique<Attention>(spec, copies); });
}

}  // namespace assay::collect
