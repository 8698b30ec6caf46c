#include "plan/experiments/experiments_file.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/text.h"
#include "plan/schedule/workload.h"
#include "plan/search/deployments.h"

namespace assay::plan {
namespace {

core::Error at_line(const YAML::Node& node, const std::string& what) {
  return core::Error{fmt::format("line {}: {}", node.Mark().line + 1, core::printable_line(what))};
}

core::Result<std::string> word_of(const YAML::Node& node, const std::string& field) {
  if (node.IsScalar() && !node.Scalar().empty()) return node.Scalar();
  return at_line(node, fmt::format("'{}' is no word", field));
}

core::Status take_text(const YAML::Node& node, const std::string& field, std::string& target) {
  target = ASSAY_TRY(word_of(node, field));
  return {};
}

core::Status take_count(const YAML::Node& node,
                        const std::string& field,
                        std::int64_t least,
                        std::int64_t& target,
                        std::int64_t most) {
  const std::string word = ASSAY_TRY(word_of(node, field));
  if (YAML::convert<std::int64_t>::decode(node, target) && target >= least && target <= most)
    return {};
  return at_line(
      node, fmt::format("'{}: {}' is no whole number from {} to {}", field, word, least, most));
}

core::Status take_positive(const YAML::Node& node, const std::string& field, double& target) {
  const std::string word = ASSAY_TRY(word_of(node, field));
  if (YAML::convert<double>::decode(node, target) && std::isfinite(target) && target > 0) return {};
  return at_line(node, fmt::format("'{}: {}' is no number above 0", field, word));
}

core::Status take_share(const YAML::Node& node, const std::string& field, double& target) {
  ASSAY_TRY(take_positive(node, field, target));
  if (target <= 1) return {};
  return at_line(node, fmt::format("'{}: {:g}' is above 1", field, target));
}

// A chance that error bars can tell.
core::Status take_chance(const YAML::Node& node, const std::string& field, double& target) {
  ASSAY_TRY(take_positive(node, field, target));
  if (target < 10 || target > 95)
    return at_line(node, fmt::format("'{}: {:g}' is not from 10 to 95 (percent)", field, target));
  target /= 100;
  return {};
}

core::Status take_engines(const YAML::Node& node,
                          const std::string& field,
                          std::vector<Engine>& target) {
  const std::string word = ASSAY_TRY(word_of(node, field));
  if (word == "any") {
    target = {kEngines.begin(), kEngines.end()};
    return {};
  }
  const std::optional<Engine> engine = engine_named(word);
  if (!engine)
    return at_line(node,
                   fmt::format("'{}: {}' is none of {} and any", field, word, names_of(kEngines)));
  target = {*engine};
  return {};
}

core::Status take_scheduler(const YAML::Node& node, const std::string& field, Scheduler& target) {
  const std::string word = ASSAY_TRY(word_of(node, field));
  if (word != "simulation" && word != "closed-form")
    return at_line(node,
                   fmt::format("'{}: {}' is neither simulation nor closed-form", field, word));
  target = word == "simulation" ? Scheduler::kSimulation : Scheduler::kClosedForm;
  return {};
}

core::Status take_mode(const YAML::Node& node, const std::string& field, ServingMode& target) {
  const std::string word = ASSAY_TRY(word_of(node, field));
  if (word == "agg") {
    target = ServingMode::kAggregated;
  } else if (word == "disagg") {
    target = ServingMode::kDisaggregated;
  } else if (word == "both") {
    target = ServingMode::kBoth;
  } else {
    return at_line(node, fmt::format("'{}: {}' is none of agg, disagg and both", field, word));
  }
  return {};
}

core::Status refuse_other_modes(const YAML::Node& node,
                                const std::string& field,
                                const char* accepted) {
  const std::string word = ASSAY_TRY(word_of(node, field));
  if (core::lower_case(word) == accepted) return {};
  return at_line(node, fmt::format("'{}: {}' is not among the experiments of assay, which are {}",
                                   field, word, accepted));
}

// What an experiment says of drafts, in any order.
struct SaidDrafts {
  std::int64_t tokens = 0;
  std::vector<double> rates = {};
  std::optional<double> accepted = std::nullopt;  // in the mean
};

struct MadeExperiment {
  Experiment experiment = {};
  SaidDrafts drafts = {};
};

core::Status take_number(const YAML::Node& node, const std::string& field, double& target) {
  const std::string word = ASSAY_TRY(word_of(node, field));
  if (YAML::convert<double>::decode(node, target) && std::isfinite(target)) return {};
  return at_line(node, fmt::format("'{}: {}' is no number", field, word));
}

// One rate, or a list of them.
core::Status take_rates(const YAML::Node& node,
                        const std::string& field,
                        std::vector<double>& target) {
  double rate = 0;
  if (!node.IsSequence()) {
    ASSAY_TRY(take_number(node, field, rate));
    target = {rate};
    return {};
  }
  for (const auto& item : node) {
    ASSAY_TRY(take_number(item, field, rate));
    target.push_back(rate);
  }
  return {};
}

// One number, or a list of them.
core::Status take_step_tokens(const YAML::Node& node,
                              const std::string& field,
                              std::vector<std::int64_t>& target) {
  std::int64_t tokens = 0;
  if (!node.IsSequence()) {
    ASSAY_TRY(take_count(node, field, 1, tokens, kMostTokens));
    target = {tokens};
    return {};
  }
  for (const auto& item : node) {
    ASSAY_TRY(take_count(item, field, 1, tokens, kMostTokens));
    target.push_back(tokens);
  }
  return {};
}

core::Result<Speculation> speculation_said(const SaidDrafts& said) {
  const bool has_share = !said.rates.empty() || said.accepted.has_value();
  if (said.tokens == 0) {
    if (!has_share) return Speculation{};
    return core::Error{"acceptance is of drafted tokens: speculative_tokens says how many"};
  }
  if (!has_share)
    return core::Error{
        "speculative_tokens needs acceptance_rate: how often drafts are accepted depends on what "
        "is asked, and engines report it"};
  if (!said.rates.empty() && said.accepted)
    return core::Error{"acceptance_rate and nextn_accepted say the same: leave out one of them"};
  return said.accepted ? speculation_with_mean(said.tokens, *said.accepted)
                       : speculation_of(said.tokens, said.rates);
}

using Take = core::Status (*)(const YAML::Node& node,
                              const std::string& field,
                              MadeExperiment& made);

struct Field {
  const char* name;
  const char* other_name;  // in the public planner's files; "" where it is the same
  Take take;
};

constexpr std::array<Field, 22> kFields = {{
    {"model", "model_path",
     [](const auto& node, const auto& field, auto& made) {
       return take_text(node, field, made.experiment.model);
     }},
    {"system", "system_name",
     [](const auto& node, const auto& field, auto& made) {
       return take_text(node, field, made.experiment.system);
     }},
    {"backend", "backend_name",
     [](const auto& node, const auto& field, auto& made) {
       return take_engines(node, field, made.experiment.engines);
     }},
    {"backend_version", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_text(node, field, made.experiment.version);
     }},
    {"gpus", "total_gpus",
     [](const auto& node, const auto& field, auto& made) {
       return take_count(node, field, 1, made.experiment.gpus, kMostGpus);
     }},
    {"isl", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_count(node, field, 1, made.experiment.prompt_tokens, kMostTokens);
     }},
    {"osl", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_count(node, field, 1, made.experiment.output_tokens, kMostTokens);
     }},
    {"prefix", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_count(node, field, 0, made.experiment.cached_prefix, kMostTokens);
     }},
    {"least_length", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_share(node, field, made.experiment.least_length);
     }},
    {"ttft", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_positive(node, field, made.experiment.ttft_limit_ms);
     }},
    {"tpot", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_positive(node, field, made.experiment.tpot_limit_ms);
     }},
    {"request_latency", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_positive(node, field, made.experiment.request_limit_ms);
     }},
    {"confidence", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_chance(node, field, made.experiment.confidence);
     }},
    {"scheduler", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_scheduler(node, field, made.experiment.scheduler);
     }},
    {"serving_mode", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_mode(node, field, made.experiment.mode);
     }},
    {"max_num_tokens", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_step_tokens(node, field, made.experiment.step_tokens);
     }},
    {"decode_system", "decode_system_name",
     [](const auto& node, const auto& field, auto& made) {
       return take_text(node, field, made.experiment.decode_system);
     }},
    {"speculative_tokens", "nextn",
     [](const auto& node, const auto& field, auto& made) {
       return take_count(node, field, 0, made.drafts.tokens, kMostSpeculativeTokens);
     }},
    {"acceptance_rate", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_rates(node, field, made.drafts.rates);
     }},
    {"nextn_accepted", "",
     [](const auto& node, const auto& field, auto& made) {
       return take_number(node, field, made.drafts.accepted.emplace());
     }},
    {"database_mode", "",
     [](const auto& node, const auto& field, auto&) {
       return refuse_other_modes(node, field, "silicon");
     }},
    {"mode", "",
     [](const auto& node, const auto& field, auto&) {
       return refuse_other_modes(node, field, "patch");
     }},
}};

