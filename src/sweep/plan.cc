#include "sweep/plan.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <numeric>
#include <random>

#include "sweep/command_line.h"

namespace assay::sweep {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "assay-sweep";
constexpr int kPlanVersion = 1;
constexpr int kIndent = 2;

// The Fisher-Yates shuffle. std::shuffle differs between standard libraries, but a seed must always
// give the same order.
std::vector<std::size_t> shuffled(std::size_t count, std::mt19937_64& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = count; left > 1; --left)
    std::swap(order[left - 1], order[random() % left]);
  return order;
}

Json settings_json(const Settings& settings) {
  Json list = Json::array();
  for (const Setting& setting : settings) {
    Json variables = Json::object();
    for (const auto& [name, value] : setting.variables)
      variables[name] = value.empty() ? Json(nullptr) : Json(value);
    list.push_back({{"name", setting.name}, {"variables", variables}});
  }
  return list;
}

Settings settings_of(const Json& list) {
  Settings settings;
  for (const Json& item : list) {
    Setting setting{item.at("name").get<std::string>(), {}};
    for (const auto& [name, value] : item.at("variables").items())
      setting.variables.emplace_back(name, value.is_null() ? "" : value.get<std::string>());
    settings.push_back(std::move(setting));
  }
  return settings;
}

Plan plan_of(const Json& json) {
  Plan plan;
  plan.id = json.at("id").get<std::string>();
  plan.command = json.at("command").get<std::vector<std::string>>();
  plan.config = json.at("config").get<std::string>();
  plan.settings = settings_of(json.at("settings"));
  plan.repeats = json.at("repeats").get<int>();
  plan.seed = json.at("seed").get<std::uint64_t>();
  plan.expected_library = json.at("expected_library").get<std::string>();
  plan.conditions = json.value("conditions", Conditions());
  return plan;
}

std::string names_text(const Settings& settings) {
  std::string text;
  for (const Setting& setting : settings)
    text += (text.empty() ? "" : ", ") + setting.name;
  return text;
}

std::string settings_text(const Settings& settings) {
  std::string text;
  for (const Setting& setting : settings) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", setting.name,
                        variables_text(setting.variables));
  }
  return text;
}

bool same_variables(const Settings& first, const Settings& second) {
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const Setting& a, const Setting& b) {
                      return a.name == b.name && a.variables == b.variables;
                    });
}

std::string differ(const char* what, const std::string& stored, const std::string& asked) {
  return fmt::format("{} differ: it began with\n  {}\nand is now asked for\n  {}", what,
                     stored.empty() ? "(none)" : stored, asked.empty() ? "(none)" : asked);
}

// Settings of the same names differ in their variables.
std::string settings_difference(const Settings& stored, const Settings& asked) {
  const std::string names = names_text(stored);
  const std::string asked_names = names_text(asked);
  if (names != asked_names) return differ("the settings", names, asked_names);
  return differ("the variables of the settings", settings_text(stored), settings_text(asked));
}

}  // namespace

std::vector<PlannedRun> run_order(const Plan& plan) {
  std::mt19937_64 random(plan.seed);
  std::vector<PlannedRun> order;
  for (int repeat = 1; repeat <= plan.repeats; ++repeat) {
    for (const std::size_t setting : shuffled(plan.settings.size(), random))
      order.push_back({setting, repeat});
  }
  return order;
}

std::filesystem::path run_folder(const Plan& plan, const PlannedRun& run) {
  const std::filesystem::path setting = plan.settings[run.setting].name;
  return plan.repeats == 1 ? setting : setting / fmt::format("repeat{}", run.repeat);
}

std::string run_title(const Plan& plan, const PlannedRun& run) {
  const std::string& setting = plan.settings[run.setting].name;
  return plan.repeats == 1 ? setting : fmt::format("{}, repeat {}", setting, run.repeat);
}

std::string plan_json(const Plan& plan) {
  const Json json{{"format", kFormat},
                  {"version", kPlanVersion},
                  {"id", plan.id},
                  {"command", plan.command},
                  {"config", plan.config},
                  {"settings", settings_json(plan.settings)},
                  {"repeats", plan.repeats},
                  {"seed", plan.seed},
                  {"expected_library", plan.expected_library.string()},
                  {"conditions", plan.conditions}};
  // Arguments may hold any bytes, and without `replace` invalid UTF-8 would throw an exception.
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + '\n';
}

core::Result<Plan> parse_plan(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("format") != kFormat || json.at("version") != kPlanVersion) {
      return core::Error{"this is the plan of another version of assay"};
    }
    Plan plan = plan_of(json);
    if (plan.settings.empty() || plan.command.empty() || plan.repeats < 1) {
      return core::Error{"the plan names no settings, no command or no repeats"};
    }
    ASSAY_TRY(check_names(plan.settings));
    return plan;
  } catch (const Json::exception& error) {
    return core::Error{error.what()};
  }
}

std::string plan_difference(const Plan& stored, const Plan& asked) {
  if (stored.command != asked.command || stored.config != asked.config) {
    return differ("the commands", shell_text(stored.command) + " " + stored.config,
                  shell_text(asked.command) + " " + asked.config);
  }
  if (!same_variables(stored.settings, asked.settings)) {
    return settings_difference(stored.settings, asked.settings);
  }
  if (stored.expected_library != asked.expected_library) {
    return differ("the expected libraries", stored.expected_library.string(),
                  asked.expected_library.string());
  }
  if (stored.seed != asked.seed) {
    return differ("the seeds", std::to_string(stored.seed), std::to_string(asked.seed));
  }
  const bool extended = stored.repeats > 1 && asked.repeats > stored.repeats;
  if (stored.repeats != asked.repeats && !extended) {
    return differ("the repeats", std::to_string(stored.repeats), std::to_string(asked.repeats));
  }
  return "";
}

std::uint64_t random_number() {
  std::random_device source;
  constexpr unsigned kHalf = 32;
  return (static_cast<std::uint64_t>(source()) << kHalf) | source();
}

}  // namespace assay::sweep
