#include "trace/diff/path_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include "trace/modules.h"

namespace assay::trace {
namespace {

struct Place {
  std::string path;
  std::string name;
  std::vector<std::size_t> inside;  // by number, so Linear_2 stands before Linear_10
};

// Splits a name into its class and its number, of which the number orders modules of one class.
std::pair<std::string_view, long> class_and_number(std::string_view name) {
  const std::string_view type = module_class(name);
  if (type.size() == name.size()) return {name, -1};
  constexpr std::size_t kDigits = 9;  // of any number of modules
  return {type,
          std::strtol(std::string(name.substr(type.size() + 1, kDigits)).c_str(), nullptr, 10)};
}

// The places of one run. The first is the root, which has no name.
class Places {
 public:
  explicit Places(std::span<const KernelUse> uses) : places_(1) {
    for (const KernelUse& use : uses)
      if (!use.key.path.empty()) add(use.key.path);
    for (Place& place : places_)
      std::stable_sort(place.inside.begin(), place.inside.end(), [&](std::size_t a, std::size_t b) {
        return class_and_number(places_[a].name) < class_and_number(places_[b].name);
      });
  }

  [[nodiscard]] const Place& operator[](std::size_t place) const { return places_[place]; }

 private:
  std::size_t add(const std::string& path) {
    if (path.empty()) return 0;
    const auto known = by_path_.find(path);
    if (known != by_path_.end()) return known->second;
    const std::size_t slash = path.find_last_of('/');
    const bool outermost = slash == std::string::npos;
    const std::size_t around = add(outermost ? std::string() : path.substr(0, slash));
    const std::size_t place = places_.size();
    places_.push_back({path, outermost ? path : path.substr(slash + 1), {}});
    places_[around].inside.push_back(place);
    by_path_.emplace(path, place);
    return place;
  }

  std::vector<Place> places_;
  std::map<std::string, std::size_t> by_path_;
};

class Matching {
 public:
  Matching(const Places& baseline, const Places& test) : baseline_(baseline), test_(test) {}

  std::map<std::string, std::string> names() && {
    match_inside(0, 0, {});
    return std::move(names_);
  }

 private:
  using Unmatched = std::vector<std::size_t>;

  // Matches what is inside of two places that match. `prefix` is what the test's place is called.
  void match_inside(std::size_t a, std::size_t b, const std::string& prefix) {
    Unmatched of_baseline = baseline_[a].inside;
    Unmatched of_test = test_[b].inside;
    match_by(of_baseline, of_test, [](const Place& place) { return place.name; });
    match_by(of_baseline, of_test,
             [](const Place& place) { return std::string(module_class(place.name)); });
    unwrap(of_baseline, of_test);
    for (const std::size_t place : of_test)
      keep_under(place, prefix);
  }

  // Matches the nth place with a key to the nth of the test's with that key.
  template <class Key>
  void match_by(Unmatched& of_baseline, Unmatched& of_test, const Key& key) {
    std::map<std::string, Unmatched> by_key;
    for (auto place = of_test.rbegin(); place != of_test.rend(); ++place)
      by_key[key(test_[*place])].push_back(*place);
    std::set<std::size_t> taken;
    std::erase_if(of_baseline, [&](std::size_t x) {
      Unmatched& candidates = by_key[key(baseline_[x])];
      if (candidates.empty()) return false;
      taken.insert(candidates.back());
      match(x, candidates.back());
      candidates.pop_back();
      return true;
    });
    std::erase_if(of_test, [&](std::size_t y) { return taken.count(y) > 0; });
  }

  void match(std::size_t x, std::size_t y) {
    rename(y, baseline_[x].path);
    match_inside(x, y, baseline_[x].path);
  }

  static const std::size_t* child_of_class(const Places& places,
                                           std::size_t wrapper,
                                           std::string_view name) {
    for (const std::size_t& inner : places[wrapper].inside)
      if (module_class(places[inner].name) == module_class(name)) return &inner;
    return nullptr;
  }

