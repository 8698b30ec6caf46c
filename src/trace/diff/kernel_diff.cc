#include "trace/diff/kernel_diff.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/statistics.h"

namespace assay::trace {
namespace {

using Uses = std::vector<KernelUse>;
// Kernels that communicate are never taken for kernels that compute.
using PairingKey = std::tuple<GpuWork, std::string, std::string, std::string>;
using KeyOf = std::function<PairingKey(const KernelUse&)>;

double total_us(const Uses& uses) {
  double total = 0;
  for (const KernelUse& use : uses)
    total += use.time_us;
  return total;
}

double total_calls(const Uses& uses) {
  double total = 0;
  for (const KernelUse& use : uses)
    total += use.calls;
  return total;
}

double total_wait_us(const Uses& uses) {
  double total = 0;
  for (const KernelUse& use : uses)
    total += use.wait_us;
  return total;
}

void sort_by_time(Uses& uses) {
  std::stable_sort(uses.begin(), uses.end(), [](const KernelUse& a, const KernelUse& b) {
    return a.time_us != b.time_us ? a.time_us > b.time_us : a.key < b.key;
  });
}

KernelDifference difference_of(KernelChange change, Uses baseline, Uses test) {
  KernelDifference row{.change = change, .baseline = std::move(baseline), .test = std::move(test)};
  sort_by_time(row.baseline);
  sort_by_time(row.test);
  row.baseline_us = total_us(row.baseline);
  row.test_us = total_us(row.test);
  const double calls = total_calls(row.baseline);
  const double more = total_calls(row.test) - calls;
  double more_waits_us = 0;  // from calls alone
  if (row.baseline.empty() || row.test.empty()) {
    row.calls_effect_us = row.effect_us();
    more_waits_us = total_wait_us(row.test) - total_wait_us(row.baseline);
  } else if (change != KernelChange::kReplaced && change != KernelChange::kResized && calls > 0) {
    row.calls_effect_us = more * row.baseline_us / calls;
    more_waits_us = more * total_wait_us(row.baseline) / calls;
  }
  row.per_call_effect_us = row.effect_us() - row.calls_effect_us;
  row.wait_effect_us = total_wait_us(row.test) - total_wait_us(row.baseline) - more_waits_us;
  return row;
}

// Returns the spread of a call's own time over several uses, as if all were one sample.
struct CallSample {
  double mean_us = 0;
  double variance = 0;
  double count = 0;
};

CallSample sample_of(const Uses& uses) {
  CallSample sample;
  double squares = 0;
  for (const KernelUse& use : uses) {
    const auto n = static_cast<double>(use.samples);
    sample.count += n;
    sample.mean_us += n * use.own_us();
    const double variance = use.samples < 2 ? 0 : use.deviation_us * use.deviation_us;
    squares += (n - 1) * variance + n * use.own_us() * use.own_us();
  }
  if (sample.count == 0) return sample;
  sample.mean_us /= sample.count;
  const double around = squares - sample.count * sample.mean_us * sample.mean_us;
  sample.variance = sample.count < 2 ? 0 : std::max(0.0, around) / (sample.count - 1);
  return sample;
}

enum class Means : std::uint8_t { kSame, kUnclear, kDiffer };

// Welch's test, from moments. A single call tells no spread, so the tolerance alone must do.
Means compare_means(const Uses& baseline, const Uses& test, const KernelDiffOptions& options) {
  const CallSample a = sample_of(baseline);
  const CallSample b = sample_of(test);
  const double change = std::fabs(b.mean_us - a.mean_us);
  if (change <= a.mean_us * options.tolerance_percent / 100) return Means::kSame;
  if (a.count < 2 || b.count < 2) return Means::kDiffer;
  const double va = a.variance / a.count;
  const double vb = b.variance / b.count;
  if (va + vb <= 0) return Means::kDiffer;
  const double freedom =
      (va + vb) * (va + vb) / (va * va / (a.count - 1) + vb * vb / (b.count - 1));
  const double noise = core::student_t(options.confidence, freedom) * std::sqrt(va + vb);
  return change > noise ? Means::kDiffer : Means::kUnclear;
}

// Tells how a call differs, however many there are. A wait is another rank's doing, so that it is
// no verdict on what waits.
KernelChange change_of_call(const KernelDifference& row, const KernelDiffOptions& options) {
  const double own_effect_us = row.per_call_effect_us - row.wait_effect_us;
  if (!(std::fabs(own_effect_us) >= std::fabs(row.wait_effect_us))) {
    const double before_us = row.baseline_us + row.calls_effect_us;
    if (std::fabs(row.per_call_effect_us) <= before_us * options.tolerance_percent / 100)
      return KernelChange::kSame;
    if (std::isnan(row.wait_effect_us)) return KernelChange::kNotJudged;
    return row.wait_effect_us > 0 ? KernelChange::kLongerWait : KernelChange::kShorterWait;
  }
  const Means means = compare_means(row.baseline, row.test, options);
  if (means == Means::kSame) return KernelChange::kSame;
  if (means == Means::kUnclear) return KernelChange::kUnclear;
  return own_effect_us > 0 ? KernelChange::kSlower : KernelChange::kFaster;
}

KernelChange change_of(const KernelDifference& row, const KernelDiffOptions& options) {
  const double more = total_calls(row.test) - total_calls(row.baseline);
  const bool other_calls = std::fabs(more) > 1e-9 * total_calls(row.baseline);
  const KernelChange by_call = change_of_call(row, options);
  const bool other_mean = by_call != KernelChange::kSame && by_call != KernelChange::kUnclear;
  if (other_calls &&
      (!other_mean || std::fabs(row.calls_effect_us) >= std::fabs(row.per_call_effect_us)))
    return more > 0 ? KernelChange::kMoreCalls : KernelChange::kFewerCalls;
  return by_call;
}

// What has not found its like yet.
struct Rest {
  Uses baseline;
  Uses test;
};

// Makes a row of each key that both sides have, and leaves the others in `rest`.
template <class AddRow>
void pair_by(const KeyOf& key_of, Rest& rest, const AddRow& add_row) {
  std::map<PairingKey, Rest> groups;
  for (KernelUse& use : rest.baseline)
    groups[key_of(use)].baseline.push_back(std::move(use));
  for (KernelUse& use : rest.test)
    groups[key_of(use)].test.push_back(std::move(use));
  rest = {};
  for (auto& [key, group] : groups) {
    if (!group.baseline.empty() && !group.test.empty()) {
      add_row(std::move(group));
      continue;
    }
    std::move(group.baseline.begin(), group.baseline.end(), std::back_inserter(rest.baseline));
    std::move(group.test.begin(), group.test.end(), std::back_inserter(rest.test));
  }
}

PairingKey whole_key(const KernelUse& use) {
  return {use.work, use.key.path, use.key.operation + '\n' + use.key.shapes, use.key.kernel};
}

PairingKey without_path(const KernelUse& use) {
  return {use.work, {}, use.key.operation + '\n' + use.key.shapes, use.key.kernel};
}

PairingKey kernel_alone(const KernelUse& use) {
  return {use.work, {}, {}, use.key.kernel};
}

PairingKey without_kernel(const KernelUse& use) {
  return {use.work, use.key.path, use.key.operation, use.key.shapes};
}

PairingKey operator_and_shapes(const KernelUse& use) {
  return {use.work, {}, use.key.operation, use.key.shapes};
}

PairingKey place_and_operator(const KernelUse& use) {
  return {use.work, use.key.path, use.key.operation, {}};
}

PairingKey place(const KernelUse& use) {
  return {use.work, use.key.path, {}, {}};
}

// The runs of one kernel on one side.
struct KernelRuns {
  double linked_calls = 0;
  double calls = 0;  // this and the rest: of those whose launch record is missing
  double time_us = 0;
  double wait_us = 0;
  double samples = 0;
};

using RunsOfKernels = std::map<std::pair<GpuWork, std::string>, KernelRuns>;

RunsOfKernels runs_of_kernels(const Uses& uses) {
  RunsOfKernels kernels;
  for (const KernelUse& use : uses) {
    KernelRuns& runs = kernels[{use.work, use.key.kernel}];
    if (!use.key.operation.empty()) {
      runs.linked_calls += use.calls;
      continue;
    }
    runs.calls += use.calls;
    runs.time_us += use.time_us;
    runs.wait_us += use.wait_us;
    runs.samples += static_cast<double>(use.samples);
  }
  return kernels;
}

// Takes runs of a kernel whose launch record is missing, such as those of one rank, for runs of
// what launches it elsewhere on this side, in proportion, where the other side knows all of its
// launches: they have no like there.
void share_unlinked(Uses& uses, const Uses& there) {
  RunsOfKernels shared = runs_of_kernels(uses);
  const RunsOfKernels others = runs_of_kernels(there);
  std::erase_if(shared, [&](const auto& kernel) {
    const auto other = others.find(kernel.first);
    return kernel.second.calls == 0 || kernel.second.linked_calls == 0 || other == others.end() ||
           other->second.calls > 0;
  });
  std::erase_if(uses, [&](const KernelUse& use) {
    return use.key.operation.empty() && shared.contains({use.work, use.key.kernel});
  });
  for (KernelUse& use : uses) {
    const auto found = shared.find({use.work, use.key.kernel});
    if (found == shared.end()) continue;
    const double share = use.calls / found->second.linked_calls;
    use.calls += share * found->second.calls;
    use.time_us += share * found->second.time_us;
    use.wait_us += share * found->second.wait_us;
    use.samples += std::llround(share * found->second.samples);
  }
}

bool says_more(const KernelDifference& a, const KernelDifference& b) {
  const double first = std::fabs(a.effect_us());
  const double second = std::fabs(b.effect_us());
  if (first != second) return first > second;
  return a.baseline_us + a.test_us > b.baseline_us + b.test_us;
}

class Pairing {
 public:
  Pairing(std::span<const KernelUse> baseline,
          std::span<const KernelUse> test,
          const KernelDiffOptions& options)
      : options_(options), rest_{{baseline.begin(), baseline.end()}, {test.begin(), test.end()}} {}

