// Attention as oneDNN's products with a softmax between, all heads of a kv head in one product.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "collect/cpu/cpu_kernels.h"
#include "collect/cpu/onednn.h"

namespace assay::collect {
namespace {

using dnnl::memory;

constexpr std::int64_t kCompared = 64;
constexpr std::int64_t kMostScoreBytes = std::int64_t{2} << 30;
constexpr float kMasked = -1e30F;

// Shapes [batch, kv_heads, heads of one kv head, ...] over tensors that keep heads innermost.
struct Layout {
  explicit Layout(const AttentionSpec& spec)
      : group(spec.heads / spec.kv_heads),
        query({spec.batch, spec.kv_heads, group, spec.query_length, spec.head_dim},
              *onednn::type_of(spec.type),
              strides(spec.query_length, group, spec.heads, spec.head_dim)),
        key({spec.batch, spec.kv_heads, 1, spec.head_dim, spec.kv_length},
            *onednn::type_of(spec.type),
            {spec.kv_length * spec.kv_heads * spec.head_dim, spec.head_dim, spec.head_dim, 1,
             spec.kv_heads * spec.head_dim}),
        value({spec.batch, spec.kv_heads, 1, spec.kv_length, spec.value_dim},
              *onednn::type_of(spec.type),
              {spec.kv_length * spec.kv_heads * value_row(spec), value_row(spec), value_row(spec),
               spec.kv_heads * value_row(spec), 1}),
        scores({spec.batch, spec.kv_heads, group, spec.query_length, spec.kv_length},
               *onednn::type_of(spec.type),
               memory::format_tag::abcde),
        mask({1, 1, 1, spec.query_length, spec.kv_length},
             memory::data_type::f32,
             memory::format_tag::abcde),
        output({spec.batch, spec.kv_heads, group, spec.query_length, spec.value_dim},
               *onednn::type_of(spec.type),
               strides(spec.query_length, group, spec.heads, spec.value_dim)) {}

  static memory::dims strides(std::int64_t length,
                              std::int64_t group,
                              std::int64_t heads,
                              std::int64_t size) {
    return {length * heads * size, group * size, size, heads * size, 1};
  }

  // From one value to the next: MLA's values are the front of its keys.
  static std::int64_t value_row(const AttentionSpec& spec) {
    return spec.values_in_keys ? spec.head_dim : spec.value_dim;
  }

  std::int64_t group;
  memory::desc query;
  memory::desc key;
  memory::desc value;
  memory::desc scores;
  memory::desc mask;
  memory::desc output;
};

dnnl::matmul matmul(const memory::desc& a,
                    const memory::desc& b,
                    const memory::desc& c,
                    const dnnl::primitive_attr& attributes = {}) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul(dnnl::matmul::primitive_desc(onednn::engine(), a, b, c, attributes));
#else
  return dnnl::matmul(
      dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attributes, onednn::engine()));
#endif
}

