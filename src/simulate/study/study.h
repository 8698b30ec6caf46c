// What a study file says: `assay simulate --study FILE.yaml`. docs/goal.md shows the format.
//
// A study is a product of axes, each of which chooses one thing that changes a simulation's result:
// the job and its size, the network, what fails in it, how collectives are simulated, the seed of
// what is random, and options of the command. A combination of all is a task. Tasks know nothing of
// each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "simulate/fabric/fabric_spec.h"

namespace assay::simulate {

// Of a failure: what it adds to a network file.
struct Conditions {
  std::vector<Change> changes = {};
  std::vector<Background> background = {};
  std::optional<NoiseSpec> noise = std::nullopt;
  std::string text = {};  // the same as in the file, for digests

  [[nodiscard]] bool any() const { return !changes.empty() || !background.empty() || noise; }
};

struct StudyTask {
  std::vector<std::string> values = {};  // by axis
  std::filesystem::path file = {};       // a schedule or a job
  std::uint32_t replicas = 0;            // of a job; 0: as in its file
  std::filesystem::path network = {};
  std::filesystem::path params = {};
  std::filesystem::path topology = {};
  Conditions conditions = {};
  std::optional<std::uint64_t> seed = std::nullopt;
  bool costs = false;   // --collectives cost
  bool atlahs = false;  // --compat atlahs
  LinkValues links = {};
  std::string key = {};  // a digest of all that decides the result
};

// One value of an axis; of the axes "job" and "size", which belong together, one of each.
struct StudyChoice {
  std::vector<std::string> values;
  std::function<void(StudyTask& task)> apply;
};

using StudyDimension = std::vector<StudyChoice>;

// Values of some axes, by their places.
struct StudySelection {
  std::vector<std::pair<std::size_t, std::vector<std::string>>> values = {};

  [[nodiscard]] bool holds(const StudyTask& task) const;
};

struct Study {
  std::string name;               // of the file
  std::vector<std::string> axes;  // "job", "size", "network", ...
  std::vector<StudyDimension> dimensions = {};
  std::vector<StudySelection> exclude = {};
  std::vector<StudySelection> only = {};
  // What a task is compared with: the one that has these values and is otherwise the same. Empty:
  // none.
  StudySelection baseline = {};

  [[nodiscard]] std::optional<std::size_t> axis(std::string_view axis_name) const;
};

core::Result<Study> read_study(const std::filesystem::path& path);

// The same for the text of a file, which errors call `name`. Paths in it are relative to `folder`.
core::Result<Study> parse_study(std::string_view yaml,
                                const std::string& name,
                                const std::filesystem::path& folder);

// Returns the combinations that the study wants, the last axis changing fastest, without keys.
// Fails when there is none or one that cannot be simulated, such as a failure without a network.
core::Result<std::vector<StudyTask>> combinations(const Study& study);

// The same with keys, for which all files are read. `program` is its name and version.
core::Result<std::vector<StudyTask>> plan_tasks(const Study& study, const std::string& program);

}  // namespace assay::simulate
