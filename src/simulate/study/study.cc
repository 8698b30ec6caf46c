#include "simulate/study/study.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "core/digest.h"
#include "core/file_kind.h"
#include "core/files.h"
#include "core/text.h"
#include "model/schedule_notes.h"
#include "simulate/fabric/conditions.h"
#include "simulate/yaml_fields.h"

namespace assay::simulate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostTasks = 100'000;
constexpr double kMostReplicas = 100'000;
constexpr double kMostOfLinks = 1e15;

constexpr std::array kLinkOptions = {
    "L", "o", "g", "G", "O", "S", "intra-L", "intra-o", "intra-g", "intra-G", "intra-O", "intra-S"};

// Reads one study file.
class StudyReader {
 public:
  StudyReader(const std::string& name, const fs::path& folder) : folder_(folder) {
    study_.name = name;
  }

  core::Result<Study> read(const YAML::Node& root);

 private:
  core::Status take_jobs(Fields& all);
  core::Status take_job(Fields& fields);
  core::Status take_networks(Fields& all);
  core::Status take_network(Fields& fields);
  core::Status take_failures(Fields& all);
  core::Status take_words_axis(Fields& all);
  core::Status take_seeds(Fields& all);
  core::Status take_options(Fields& all);
  core::Status take_link_option(Fields& options, const char* option);
  core::Status take_baseline(Fields& all);
  core::Status take_selections(Fields& all,
                               const char* name,
                               std::vector<StudySelection>& selections);
  core::Result<StudySelection> selection_of(const YAML::Node& node, const std::string& what);
  core::Result<std::vector<std::string>> list_of(Fields& fields, const char* name) const;
  core::Result<std::vector<std::string>> values_of(const YAML::Node& node,
                                                   const std::string& axis) const;
  core::Status take_name(Fields& fields, const std::string& otherwise, std::string& name) const;
  core::Status add(const YAML::Node& node, StudyChoice choice);
  core::Status begin(std::vector<std::string> axes);
  core::Status check_filled(const Fields& all, const char* what) const;

  [[nodiscard]] fs::path path_of(const std::string& text) const {
    return text.empty() ? fs::path() : folder_ / text;
  }

  Study study_;
  fs::path folder_;
  std::vector<std::string> words_;
};

core::Status StudyReader::begin(std::vector<std::string> axes) {
  study_.axes.insert(study_.axes.end(), axes.begin(), axes.end());
  study_.dimensions.emplace_back();
  return {};
}

core::Status StudyReader::add(const YAML::Node& node, StudyChoice choice) {
  StudyDimension& dimension = study_.dimensions.back();
  const bool twice = std::any_of(dimension.begin(), dimension.end(), [&](const StudyChoice& other) {
    return other.values == choice.values;
  });
  if (twice) {
    return at_line(node, fmt::format("'{}' is there twice: give each a 'name' of its own",
                                     core::join(choice.values, ", ")));
  }
  dimension.push_back(std::move(choice));
  return {};
}

core::Status StudyReader::check_filled(const Fields& all, const char* what) const {
  if (!study_.dimensions.back().empty()) return {};
  return all.error(fmt::format("needs '{}', a list of at least one", what));
}

core::Status StudyReader::take_name(Fields& fields,
                                    const std::string& otherwise,
                                    std::string& name) const {
  name = otherwise;
  ASSAY_TRY(fields.take_text("name", name));
  if (name.empty()) return fields.error("needs a 'name'");
  return {};
}

// A list of words or numbers, or one of them.
core::Result<std::vector<std::string>> StudyReader::list_of(Fields& fields,
                                                            const char* name) const {
  std::vector<std::string> words;
  if (!fields.has(name)) return words;
  if (fields.at(name).IsScalar()) return std::vector{fields.at(name).Scalar()};
  ASSAY_TRY(fields.take_words(name, words));
  if (words.empty()) return fields.bad(name, "is an empty list");
  return words;
}