dnnl::softmax_forward softmax(const memory::desc& scores) {
  constexpr int kLastAxis = 4;
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

struct Buffers {
  explicit Buffers(const AttentionSpec& spec)
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
        scale_(DataType::kFloat32, 1),
        mask_(DataType::kFloat32, spec.query_length * spec.kv_length),
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
    for (const std::int64_t place : sample_places(output_.elements(), kCompared))
      compare(place, accuracy);
    return accuracy;
  }

 private:
  void fill_mask() {
    *static_cast<float*>(scale_.data()) = 1 / std::sqrt(static_cast<float>(spec_.head_dim));
    auto* mask = static_cast<float*>(mask_.data());
    for (std::int64_t query = 0; query < spec_.query_length; ++query) {
      for (std::int64_t key = 0; key < spec_.kv_length; ++key)
        *mask++ = attends(query, key) ? 0 : kMasked;
    }
  }

  [[nodiscard]] bool attends(std::int64_t query, std::int64_t key) const {
    const std::int64_t position = spec_.kv_length - spec_.query_length + query;
    if (spec_.causal && key > position) return false;
    return spec_.window == 0 || key > position - spec_.window;
  }

  void add_copy(std::uint64_t number) {
    Buffers& buffers = *buffers_.emplace_back(std::make_unique<Buffers>(spec_));
    buffers.query.fill(3 * number);
    buffers.key.fill(3 * number + 1);
    buffers.value.fill(3 * number + 2);
    const memory::desc scalar({1, 1, 1, 1, 1}, memory::data_type::f32, memory::format_tag::abcde);
    dnnl::post_ops after;
    after.append_binary(dnnl::algorithm::binary_mul, scalar);
    after.append_binary(dnnl::algorithm::binary_add, layout_.mask);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(after);
    HostTensor& values = spec_.values_in_keys ? buffers.key : buffers.value;
    steps_.push_back(
        {{matmul(layout_.query, layout_.key, layout_.scores, attributes),
          {{DNNL_ARG_SRC, onednn::wrap(buffers.query, layout_.query)},
           {DNNL_ARG_WEIGHTS, onednn::wrap(buffers.key, layout_.key)},
           {DNNL_ARG_DST, onednn::wrap(scores_, layout_.scores)},
           {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, onednn::wrap(scale_, scalar)},
           {DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1,
            onednn::wrap(mask_, layout_.mask)}}},
         {softmax(layout_.scores),
          {{DNNL_ARG_SRC, onednn::wrap(scores_, layout_.scores)},
           {DNNL_ARG_DST, onednn::wrap(scores_, layout_.scores)}}},
         {matmul(layout_.scores, layout_.value, layout_.output),
          {{DNNL_ARG_SRC, onednn::wrap(scores_, layout_.scores)},
           {DNNL_ARG_WEIGHTS, onednn::wrap(values, layout_.value)},
           {DNNL_ARG_DST, onednn::wrap(output_, layout_.output)}}}});
  }

  struct Row {
    std::int64_t batch, query, head;
  };

  [[nodiscard]] double score(const Row& row, std::int64_t key) const {
    const Buffers& buffers = *buffers_[next_];
    const std::int64_t query_row =
        (row.batch * spec_.query_length + row.query) * spec_.heads + row.head;
    const std::int64_t key_row =
        (row.batch * spec_.kv_length + key) * spec_.kv_heads + row.head / layout_.group;
    double sum = 0;
    for (std::int64_t i = 0; i < spec_.head_dim; ++i) {
      sum += buffers.query.at(query_row * spec_.head_dim + i) *
             buffers.key.at(key_row * spec_.head_dim + i);
    }
    return sum / std::sqrt(static_cast<double>(spec_.head_dim));
  }

  [[nodiscard]] double value(const Row& row, std::int64_t key, std::int64_t column) const {
    const Buffers& buffers = *buffers_[next_];
    const std::int64_t kv_row =
        (row.batch * spec_.kv_length + key) * spec_.kv_heads + row.head / layout_.group;
    return spec_.values_in_keys ? buffers.key.at(kv_row * spec_.head_dim + column)
                                : buffers.value.at(kv_row * spec_.value_dim + column);
  }

  void compare(std::int64_t place, Accuracy& accuracy) const {
    const std::int64_t column = place % spec_.value_dim;
    const std::int64_t head = place / spec_.value_dim % spec_.heads;
    const std::int64_t line = place / spec_.value_dim / spec_.heads;
    const Row row{line / spec_.query_length, line % spec_.query_length, head};
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
    // A score rounded by u changes its weight by u * score, in the sum and in the quotient;
    // weights are rounded once more, and sums are made in float32.
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
    accuracy.where = fmt::format("output[{}, {}, {}, {}] is {}, should be {}", row.batch, row.query,
                                 head, column, found, exact);
  }

  AttentionSpec spec_;
  Layout layout_;
  HostTensor scale_;
  HostTensor mask_;
  HostTensor scores_;
  HostTensor output_;
  std::vector<std::unique_ptr<Buffers>> buffers_;
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
