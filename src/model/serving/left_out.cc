#include "model/serving/left_out.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "model/serving/regex.h"

namespace assay::serving {
namespace {

constexpr std::string_view kRegex = "re:";

// Checkpoints call the layers' parent by one of these names.
constexpr std::array<std::string_view, 5> kParents = {
    "model.", "model.language_model.", "language_model.model.", "language_model.", "backbone."};

// Matches as a shell does: `*` stands for any text, `?` for any character.
bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;
  std::size_t behind = 0;  // the text that the last star does not take
  std::size_t i = 0;
  while (i < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      behind = i;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[i])) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++behind;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

// Asks `is_wanted` for the name and for those of the modules around it.
template <typename IsWanted>
bool any_parent(std::string_view name, const IsWanted& is_wanted) {
  for (;; name = name.substr(0, name.rfind('.'))) {
    if (is_wanted(name)) return true;
    if (name.find('.') == std::string_view::npos) return false;
  }
}

class Patterns {
 public:
  static core::Result<Patterns> of(const std::vector<std::string>& modules) {
    Patterns made;
    for (const std::string& module : std::set<std::string>(modules.begin(), modules.end())) {
      if (module.starts_with(kRegex)) {
        made.regexes_.push_back(ASSAY_TRY(Regex::of(module.substr(kRegex.size()))));
      } else if (module.find_first_of("*?") != std::string::npos) {
        made.globs_.push_back(module);
      } else {
        made.names_.insert(module);
      }
    }
    return made;
  }

  // `name` is that of a module within its layer, `layer` that of the layer.
  [[nodiscard]] core::Result<bool> have(const std::string& layer, std::string_view name) const {
    for (const std::string_view parent : kParents) {
      if (ASSAY_TRY(have_whole(fmt::format("{}{}.{}", parent, layer, name)))) return true;
    }
    return false;
  }

 private:
  // Lists of modules name them whole, or a part of the name that they share.
  [[nodiscard]] bool has_part_of(std::string_view name) const {
    for (;;) {
      if (any_parent(name, [&](std::string_view part) { return names_.contains(part); }))
        return true;
      const std::size_t dot = name.find('.');
      if (dot == std::string_view::npos) return false;
      name.remove_prefix(dot + 1);
    }
  }

  [[nodiscard]] core::Result<bool> have_whole(const std::string& name) const {
    if (!names_.empty() && has_part_of(name)) return true;
    for (const std::string& glob : globs_) {
      if (any_parent(name, [&](std::string_view part) { return matches_glob(glob, part); }))
        return true;
    }
    for (const Regex& regex : regexes_) {
      if (ASSAY_TRY(regex.matches(name))) return true;
    }
    return false;
  }

  std::set<std::string, std::less<>> names_;
  std::vector<std::string> globs_;
  std::vector<Regex> regexes_;
};

// A product whose matrices have these names, of which checkpoints use some.
struct Matrices {
  Projection projection;
  std::vector<const char*> names;
};

struct MatricesOf {
  using Made = std::vector<Matrices>;

  Made operator()(const Attention&) const {
    return {{Projection::kMixerInput,
             {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.qkv_proj",
              "mixer.q_proj", "mixer.k_proj", "mixer.v_proj", "mixer.qkv_proj"}},
            {Projection::kMixerOutput, {"self_attn.o_proj", "mixer.o_proj"}}};
  }

  Made operator()(const LatentAttention& attention) const {
    Made made = {{Projection::kLatentDown,
                  {"self_attn.kv_a_proj_with_mqa", "self_attn.fused_qkv_a_proj_with_mqa"}},
                 {Projection::kQueryUp,
                  {attention.query_rank > 0 ? "self_attn.q_b_proj" : "self_attn.q_proj"}},
                 {Projection::kLatentUp, {"self_attn.kv_b_proj"}},
                 {Projection::kMixerOutput, {"self_attn.o_proj"}}};
    if (attention.query_rank > 0) {
      made.push_back(
          {Projection::kQueryDown, {"self_attn.q_a_proj", "self_attn.fused_qkv_a_proj_with_mqa"}});
    }
    return made;
  }

  // One module is priced for all of them.
  Made operator()(const SparseAttention&) const {
    return {{Projection::kMixerOutput, {"self_attn.o_proj"}}};
  }

  Made operator()(const DeltaNet&) const {
    return {{Projection::kMixerInput,
             {"linear_attn.in_proj_qkvz", "linear_attn.in_proj_qkv", "linear_attn.in_proj_z"}},
            {Projection::kMixerGates,
             {"linear_attn.in_proj_ba", "linear_attn.in_proj_b", "linear_attn.in_proj_a"}},
            {Projection::kMixerOutput, {"linear_attn.out_proj"}}};
  }

  Made operator()(const StateSpace&) const {
    return {{Projection::kMixerInput, {"mixer.in_proj"}},
            {Projection::kMixerOutput, {"mixer.out_proj"}}};
  }

  Made operator()(const FeedForward&) const {
    return {{Projection::kUp,
             {"mlp.gate_proj", "mlp.up_proj", "mlp.gate_up_proj", "feed_forward.gate_proj",
              "feed_forward.up_proj", "feed_forward.gate_up_proj", "mixer.up_proj"}},
            {Projection::kDown, {"mlp.down_proj", "feed_forward.down_proj", "mixer.down_proj"}}};
  }

