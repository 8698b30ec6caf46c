#include "allreduce/codegen/nccl_tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/statistics.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

// The example plugin reads sizes with strtoull() and compares them as size_t.
constexpr std::int64_t kAllSizes = std::numeric_limits<std::int64_t>::max();
// The plugin reads lines of at most 255 bytes and takes the rest of a longer line as a new line.
constexpr std::size_t kMostCommentBytes = 200;

struct TimedArm {
  NcclArm arm;
  DataType data_type = DataType::kBfloat16;
  NcclArm ran;  // the setting that NCCL ran, where that is known
  std::vector<double> times_us;
  std::vector<double> lows_us;
  std::vector<double> highs_us;

  [[nodiscard]] double time_us() const { return core::median(times_us); }

  [[nodiscard]] double low_us() const { return core::median(lows_us); }

  [[nodiscard]] double high_us() const { return core::median(highs_us); }

  // Returns what to write for it; std::nullopt if that is not known.
  [[nodiscard]] NcclArm setting() const { return arm ? arm : ran; }
};

// A setting that NCCL did not carry out, and what it ran instead.
struct Replaced {
  NcclSetting asked;
  NcclArm ran;
};

struct Size {
  std::vector<TimedArm> arms = {};  // in all data types that were measured
  std::vector<Replaced> replaced = {};
};

using ArmsBySize = std::map<std::int64_t, Size>;  // of a call, by its bytes
// Collective, number of ranks, launch.
using TunerKey = std::tuple<NcclCollective, int, Launch>;
using TunerTimings = std::map<TunerKey, ArmsBySize>;

void add_time(TimedArm& arm, const NcclMeasurement& m) {
  const bool has_interval = m.low_us > 0 && m.high_us > m.low_us;
  arm.times_us.push_back(m.time_us);
  arm.lows_us.push_back(has_interval ? m.low_us : m.time_us / (1 + kDefaultNoise));
  arm.highs_us.push_back(has_interval ? m.high_us : m.time_us * (1 + kDefaultNoise));
}

TunerTimings grouped(std::span<const NcclMeasurement> measurements) {
  TunerTimings result;
  for (const NcclMeasurement& m : measurements) {
    Size& size = result[{m.cell.collective, m.cell.world_size, m.cell.launch}][m.cell.size_bytes];
    if (m.outcome == Outcome::kUnsupported && m.arm)
      size.replaced.push_back({*m.arm, nccl_setting_named(m.ran)});
    if (m.outcome != Outcome::kOk || !(m.time_us > 0)) continue;
    auto& arms = size.arms;
    auto found = std::find_if(arms.begin(), arms.end(), [&](const TimedArm& timed) {
      return timed.arm == m.arm && timed.data_type == m.cell.data_type;
    });
    if (found == arms.end()) {
      TimedArm arm;
      arm.arm = m.arm;
      arm.data_type = m.cell.data_type;
      arm.ran = nccl_setting_named(m.ran);
      found = arms.insert(found, std::move(arm));
    }
    add_time(*found, m);
  }
  // A size at which only NCCL's own choice was measured, without telling what it is, says nothing.
  const auto says_nothing = [](const auto& size) {
    const std::vector<TimedArm>& arms = size.second.arms;
    return std::all_of(arms.begin(), arms.end(),
                       [](const TimedArm& arm) { return !arm.setting(); });
  };
  for (auto& [key, sizes] : result)
    std::erase_if(sizes, says_nothing);
  std::erase_if(result, [](const auto& sizes) { return sizes.second.empty(); });
  return result;
}

DataType first_type(const std::vector<TimedArm>& arms) {
  return std::min_element(
             arms.begin(), arms.end(),
             [](const TimedArm& a, const TimedArm& b) { return a.data_type < b.data_type; })
      ->data_type;
}

bool is_faster(const TimedArm& a, const TimedArm& b) {
  return a.time_us() < b.time_us();
}