core::Status StudyReader::take_job(Fields& fields) {
  std::string file;
  ASSAY_TRY(fields.take_text("file", file));
  const auto files = ASSAY_TRY(list_of(fields, "files"));
  const auto replicas = ASSAY_TRY(list_of(fields, "replicas"));
  if (file.empty() == files.empty()) return fields.error("needs one of 'file' and 'files'");
  if (!files.empty() && !replicas.empty()) {
    return fields.error("has 'files' and 'replicas': the replicas are those of one job's 'file'");
  }
  std::string name;
  ASSAY_TRY(take_name(fields, fs::path(file).stem().string(), name));
  for (const std::string& one : files) {
    const fs::path path = path_of(one);
    ASSAY_TRY(add(fields.node(), {.values = {name, path.stem().string()},
                                  .apply = [path](StudyTask& task) { task.file = path; }}));
  }
  const fs::path path = path_of(file);
  if (files.empty() && replicas.empty()) {
    return add(fields.node(),
               {.values = {name, ""}, .apply = [path](StudyTask& task) { task.file = path; }});
  }
  for (const std::string& one : replicas) {
    double count = 0;
    const bool good = YAML::convert<double>::decode(YAML::Node(one), count) && count >= 1 &&
                      count <= kMostReplicas && count == static_cast<double>(std::uint32_t(count));
    if (!good) return fields.bad("replicas", fmt::format("has '{}', which is no count", one));
    ASSAY_TRY(add(fields.node(), {.values = {name, one}, .apply = [path, count](StudyTask& task) {
                                    task.file = path;
                                    task.replicas = static_cast<std::uint32_t>(count);
                                  }}));
  }
  return {};
}

core::Status StudyReader::take_jobs(Fields& all) {
  ASSAY_TRY(begin({"job", "size"}));
  ASSAY_TRY(for_each_item(all, "jobs", "a job", [&](Fields& item) { return take_job(item); }));
  return check_filled(all, "jobs");
}

core::Status StudyReader::take_network(Fields& fields) {
  std::string file;
  std::string params;
  std::string topology;
  ASSAY_TRY(fields.take_text("file", file));
  ASSAY_TRY(fields.take_text("params", params));
  ASSAY_TRY(fields.take_text("topology", topology));
  std::string name;
  ASSAY_TRY(take_name(fields, fs::path(file.empty() ? params : file).stem().string(), name));
  const StudyTask parts{
      .network = path_of(file), .params = path_of(params), .topology = path_of(topology)};
  return add(fields.node(), {.values = {name}, .apply = [parts](StudyTask& task) {
                               task.network = parts.network;
                               task.params = parts.params;
                               task.topology = parts.topology;
                             }});
}

core::Status StudyReader::take_networks(Fields& all) {
  if (!all.has("networks")) return {};
  ASSAY_TRY(begin({"network"}));
  ASSAY_TRY(for_each_item(all, "networks", "a network",
                          [&](Fields& item) { return take_network(item); }));
  return check_filled(all, "networks");
}

core::Status StudyReader::take_failures(Fields& all) {
  if (!all.has("failures")) return {};
  ASSAY_TRY(begin({"failure"}));
  ASSAY_TRY(for_each_item(all, "failures", "a failure", [&](Fields& item) -> core::Status {
    std::string name;
    ASSAY_TRY(take_name(item, "", name));
    FabricSpec spec;
    ASSAY_TRY(take_conditions(item, spec));
    Conditions conditions{.changes = std::move(spec.changes),
                          .background = std::move(spec.background)};
    if (item.node()["noise"].IsDefined()) conditions.noise = spec.noise;
    for (const char* part : {"changes", "background", "noise"}) {
      const YAML::Node node = item.at(part);
      if (node.IsDefined()) conditions.text += fmt::format("{}: {}\n", part, YAML::Dump(node));
    }
    return add(item.node(), {.values = {name}, .apply = [conditions](StudyTask& task) {
                               task.conditions = conditions;
                             }});
  }));
  return check_filled(all, "failures");
}