  Made operator()(const Experts& experts) const {
    Made made = {{Projection::kExperts,
                  {"mlp.experts.0.gate_proj", "mlp.experts.0.up_proj", "mlp.experts.0.down_proj",
                   "block_sparse_moe.experts.0.w1", "block_sparse_moe.experts.0.w2",
                   "block_sparse_moe.experts.0.w3", "feed_forward.experts.0.gate_proj",
                   "feed_forward.experts.0.up_proj", "feed_forward.experts.0.down_proj",
                   "mixer.experts.0.up_proj", "mixer.experts.0.down_proj"}}};
    if (experts.latent > 0) {
      made.push_back({Projection::kToLatent, {"mixer.fc1_latent_proj"}});
      made.push_back({Projection::kFromLatent, {"mixer.fc2_latent_proj"}});
    }
    if (experts.shared_intermediate == 0) return made;
    made.push_back({Projection::kSharedUp,
                    {"mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj",
                     "mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj",
                     "mixer.shared_experts.up_proj", "feed_forward.shared_expert.gate_proj",
                     "feed_forward.shared_expert.up_proj", "mlp.shared_experts.gate_up_proj",
                     "mlp.shared_expert.gate_up_proj"}});
    made.push_back({Projection::kSharedDown,
                    {"mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj",
                     "mixer.shared_experts.down_proj", "feed_forward.shared_expert.down_proj"}});
    return made;
  }

  Made operator()(const NoMixer&) const { return {}; }

  Made operator()(const NoFeedForward&) const { return {}; }
};

std::vector<Matrices> matrices_of(const Layer& layer) {
  std::vector<Matrices> all = std::visit(MatricesOf{}, layer.mixer);
  const std::vector<Matrices> behind = std::visit(MatricesOf{}, layer.feed_forward);
  all.insert(all.end(), behind.begin(), behind.end());
  return all;
}

// Engines compute a product of several matrices at once, so that it is in bfloat16 where one of
// them is. `layers` are the names that checkpoints give the layer.
core::Result<Projections> matched(const std::vector<Matrices>& matrices,
                                  const std::vector<std::string>& layers,
                                  const Patterns& patterns) {
  Projections left;
  for (const Matrices& one : matrices) {
    for (const char* name : one.names) {
      for (const std::string& layer : layers) {
        if (ASSAY_TRY(patterns.have(layer, name))) left.add(one.projection);
      }
    }
  }
  return left;
}

// Returns the parts in the order of their first layers.
core::Result<std::vector<EqualLayers>> split_by_match(const EqualLayers& equal,
                                                      const Patterns& patterns) {
  const std::vector<Matrices> matrices = matrices_of(equal.layer);
  std::vector<EqualLayers> made;
  for (const std::int64_t index : equal.indices) {
    Layer layer = equal.layer;
    layer.left_out = ASSAY_TRY(matched(matrices, {fmt::format("layers.{}", index)}, patterns));
    auto known = std::find_if(made.begin(), made.end(),
                              [&](const EqualLayers& one) { return one.layer == layer; });
    if (known == made.end()) known = made.insert(made.end(), {.layer = layer});
    ++known->count;
    known->indices.push_back(index);
  }
  return made;
}

// Tells whether a model has such projections, and whether all of them are left out.
struct Shares {
  bool has_linear = false;
  bool has_experts = false;
  bool leaves_linear = true;
  bool leaves_experts = true;

  void add(const Layer& layer) {
    for (const Matrices& one : matrices_of(layer)) {
      const bool is_left = layer.left_out.has(one.projection);
      const bool is_expert = one.projection == Projection::kExperts;
      (is_expert ? has_experts : has_linear) = true;
      bool& leaves = is_expert ? leaves_experts : leaves_linear;
      leaves = leaves && is_left;
    }
  }
};

void take_from_layers(Model& model, const Shares& shares) {
  Projections told;
  for (int i = 0; i < kProjections; ++i) {
    const auto projection = static_cast<Projection>(i);
    const bool is_expert = projection == Projection::kExperts;
    if (is_expert ? shares.leaves_experts : shares.leaves_linear) told.add(projection);
  }
  for (EqualLayers& equal : model.layers)
    equal.layer.left_out.remove(told);
  if (model.mtp) model.mtp->layer.left_out.remove(told);
}

}  // namespace

core::Result<std::vector<std::string>> read_left_out(const Config& config) {
  std::vector<std::string> all;
  for (const char* field :
       {"ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers"}) {
    if (const auto word = config.text(field); word.ok()) {
      all.push_back(word.value());
      continue;
    }
    const auto words = ASSAY_TRY(config.words(field));
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

core::Status leave_out(const std::vector<std::string>& modules, Model& model) {
  if (modules.empty() || has_same_weights(model.precision, Precision{})) return {};
  const Patterns patterns = ASSAY_TRY(Patterns::of(modules));
  std::vector<EqualLayers> layers;
  for (const EqualLayers& equal : model.layers) {
    const std::vector<EqualLayers> parts = ASSAY_TRY(split_by_match(equal, patterns));
    layers.insert(layers.end(), parts.begin(), parts.end());
  }
  model.layers = std::move(layers);
  if (model.mtp) {
    Layer& layer = model.mtp->layer;
    const std::vector<std::string> names = {fmt::format("layers.{}", model.num_layers()),
                                            "mtp.layers.0"};
    layer.left_out = ASSAY_TRY(matched(matrices_of(layer), names, patterns));
  }
  Shares shares;
  for (const EqualLayers& equal : model.layers)
    shares.add(equal.layer);
  const bool leaves_linear = shares.has_linear && shares.leaves_linear;
  const bool leaves_experts = shares.has_experts && shares.leaves_experts;
  if (leaves_linear) model.precision.linear = Quantization::kBfloat16;
  if (leaves_experts || (leaves_linear && !shares.has_experts))
    model.precision.experts = Quantization::kBfloat16;
  take_from_layers(model, shares);
  return {};
}

}  // namespace assay::serving