const Field* find_field(const std::string& name) {
  const auto found = std::find_if(kFields.begin(), kFields.end(), [&](const Field& field) {
    return name == field.name || name == field.other_name;
  });
  return found == kFields.end() || name.empty() ? nullptr : &*found;
}

core::Error unknown_field(const YAML::Node& node, const std::string& name) {
  std::vector<std::string> all;
  for (const Field& field : kFields) {
    all.emplace_back(field.name);
    if (*field.other_name != '\0') all.emplace_back(field.other_name);
  }
  const std::string near = core::nearest(name, all);
  if (!near.empty())
    return at_line(node,
                   fmt::format("no experiment has a field '{}'; did you mean {}?", name, near));
  return at_line(
      node, fmt::format("no experiment has a field '{}', but {}", name, core::join(all, ", ")));
}

core::Result<std::string> key_name(const YAML::Node& key) {
  if (key.IsScalar() && !key.Scalar().empty()) return key.Scalar();
  return at_line(key, "a name must be a word");
}

// The key by which YAML takes over the fields of another mapping.
bool is_merge(const YAML::Node& key) {
  return key.IsScalar() && key.Scalar() == "<<";
}

core::Status take_fields(const YAML::Node& fields,
                         MadeExperiment& made,
                         std::set<const Field*>& taken) {
  for (const auto& item : fields) {
    if (is_merge(item.first)) continue;
    const std::string name = ASSAY_TRY(key_name(item.first));
    const Field* field = find_field(name);
    if (field == nullptr) return unknown_field(item.first, name);
    if (!taken.insert(field).second)
      return at_line(item.first, fmt::format("'{}' is there twice", name));
    ASSAY_TRY(field->take(item.second, name, made));
  }
  return {};
}