// The axes whose values are words of the command.
core::Status StudyReader::take_words_axis(Fields& all) {
  struct Words {
    const char* name;
    std::array<const char*, 2> words;  // the second one sets the flag
    bool StudyTask::*flag;
  };

  for (const Words& axis : {Words{"collectives", {"exact", "cost"}, &StudyTask::costs},
                            Words{"compat", {"none", "atlahs"}, &StudyTask::atlahs}}) {
    const auto words = ASSAY_TRY(list_of(all, axis.name));
    if (words.empty()) continue;
    ASSAY_TRY(begin({axis.name}));
    for (const std::string& word : words) {
      if (word != axis.words[0] && word != axis.words[1]) {
        return all.bad(axis.name, fmt::format("has '{}', which is neither {} nor {}", word,
                                              axis.words[0], axis.words[1]));
      }
      const bool value = word == axis.words[1];
      ASSAY_TRY(add(all.at(axis.name),
                    {.values = {word},
                     .apply = [flag = axis.flag, value](StudyTask& task) { task.*flag = value; }}));
    }
  }
  return {};
}

core::Status StudyReader::take_seeds(Fields& all) {
  const auto seeds = ASSAY_TRY(list_of(all, "seeds"));
  if (seeds.empty()) return {};
  ASSAY_TRY(begin({"seed"}));
  for (const std::string& text : seeds) {
    std::uint64_t seed = 0;
    if (!YAML::convert<std::uint64_t>::decode(YAML::Node(text), seed)) {
      return all.bad("seeds", fmt::format("has '{}', which is no whole number", text));
    }
    ASSAY_TRY(add(all.at("seeds"),
                  {.values = {text}, .apply = [seed](StudyTask& task) { task.seed = seed; }}));
  }
  return {};
}

core::Status StudyReader::take_link_option(Fields& options, const char* option) {
  const auto values = ASSAY_TRY(list_of(options, option));
  if (values.empty()) return {};
  ASSAY_TRY(begin({option}));
  for (const std::string& text : values) {
    double value = 0;
    const bool good = YAML::convert<double>::decode(YAML::Node(text), value) && value >= 0 &&
                      value <= kMostOfLinks;
    if (!good) {
      return options.bad(option, fmt::format("has '{}', which is no number of at least 0", text));
    }
    ASSAY_TRY(add(options.at(option),
                  {.values = {text}, .apply = [name = std::string(option), value](StudyTask& task) {
                     task.links[name] = value;
                   }}));
  }
  return {};
}

core::Status StudyReader::take_options(Fields& all) {
  if (!all.has("options")) return {};
  Fields options = ASSAY_TRY(Fields::of(all.at("options"), "'options'"));
  for (const char* option : kLinkOptions)
    ASSAY_TRY(take_link_option(options, option));
  return options.finish();
}

// Values of an axis: one or a list.
core::Result<std::vector<std::string>> StudyReader::values_of(const YAML::Node& node,
                                                              const std::string& axis) const {
  std::set<std::string> known;
  const auto place = static_cast<std::ptrdiff_t>(*study_.axis(axis));
  std::ptrdiff_t first = 0;
  for (const StudyDimension& dimension : study_.dimensions) {
    const auto size = static_cast<std::ptrdiff_t>(dimension.front().values.size());
    for (const StudyChoice& choice : dimension) {
      if (place >= first && place < first + size)
        known.insert(choice.values[static_cast<std::size_t>(place - first)]);
    }
    first += size;
  }
  std::vector<std::string> values;
  if (node.IsScalar()) values.push_back(node.Scalar());
  for (const auto& item : node) {
    if (node.IsSequence() && item.IsScalar()) values.push_back(item.Scalar());
  }
  if (values.empty() || (node.IsSequence() && values.size() != node.size())) {
    return at_line(node,
                   fmt::format("'{}' is neither a value of that axis nor a list of them", axis));
  }
  for (const std::string& value : values) {
    if (known.contains(value)) continue;
    return at_line(node, fmt::format("'{}' has no value '{}'; there are {}", axis, value,
                                     core::join(std::vector(known.begin(), known.end()), ", ")));
  }
  return values;
}