  std::vector<KernelDifference> rows() && {
    share_unlinked(rest_.baseline, rest_.test);
    share_unlinked(rest_.test, rest_.baseline);
    pair_same(whole_key);
    pair_same(without_path);
    pair_unlinked();
    pair_other(without_kernel, KernelChange::kReplaced);
    pair_other(operator_and_shapes, KernelChange::kReplaced);
    pair_other(place_and_operator, KernelChange::kResized);
    pair_places();
    for (KernelUse& use : rest_.baseline)
      rows_.push_back(difference_of(KernelChange::kRemoved, {std::move(use)}, {}));
    for (KernelUse& use : rest_.test)
      rows_.push_back(difference_of(KernelChange::kAdded, {}, {std::move(use)}));
    std::stable_sort(rows_.begin(), rows_.end(), says_more);
    return std::move(rows_);
  }

 private:
  void pair_same(const KeyOf& key_of) {
    pair_by(key_of, rest_, [this](Rest group) {
      rows_.push_back(
          difference_of(KernelChange::kSame, std::move(group.baseline), std::move(group.test)));
      rows_.back().change = change_of(rows_.back(), options_);
    });
  }

  void pair_other(const KeyOf& key_of, KernelChange change) {
    pair_by(key_of, rest_, [&](Rest group) {
      rows_.push_back(difference_of(change, std::move(group.baseline), std::move(group.test)));
    });
  }

