// One decoding layer of a model that ships with assay: all its kernels in one graph, as an engine
// replays it, beside the sum of their times one by one. The layer is of the kind that the model has
// most of; exchanges with other GPUs are left out.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "collect/kernels/kernel_cost.h"
#include "collect/ops/values.h"
#include "core/check.h"
#include "model/serving/family.h"
#include "model/serving/shipped_models.h"
#include "model/serving/uses.h"

namespace assay::collect {
namespace {

using serving::Quantization;

constexpr const char* kLayerName = "decode_layer";

// A sweep takes the fewest GPUs on which the weights leave room for the cache: of the 141 GB of an
// H200 nine tenths.
constexpr double kMostWeightBytes = 127e9;
constexpr std::int64_t kMostSharing = 8;

using Models = std::map<std::string, serving::Model, std::less<>>;

Models read_shipped() {
  Models models;
  for (const serving::ShippedModel& one : serving::shipped_models()) {
    auto read = serving::parse_model(one.config, std::string(one.name));
    ASSAY_CHECK(read.ok(), "a shipped model does not read");
    models.emplace(one.name, std::move(read).value());
  }
  return models;
}

const Models& shipped() {
  static const Models models = read_shipped();
  return models;
}

// Precondition: the model ships with assay, as the axis accepts no others.
const serving::Model& model_named(std::string_view name) {
  const auto found = shipped().find(name);
  ASSAY_CHECK(found != shipped().end(), "no such model");
  return found->second;
}

struct LayerPoint {
  const serving::Model& model;
  serving::Deployment deployment;
  std::int64_t batch = 1;
  std::int64_t past = 0;
};

serving::Precision precision_of_layer(Quantization weights, std::string_view cache) {
  serving::Precision precision = serving::weights_of(weights);
  precision.cache = serving::quantization_named(cache).value_or(Quantization::kBfloat16);
  return precision;
}

// Fewer groups of experts than GPUs share an expert; more mean groups with requests of their own.
serving::Deployment deployment_of(const serving::Model& model,
                                  std::int64_t tp,
                                  std::int64_t ep,
                                  const serving::Precision& precision) {
  serving::Deployment deployment{.tp = tp, .precision = precision};
  if (!model.has_experts()) return deployment;
  deployment.moe_tp = std::max<std::int64_t>(tp / ep, 1);
  deployment.moe_ep = ep;
  return deployment;
}

LayerPoint layer_point(const Case& point) {
  const serving::Model& model = model_named(point.text("model"));
  const auto weights = serving::quantization_named(point.text("quantization"));
  ASSAY_CHECK(weights, "the axis accepts quantizations only");
  return {.model = model,
          .deployment = deployment_of(model, point.integer("tp_size"), point.integer("moe_ep_size"),
                                      precision_of_layer(*weights, point.text("kv_cache_dtype"))),
          .batch = point.integer("batch_size"),
          .past = point.integer("step")};
}

std::int64_t size_of(const serving::SizeField& size, const LayerPoint& point) {
  const serving::Deployment& deployment = point.deployment;
  switch (size.amount) {
    case serving::Amount::kTokens:
    case serving::Amount::kRequests:
      return point.batch * size.factor;
    case serving::Amount::kNewTokens:
      return size.factor;
    case serving::Amount::kCachedTokens:
      return point.past * size.factor;
    case serving::Amount::kExpertTokens:
      break;
  }
  const std::int64_t sharing = deployment.moe_tp * deployment.moe_ep;
  return point.batch * std::max<std::int64_t>(sharing / deployment.tp, 1) * size.factor;
}

// Axes that the use does not fix change no work.
model::PerfValue value_of_use(const Axis& axis,
                              const serving::OperatorUse& use,
                              const LayerPoint& point) {
  if (axis.column == "op_name") return use.op_name;
  for (const model::PerfField& field : use.key) {
    if (field.column == axis.column) return field.value;
  }
  LayerPoint seen = point;
  if (use.chunk > 0) seen.past %= use.chunk;
  for (const serving::SizeField& size : use.sizes) {
    if (size.column == axis.column) return size_of(size, seen);
  }
  return axis.common.front();
}

KernelSpec kernel_of(const serving::OperatorUse& use, const LayerPoint& point) {
  const Operator* op = find_operator(use.op);
  ASSAY_CHECK(op != nullptr, "a layer uses an operator that does not exist");
  std::vector<model::PerfValue> values;
  for (const Axis& axis : op->axes)
    values.push_back(value_of_use(axis, use, point));
  for (const Part& part : op->parts(Case(*op, std::move(values)))) {
    if (part.op_name == use.op_name) return part.kernel;
  }
  ASSAY_CHECK(false, "a layer uses a part that its operator does not have");
  return {};
}

std::vector<KernelSpec> kernels_of(const LayerPoint& point, const serving::Layer& layer) {
  std::vector<KernelSpec> kernels;
  for (const serving::OperatorUse& use :
       serving::uses_of_layer(point.model, layer, point.deployment, serving::Phase::kGeneration)) {
    const bool is_exchange = use.op == "custom_allreduce" || use.op == "nccl";
    if (!is_exchange) kernels.push_back(kernel_of(use, point));
  }
  return kernels;
}

std::vector<KernelSpec> layer_kernels(const Case& point) {
  const LayerPoint made = layer_point(point);
  return kernels_of(made, made.model.most_frequent_layers().layer);
}

// The bytes of the weights of all layers, on one GPU. One request without a past has little else.
double weight_bytes_of(const serving::Model& model, const serving::Precision& precision) {
  const LayerPoint point{.model = model, .deployment = deployment_of(model, 1, 1, precision)};
  double bytes = 0;
  for (const serving::EqualLayers& equal : model.layers) {
    for (const KernelSpec& kernel : kernels_of(point, equal.layer))
      bytes += static_cast<double>(equal.count) * footprint_bytes(kernel);
  }
  return bytes;
}

bool divides(const serving::Model& model, std::int64_t tp, const serving::Precision& precision) {
  return serving::check_deployment(model, deployment_of(model, tp, 1, precision)).ok();
}

// The smallest number of GPUs that hold the weights, or 0 if that many cannot serve the model. What
// does not even fit on the most GPUs counts as if it did in the model's own quantization.
std::int64_t usual_tp(const serving::Model& model, Quantization weights) {
  const serving::Precision precision = serving::weights_of(weights);
  if (!divides(model, 1, precision)) return 0;
  const double bytes = weight_bytes_of(model, precision);
  std::int64_t most = 0;
  for (std::int64_t tp = 1; tp <= kMostSharing; tp *= 2) {
    if (!divides(model, tp, precision)) continue;
    if (bytes <= static_cast<double>(tp) * kMostWeightBytes) return tp;
    most = tp;
  }
  return weights == serving::quantization_of(model.precision) ? most : 0;
}

// A sweep takes each model as its config.json has it, and in bfloat16, or in fp8 if that is its own
// type.
bool takes_weights(const serving::Model& model, Quantization weights) {
  const Quantization own = serving::quantization_of(model.precision);
  const bool is_plain = own == Quantization::kBfloat16;
  return weights == own || weights == (is_plain ? Quantization::kFp8 : Quantization::kBfloat16);
}

using Sharings = std::map<std::pair<std::string, Quantization>, std::int64_t>;

Sharings all_sharings() {
  Sharings sharings;
  for (const auto& [name, model] : shipped()) {
    for (const Quantization weights : {Quantization::kBfloat16, Quantization::kFp8,
                                       Quantization::kFp8Block, Quantization::kMxfp4}) {
      if (takes_weights(model, weights)) sharings[{name, weights}] = usual_tp(model, weights);
    }
  }
  return sharings;
}

bool takes_layer(const Case& point) {
  static const Sharings sharings = all_sharings();
  const auto weights = serving::quantization_named(point.text("quantization"));
  const auto found = sharings.find({point.text("model"), weights.value_or(Quantization::kMxfp4)});
  return found != sharings.end() && found->second == point.integer("tp_size") &&
         point.integer("moe_ep_size") == 1;
}

std::optional<std::string> sharing_problem(const Case& point, const LayerPoint& made) {
  const std::int64_t tp = point.integer("tp_size");
  const std::int64_t ep = point.integer("moe_ep_size");
  if (!made.model.has_experts() && ep > 1) return "a model without experts has none to share out";
  if (tp % ep != 0 && ep % tp != 0) return "neither tp_size nor moe_ep_size divides the other";
  const core::Status good = serving::check_deployment(made.model, made.deployment);
  if (good.ok()) return std::nullopt;
  return good.error().message;
}

std::optional<std::string> skip_layer(const Case& point, const DeviceFacts& facts) {
  if (facts.kind == "cpu") return "a CPU has no graphs of kernels";
  if (auto problem = sharing_problem(point, layer_point(point))) return problem;
  double bytes = 0;
  for (const KernelSpec& kernel : layer_kernels(point)) {
    if (auto reason = limit_of(kernel, facts)) return reason;
    bytes += footprint_bytes(kernel);
  }
  if (facts.memory_bytes == 0 || bytes <= static_cast<double>(facts.memory_bytes))
    return std::nullopt;
  return "needs more memory than is free";
}

// The operations count as those of the narrowest type, whose peak is the highest, so that the sum
// stays the least that a layer can take.
Cost layer_cost(const Case& point) {
  Cost sum;
  const LayerPoint made = layer_point(point);
  if (sharing_problem(point, made)) return sum;
  for (const KernelSpec& kernel : kernels_of(made, made.model.most_frequent_layers().layer)) {
    const Cost cost = cost_of(kernel);
    sum.bytes += cost.bytes;
    sum.flops += cost.flops;
    if (cost.flops > 0 && bytes_of(cost.type) < bytes_of(sum.type)) sum.type = cost.type;
  }
  return sum;
}

std::vector<Part> layer_parts(const Case& point) {
  const std::vector<KernelSpec> kernels = layer_kernels(point);
  return {{.op_name = kLayerName,
           .table = "decode_layer_perf",
           .key = key_of(point),
           .kernel = kernels.front(),
           .then = {kernels.begin() + 1, kernels.end()}}};
}

std::vector<model::PerfValue> model_names() {
  std::vector<model::PerfValue> names;
  for (const serving::ShippedModel& one : serving::shipped_models())
    names.emplace_back(std::string(one.name));
  return names;
}

std::vector<Axis> layer_axes() {
  const auto none = [](std::string_view /*name*/) { return false; };
  return {
      {.column = "model",
       .option = "",
       .help = "a model that ships with assay",
       .unit = "",
       .common = model_names(),
       .accepts = none},
      {.column = "tp_size",
       .option = "tp",
       .help = "GPUs that share the layer; one is measured",
       .unit = "GPUs",
       .common = powers(1, kMostSharing)},
      {.column = "moe_ep_size",
       .option = "ep",
       .help = "GPUs that share out the experts; one is measured",
       .unit = "GPUs",
       .common = integers({1})},
      {.column = "quantization",
       .option = "dtype",
       .help = "how weights are kept; w4a16_mxfp4 is of experts beside bfloat16",
       .unit = "",
       .common = texts({"bfloat16", "fp8", "fp8_block", "w4a16_mxfp4"}),
       .accepts = none},
      {.column = "kv_cache_dtype",
       .option = "kv-dtype",
       .help = "type of the cache of keys and values",
       .unit = "",
       .common = texts({"bfloat16"}),
       .accepts = [](std::string_view type) { return type == "fp8"; }},
      {.column = "batch_size",
       .option = "",
       .help = "requests",
       .unit = "requests",
       .common = integers({1, 16, 128}),
       .nesting = Nesting::kInner},
      {.column = "step",
       .option = "",
       .help = "tokens in the cache, without the new one",
       .unit = "tokens",
       .common = integers({4095}),
       .nesting = Nesting::kInner,
       .least = 0},
  };
}

const Operator kDecodeLayer{
    .name = kLayerName,
    .summary = "a model's decoding layer in one graph, and the sum of its kernels",
    .table = "decode_layer_perf",
    .axes = layer_axes(),
    .takes = takes_layer,
    .skip = skip_layer,
    .cost = layer_cost,
    .parts = layer_parts,
};
ASSAY_REGISTER(Operator, kDecodeLayer);

}  // namespace
}  // namespace assay::collect