// Returns the fastest of the arms, or one with the setting `kept` if it is at most a tie slower.
const TimedArm* preferred(const std::vector<const TimedArm*>& arms,
                          const NcclArm& kept,
                          double tie) {
  if (arms.empty()) return nullptr;
  const TimedArm* best =
      *std::min_element(arms.begin(), arms.end(),
                        [](const TimedArm* a, const TimedArm* b) { return is_faster(*a, *b); });
  for (const TimedArm* arm : arms) {
    const bool tied = arm->time_us() <= best->time_us() * (1 + tie);
    if (kept && arm->setting() == kept && tied) return arm;
  }
  return best;
}

std::int64_t middle(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
}

struct TunerRange {
  std::int64_t from_bytes = 0;
  std::int64_t to_bytes = 0;
  NcclArm setting;  // std::nullopt: NCCL's own choice, which gets no row
};

// Returns whether a setting may stand for sizes next to this one.
using MayReach = std::function<bool(const Size&, const NcclSetting&)>;

bool reaches_all(const Size& /*size*/, const NcclSetting& /*setting*/) {
  return true;
}

using ChooseArm = std::function<NcclArm(const std::vector<TimedArm>&, const NcclArm& kept)>;

// The ranges of neighbouring sizes with one choice. They go on to the middle between sizes where
// they may.
std::vector<TunerRange> ranges_of(const ArmsBySize& sizes,
                                  const ChooseArm& choose,
                                  const MayReach& may_reach) {
  std::vector<TunerRange> ranges;
  for (const auto& [bytes, size] : sizes) {
    const NcclArm kept = ranges.empty() ? NcclArm() : ranges.back().setting;
    const NcclArm chosen = choose(size.arms, kept);
    if (!ranges.empty() && chosen == kept) {
      ranges.back().to_bytes = bytes;
      continue;
    }
    std::int64_t from = bytes;
    if (!ranges.empty()) {
      TunerRange& smaller = ranges.back();
      const std::int64_t last = smaller.to_bytes;
      const std::int64_t border = middle(last, bytes);
      if (smaller.setting && may_reach(size, *smaller.setting)) smaller.to_bytes = border;
      if (chosen && may_reach(sizes.at(last), *chosen)) from = border + 1;
    }
    ranges.push_back({from, bytes, chosen});
  }
  return ranges;
}

// The fastest of all, NCCL's own choice by what it ran. A tuner is not told the data type; the
// first that was measured stands for all.
NcclArm fastest_setting(const std::vector<TimedArm>& arms, const NcclArm& kept, double tie) {
  std::vector<const TimedArm*> known;
  for (const TimedArm& arm : arms) {
    if (arm.setting() && arm.data_type == first_type(arms)) known.push_back(&arm);
  }
  const TimedArm* best = preferred(known, kept, tie);
  return best == nullptr ? NcclArm() : best->setting();
}

// Returns those that beat NCCL's own choice with this data type.
std::vector<const TimedArm*> better_arms(const std::vector<TimedArm>& arms,
                                         DataType data_type,
                                         double tie) {
  std::vector<const TimedArm*> better;
  const auto own = std::find_if(arms.begin(), arms.end(), [&](const TimedArm& arm) {
    return !arm.arm && arm.data_type == data_type;
  });
  if (own == arms.end()) return better;
  for (const TimedArm& arm : arms) {
    if (!arm.arm || arm.data_type != data_type) continue;
    const bool leads = arm.time_us() * (1 + tie) < own->time_us() && arm.high_us() < own->low_us();
    // A lead over NCCL's own choice by what NCCL chose is a quirk of the measurement.
    if (leads && arm.arm != own->ran) better.push_back(&arm);
  }
  return better;
}