// Takes the fields of the other mapping that the experiment does not have; of that one alone, not
// of those that it takes over itself.
core::Status take_merged(const YAML::Node& other,
                         MadeExperiment& made,
                         std::set<const Field*>& taken) {
  if (!other.IsMap()) return at_line(other, "'<<' takes the fields of another experiment");
  YAML::Node rest;
  for (const auto& item : other) {
    if (is_merge(item.first)) return at_line(item.first, "'<<' within what '<<' takes over");
    const Field* field = find_field(ASSAY_TRY(key_name(item.first)));
    if (field == nullptr || !taken.contains(field)) rest[item.first] = item.second;
  }
  return take_fields(rest, made, taken);
}

core::Result<Experiment> experiment_of(const YAML::Node& key, const YAML::Node& fields) {
  MadeExperiment all{.experiment = {.name = ASSAY_TRY(key_name(key)), .model = ""}};
  Experiment& made = all.experiment;
  if (!fields.IsMap())
    return at_line(key, fmt::format("'{}' has no fields: an experiment is a name, and its fields "
                                    "below it",
                                    made.name));
  std::set<const Field*> taken;
  ASSAY_TRY(take_fields(fields, all, taken));
  for (const auto& item : fields) {
    if (is_merge(item.first)) ASSAY_TRY(take_merged(item.second, all, taken));
  }
  if (made.model.empty()) return at_line(key, fmt::format("'{}' names no model", made.name));
  if (made.cached_prefix >= made.prompt_tokens)
    return at_line(key, fmt::format("'{}': a prefix of {} tokens leaves nothing of a prompt of {}",
                                    made.name, made.cached_prefix, made.prompt_tokens));
  if (made.engines.size() > 1 && !made.version.empty())
    return at_line(key, fmt::format("'{}': backend_version is that of one engine: say which by "
                                    "backend",
                                    made.name));
  if (std::isfinite(made.request_limit_ms)) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    if (!taken.contains(find_field("ttft"))) made.ttft_limit_ms = kNone;
    if (!taken.contains(find_field("tpot"))) made.tpot_limit_ms = kNone;
  }
  const core::Result<Speculation> drafted = speculation_said(all.drafts);
  if (!drafted.ok())
    return at_line(key, fmt::format("'{}': {}", made.name, drafted.error().message));
  made.speculation = drafted.value();
  return made;
}

// The experiments that the list 'exps' names, in its order.
core::Result<std::vector<Experiment>> chosen(const YAML::Node& list, std::vector<Experiment> all) {
  if (!list.IsSequence()) return at_line(list, "'exps' is no list of names");
  std::vector<Experiment> some;
  for (const auto& item : list) {
    const std::string name = ASSAY_TRY(key_name(item));
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Experiment& one) { return one.name == name; });
    if (found == all.end())
      return at_line(item, fmt::format("'exps' names '{}', which is not in the file", name));
    some.push_back(*found);
  }
  return some;
}

constexpr const char* kChosen = "exps";

core::Result<std::vector<Experiment>> experiments_in(const YAML::Node& root) {
  if (!root.IsMap()) return core::Error{"no experiments: a name, and its fields below it"};
  std::vector<Experiment> all;
  std::optional<YAML::Node> list;
  for (const auto& item : root) {
    if (item.first.IsScalar() && item.first.Scalar() == kChosen) {
      list = item.second;
      continue;
    }
    auto made = ASSAY_TRY(experiment_of(item.first, item.second));
    if (std::any_of(all.begin(), all.end(),
                    [&](const Experiment& one) { return one.name == made.name; }))
      return at_line(item.first, fmt::format("'{}' is there twice", made.name));
    all.push_back(std::move(made));
  }
  if (list) all = ASSAY_TRY(chosen(*list, std::move(all)));
  if (all.empty()) return core::Error{"no experiments: a name, and its fields below it"};
  return all;
}

}  // namespace

core::Result<std::vector<Experiment>> parse_experiments(std::string_view yaml,
                                                        const std::string& name) {
  // yaml-cpp throws; here its exceptions become errors.
  try {
    auto experiments = experiments_in(YAML::Load(std::string(yaml)));
    if (!experiments.ok()) return experiments.error().context(name);
    return experiments;
  } catch (const YAML::Exception& error) {
    return core::Error{fmt::format("{}: line {}: {}", name, error.mark.line + 1, error.msg)};
  }
}

}  // namespace assay::plan