  // A side may wrap what the other has directly: DistributedDataParallel, a compiled module.
  void unwrap(Unmatched& of_baseline, Unmatched& of_test) {
    // Each is tried with each, which wrappers are never so many that it takes long.
    constexpr std::size_t kMostTried = 10'000;
    if (of_baseline.size() * of_test.size() > kMostTried) return;
    std::erase_if(of_baseline, [&](std::size_t x) {
      for (auto y = of_test.begin(); y != of_test.end(); ++y) {
        const std::size_t* inner = child_of_class(test_, *y, baseline_[x].name);
        const std::size_t* deeper = child_of_class(baseline_, x, test_[*y].name);
        if (inner == nullptr && deeper == nullptr) continue;
        if (inner != nullptr)
          match(x, *inner);
        else
          match(*deeper, *y);
        of_test.erase(y);
        return true;
      }
      return false;
    });
  }

  // What only the test has keeps its name, under the name that the place around it has got.
  void keep_under(std::size_t place, const std::string& prefix) {
    const std::string path = prefix.empty() ? test_[place].name : prefix + '/' + test_[place].name;
    rename(place, path);
    for (const std::size_t inner : test_[place].inside)
      keep_under(inner, path);
  }

  void rename(std::size_t place, const std::string& path) {
    if (test_[place].path != path) names_[test_[place].path] = path;
  }

  const Places& baseline_;
  const Places& test_;
  std::map<std::string, std::string> names_;
};

using Sums = std::map<std::string, PathDifference>;

PathDifference& sum_at(Sums& sums, const std::string& path) {
  PathDifference& sum = sums[path];
  if (sum.path.empty()) {
    sum.path = path;
    sum.depth = static_cast<int>(std::count(path.begin(), path.end(), '/'));
  }
  return sum;
}

template <class Add>
void add_to_all_around(Sums& sums, const std::string& path, const Add& add) {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
    add(sum_at(sums, path.substr(0, end)));
  if (!path.empty()) add(sum_at(sums, path));
}

void append_inside(const std::map<std::string, std::vector<const PathDifference*>>& inside,
                   const std::string& path,
                   std::vector<PathDifference>& rows) {
  const auto found = inside.find(path);
  if (found == inside.end()) return;
  for (const PathDifference* row : found->second) {
    rows.push_back(*row);
    append_inside(inside, row->path, rows);
  }
}

}  // namespace

std::map<std::string, std::string> matching_paths(std::span<const KernelUse> baseline,
                                                  std::span<const KernelUse> test) {
  const Places of_baseline(baseline);
  const Places of_test(test);
  return Matching(of_baseline, of_test).names();
}

void rename_paths(const std::map<std::string, std::string>& names, std::vector<KernelUse>& test) {
  for (KernelUse& use : test) {
    const auto found = names.find(use.key.path);
    if (found != names.end()) use.key.path = found->second;
  }
}

std::vector<PathDifference> path_differences(std::span<const KernelUse> baseline,
                                             std::span<const KernelUse> test) {
  Sums sums;
  for (const KernelUse& use : baseline)
    add_to_all_around(sums, use.key.path, [&](PathDifference& sum) {
      sum.baseline_kernels += use.calls;
      sum.baseline_us += use.time_us;
    });
  for (const KernelUse& use : test)
    add_to_all_around(sums, use.key.path, [&](PathDifference& sum) {
      sum.test_kernels += use.calls;
      sum.test_us += use.time_us;
    });
  std::map<std::string, std::vector<const PathDifference*>> inside;
  for (const auto& [path, sum] : sums) {
    const std::size_t slash = path.find_last_of('/');
    inside[slash == std::string::npos ? std::string() : path.substr(0, slash)].push_back(&sum);
  }
  for (auto& [path, rows] : inside)
    std::stable_sort(rows.begin(), rows.end(),
                     [](const PathDifference* a, const PathDifference* b) {
                       return std::fabs(a->effect_us()) > std::fabs(b->effect_us());
                     });
  std::vector<PathDifference> rows;
  append_inside(inside, {}, rows);
  return rows;
}

}  // namespace assay::trace