// The fastest of those that beat NCCL's own choice with every data type that was measured, because
// a tuner is not told the type; std::nullopt if none does.
NcclArm better_setting(const std::vector<TimedArm>& arms, const NcclArm& kept, double tie) {
  std::vector<const TimedArm*> better = better_arms(arms, first_type(arms), tie);
  for (const TimedArm& other : arms) {
    if (other.data_type == first_type(arms)) continue;
    const auto there = better_arms(arms, other.data_type, tie);
    std::erase_if(better, [&](const TimedArm* one) {
      return std::none_of(there.begin(), there.end(),
                          [&](const TimedArm* arm) { return arm->arm == one->arm; });
    });
  }
  const TimedArm* best = preferred(better, kept, tie);
  return best == nullptr ? NcclArm() : best->arm;
}

// Returns what NCCL runs at this size where it is asked for a setting.
NcclArm carried_out(const Size& size, const NcclSetting& setting) {
  const auto found = std::find_if(size.replaced.begin(), size.replaced.end(),
                                  [&](const Replaced& one) { return one.asked == setting; });
  return found == size.replaced.end() ? NcclArm(setting) : found->ran;
}

// Returns whether a setting is known to be another one than NCCL's own choice at this size, and no
// slower, with all data types that were measured. NCCL may leave the same one for a better one
// between two sizes.
bool is_no_slower(const Size& size, const NcclSetting& setting) {
  const NcclArm ran = carried_out(size, setting);
  const auto is_slower = [&](const TimedArm& own) {
    return std::none_of(size.arms.begin(), size.arms.end(), [&](const TimedArm& other) {
      return other.arm == ran && other.data_type == own.data_type &&
             other.time_us() <= own.time_us();
    });
  };
  return ran && std::none_of(size.arms.begin(), size.arms.end(), [&](const TimedArm& own) {
           return !own.arm && (own.ran == ran || is_slower(own));
         });
}

std::string row_text(NcclCollective collective, int world_size, const TunerRange& range) {
  return fmt::format("{},{},{},{},{},{},1,{}", name_of(collective), range.from_bytes,
                     range.to_bytes, range.setting->algorithm, range.setting->protocol,
                     range.setting->channels, world_size);
}

std::string measured_sizes(const TunerKey& key, const ArmsBySize& sizes) {
  const auto& [collective, world_size, launch] = key;
  return fmt::format("# {}, {} ranks, {}; measured from {} to {} bytes\n", name_of(collective),
                     world_size, launch == Launch::kGraph ? "CUDA graphs" : "eager calls",
                     sizes.begin()->first, sizes.rbegin()->first);
}

// Rows that cover all sizes.
std::string example_rows(const TunerKey& key, const ArmsBySize& sizes, double tie) {
  std::vector<TunerRange> ranges = ranges_of(
      sizes,
      [tie](const std::vector<TimedArm>& arms, const NcclArm& kept) {
        const NcclArm chosen = fastest_setting(arms, kept, tie);
        return chosen ? chosen : kept;
      },
      reaches_all);
  std::erase_if(ranges, [](const TunerRange& range) { return !range.setting; });
  if (ranges.empty()) return {};
  ranges.front().from_bytes = 0;
  ranges.back().to_bytes = kAllSizes;
  std::string text = measured_sizes(key, sizes);
  for (const TunerRange& range : ranges)
    text += row_text(std::get<0>(key), std::get<1>(key), range) + "\n";
  return text;
}

// Rows where something is better, each for calls like those that were measured.
std::string own_rows(const TunerKey& key, const ArmsBySize& sizes, double tie) {
  const auto& [collective, world_size, launch] = key;
  std::string text;
  for (const TunerRange& range : ranges_of(
           sizes,
           [tie](const std::vector<TimedArm>&arms, const NcclArm&kept) {
             return better_setting(arms, kept, tie);
           },
           is_no_slower)) {
    if (!range.setting) continue;
    text += fmt::format("{},1,{}\n", row_text(collective, world_size, range),
                        launch == Launch::kGraph ? 1 : 0);
  }
  return text.empty() ? text : measured_sizes(key, sizes) + text;
}