  // Takes all but those for which `stays` holds out of what is left, and returns them.
  Rest set_aside(const std::function<bool(const KernelUse&)>& stays) {
    Rest aside;
    const auto move_others = [&stays](Uses& uses, Uses& others) {
      const auto first = std::stable_partition(uses.begin(), uses.end(), stays);
      std::move(first, uses.end(), std::back_inserter(others));
      uses.erase(first, uses.end());
    };
    move_others(rest_.baseline, aside.baseline);
    move_others(rest_.test, aside.test);
    return aside;
  }

  void put_back(Rest aside) {
    std::move(aside.baseline.begin(), aside.baseline.end(), std::back_inserter(rest_.baseline));
    std::move(aside.test.begin(), aside.test.end(), std::back_inserter(rest_.test));
  }

  // What launched a kernel is not known where its launch record is missing. It is taken for the
  // same kernel of the other side, whatever launched that.
  void pair_unlinked() {
    std::set<std::string> unlinked;
    for (const Uses* uses : {&rest_.baseline, &rest_.test})
      for (const KernelUse& use : *uses)
        if (use.key.operation.empty()) unlinked.insert(use.key.kernel);
    if (unlinked.empty()) return;
    Rest linked =
        set_aside([&unlinked](const KernelUse& use) { return unlinked.count(use.key.kernel) > 0; });
    pair_same(kernel_alone);
    put_back(std::move(linked));
  }

  // Without a path, all that is left would be one place.
  void pair_places() {
    Rest nowhere = set_aside([](const KernelUse& use) { return !use.key.path.empty(); });
    pair_other(place, KernelChange::kReplaced);
    put_back(std::move(nowhere));
  }

  const KernelDiffOptions& options_;
  Rest rest_;
  std::vector<KernelDifference> rows_;
};

}  // namespace

std::string_view change_name(KernelChange change) {
  switch (change) {
    case KernelChange::kSame:
      return "same";
    case KernelChange::kUnclear:
      return "unclear";
    case KernelChange::kSlower:
      return "slower";
    case KernelChange::kFaster:
      return "faster";
    case KernelChange::kMoreCalls:
      return "more calls";
    case KernelChange::kFewerCalls:
      return "fewer calls";
    case KernelChange::kReplaced:
      return "replaced";
    case KernelChange::kResized:
      return "resized";
    case KernelChange::kLongerWait:
      return "longer wait";
    case KernelChange::kShorterWait:
      return "shorter wait";
    case KernelChange::kNotJudged:
      return "not judged";
    case KernelChange::kAdded:
      return "added";
    case KernelChange::kRemoved:
      return "removed";
  }
  return "";
}

std::vector<KernelDifference> kernel_differences(std::span<const KernelUse> baseline,
                                                 std::span<const KernelUse> test,
                                                 const KernelDiffOptions& options) {
  return Pairing(baseline, test, options).rows();
}

}  // namespace assay::trace