core::Result<StudySelection> StudyReader::selection_of(const YAML::Node& node,
                                                       const std::string& what) {
  static_cast<void>(ASSAY_TRY(Fields::of(node, what)));
  StudySelection selection;
  for (const auto& item : node) {
    const std::string axis = item.first.Scalar();
    const auto place = study_.axis(axis);
    if (!place) {
      return at_line(item.first, fmt::format("{} names '{}', which is no axis of this study; there "
                                             "are {}",
                                             what, axis, core::join(study_.axes, ", ")));
    }
    selection.values.emplace_back(*place, ASSAY_TRY(values_of(item.second, axis)));
  }
  return selection;
}

core::Status StudyReader::take_selections(Fields& all,
                                          const char* name,
                                          std::vector<StudySelection>& selections) {
  if (!all.has(name)) return {};
  if (!all.at(name).IsSequence()) return all.bad(name, "is no list");
  for (const auto& item : all.at(name))
    selections.push_back(ASSAY_TRY(selection_of(item, fmt::format("an entry of '{}'", name))));
  return {};
}

// By default the first of the first axis with several values that are no sizes and no seeds.
core::Status StudyReader::take_baseline(Fields& all) {
  if (all.has("baseline")) {
    study_.baseline = ASSAY_TRY(selection_of(all.at("baseline"), "'baseline'"));
    for (const auto& [axis, values] : study_.baseline.values) {
      if (values.size() != 1) return all.bad("baseline", "has several values of one axis");
    }
    return {};
  }
  for (std::size_t i = 1; i < study_.dimensions.size(); ++i) {
    const std::size_t axis = i + 1;
    if (study_.axes[axis] == "seed" || study_.dimensions[i].size() < 2) continue;
    study_.baseline.values.emplace_back(axis, study_.dimensions[i].front().values);
    return {};
  }
  return {};
}

core::Result<Study> StudyReader::read(const YAML::Node& root) {
  Fields all = ASSAY_TRY(Fields::of(root, "the file"));
  ASSAY_TRY(take_jobs(all));
  ASSAY_TRY(take_networks(all));
  ASSAY_TRY(take_failures(all));
  ASSAY_TRY(take_words_axis(all));
  ASSAY_TRY(take_seeds(all));
  ASSAY_TRY(take_options(all));
  ASSAY_TRY(take_selections(all, "exclude", study_.exclude));
  ASSAY_TRY(take_selections(all, "only", study_.only));
  ASSAY_TRY(take_baseline(all));
  ASSAY_TRY(all.finish());
  return std::move(study_);
}

// Returns what is impossible about a task, or "".
std::string problem_of(const StudyTask& task) {
  const bool plain = task.network.empty();
  if (plain && task.conditions.any()) return "a failure needs a network with a 'file'";
  if (!plain && task.costs) return "'collectives: cost' knows no network with a 'file'";
  if (!plain && task.atlahs) return "'compat: atlahs' knows no network with a 'file'";
  if (task.costs && task.atlahs) return "'compat: atlahs' knows no costs";
  return "";
}

std::string described(const Study& study, const StudyTask& task) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < task.values.size(); ++i) {
    if (!task.values[i].empty()) parts.push_back(study.axes[i] + ": " + task.values[i]);
  }
  return core::join(parts, ", ");
}

bool wanted(const Study& study, const StudyTask& task) {
  const auto holds = [&](const StudySelection& selection) { return selection.holds(task); };
  return std::none_of(study.exclude.begin(), study.exclude.end(), holds) &&
         (study.only.empty() || std::any_of(study.only.begin(), study.only.end(), holds));
}

// Digests of files, each of which is read once.
class FileDigests {
 public:
  core::Status add(const fs::path& path, core::Digest& digest) {
    if (path.empty()) {
      digest.add("");
      return {};
    }
    const auto [known, is_new] = known_.try_emplace(path.string());
    if (is_new) {
      const core::MappedFile file = ASSAY_TRY(core::MappedFile::open(path));
      core::Digest content;
      content.add(file.bytes());
      known->second = content.text();
    }
    digest.add(known->second);
    return {};
  }