std::string comment_line(std::string_view text) {
  const std::string line = core::printable_line(text);
  return "# " + core::valid_utf8(std::string_view(line).substr(0, kMostCommentBytes)) + "\n";
}

// Returns "2.28" of "2.28.3".
std::string main_version(const std::string& version) {
  const std::size_t first = version.find('.');
  return first == std::string::npos ? version : version.substr(0, version.find('.', first + 1));
}

std::string required_line(std::string_view name, const std::string& value) {
  return value.empty() ? std::string()
                       : fmt::format("#! {} {}\n", name, core::printable_line(value));
}

constexpr std::string_view kAboutRows =
    "# All ranks on one host (nNodes is 1). The first and the last row of each number of ranks go "
    "on\n"
    "# to sizes that were not measured.\n";

constexpr std::string_view kAboutNoGraphs =
    "# No row: only eager calls were measured, and the example plugin cannot tell them from calls "
    "of\n"
    "# CUDA graphs. libassay_nccl_tuner.so can. Without a row the plugin is of no use.\n";

constexpr std::string_view kAboutNone =
    "# No row: NCCL was measured only as it chooses by itself, and what it chose is not known.\n"
    "# Measure its settings with 'assay allreduce bench --nccl-sweep'. Without a row the plugin is "
    "of\n"
    "# no use.\n";

constexpr std::string_view kAboutChannels =
    "# The example plugin answers 'one channel' to every call for which no row names channels: "
    "other\n"
    "# collectives, other numbers of ranks, rows with -1. Unless that is wanted, let its "
    "getCollInfo\n"
    "# begin with *nChannels = 0, which leaves the choice to NCCL.\n";

constexpr std::string_view kAboutBetter =
    "# A row stands where a setting was faster than NCCL's own choice, beyond the noise. All other "
    "calls\n"
    "# are left to NCCL.\n";

}  // namespace

std::string nccl_tuner_config(std::span<const NcclMeasurement> timings,
                              const NcclTunerFacts& facts) {
  std::string rows;
  const TunerTimings groups = grouped(timings);
  for (const auto& [key, sizes] : groups) {
    if (std::get<Launch>(key) == Launch::kGraph) rows += example_rows(key, sizes, facts.tie);
  }
  const bool has_eager_only =
      !groups.empty() && std::none_of(groups.begin(), groups.end(), [](const auto& group) {
        return std::get<Launch>(group.first) == Launch::kGraph;
      });
  std::string text = fmt::format(
      "# For NCCL's example tuner plugin (NCCL_TUNER_CONFIG_FILE), formats of NCCL 2.27 to 2.30.\n"
      "# On SM {}. Made by assay allreduce codegen; measured on:\n",
      facts.sm_version);
  text += comment_line(facts.provenance);
  const std::string_view without_rows = has_eager_only ? kAboutNoGraphs : kAboutNone;
  text += rows.empty() ? without_rows : kAboutRows;
  text += kAboutChannels;
  text += "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  return text + rows;
}

std::string assay_tuner_config(std::span<const NcclMeasurement> timings,
                               const NcclTunerFacts& facts) {
  std::string rows;
  for (const auto& [key, sizes] : grouped(timings))
    rows += own_rows(key, sizes, facts.tie);
  std::string text = fmt::format(
      "# For libassay_nccl_tuner.so (ASSAY_NCCL_TUNER_FILE). On SM {}. Made by assay allreduce\n"
      "# codegen; measured on:\n",
      facts.sm_version);
  text += comment_line(facts.provenance);
  text += rows.empty() ? "# No row: nothing is known to be better than NCCL's own choice.\n"
                       : kAboutBetter;
  text += required_line("gpu", facts.gpu) + required_line("nccl", main_version(facts.nccl));
  text +=
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n";
  return text + rows;
}

}  // namespace assay::allreduce