 private:
  std::map<std::string, std::string> known_;
};

core::Result<std::string> key_of(const StudyTask& task,
                                 const std::string& program,
                                 FileDigests& files) {
  core::Digest digest;
  digest.add(program);
  for (const fs::path& path : {task.file, task.network, task.params, task.topology})
    ASSAY_TRY(files.add(path, digest));
  const fs::path notes = model::notes_path(task.file);
  ASSAY_TRY(files.add(core::is_regular_file(notes) ? notes : fs::path(), digest));
  // Without a network nothing is random.
  const bool random = task.seed && !task.network.empty();
  digest.add(fmt::format("{} {} {} {}", task.replicas, task.costs, task.atlahs,
                         random ? std::to_string(*task.seed) : "none"));
  digest.add(task.conditions.text);
  for (const auto& [name, value] : task.links)
    digest.add(fmt::format("{} {}", name, value));
  return digest.text();
}

}  // namespace

bool StudySelection::holds(const StudyTask& task) const {
  return std::all_of(values.begin(), values.end(), [&](const auto& value) {
    const std::vector<std::string>& some = value.second;
    return std::find(some.begin(), some.end(), task.values[value.first]) != some.end();
  });
}

std::optional<std::size_t> Study::axis(std::string_view axis_name) const {
  const auto found = std::find(axes.begin(), axes.end(), axis_name);
  if (found == axes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - axes.begin());
}

core::Result<Study> parse_study(std::string_view yaml,
                                const std::string& name,
                                const fs::path& folder) {
  // yaml-cpp throws; here its exceptions become errors.
  try {
    auto study = StudyReader(name, folder).read(YAML::Load(std::string(yaml)));
    if (!study.ok()) return study.error().context(name);
    return study;
  } catch (const YAML::Exception& error) {
    return core::Error{fmt::format("{}: line {}: {}", name, error.mark.line + 1, error.msg)};
  }
}

core::Result<Study> read_study(const fs::path& path) {
  return parse_study(ASSAY_TRY(core::read_text(path, core::TextFormat::kYaml)), path.string(),
                     path.parent_path());
}

core::Result<std::vector<StudyTask>> combinations(const Study& study) {
  std::size_t count = 1;
  for (const StudyDimension& dimension : study.dimensions) {
    count *= dimension.size();
    if (count <= kMostTasks) continue;
    return core::Error{
        fmt::format("{}: the product of all axes has more than {} tasks", study.name, kMostTasks)};
  }
  std::vector<StudyTask> tasks;
  for (std::size_t number = 0; number < count; ++number) {
    StudyTask task;
    std::size_t below = count;
    for (const StudyDimension& dimension : study.dimensions) {
      below /= dimension.size();
      const StudyChoice& choice = dimension[number / below % dimension.size()];
      task.values.insert(task.values.end(), choice.values.begin(), choice.values.end());
      choice.apply(task);
    }
    if (!wanted(study, task)) continue;
    if (const std::string problem = problem_of(task); !problem.empty()) {
      return core::Error{fmt::format("{}: {}: leave this out by 'exclude': {{{}}}", study.name,
                                     problem, described(study, task))};
    }
    tasks.push_back(std::move(task));
  }
  if (!tasks.empty()) return tasks;
  return core::Error{fmt::format("{}: 'exclude' and 'only' leave no task", study.name)};
}

core::Result<std::vector<StudyTask>> plan_tasks(const Study& study, const std::string& program) {
  std::vector<StudyTask> tasks = ASSAY_TRY(combinations(study));
  FileDigests files;
  for (StudyTask& task : tasks) {
    auto key = key_of(task, program, files);
    if (!key.ok()) return key.error().context(study.name);
    task.key = std::move(key).value();
  }
  return tasks;
}

}  // namespace assay::simulate
