#include "allreduce/codegen/nccl_tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "core/statistics.h"
#include "core/text.h"

namespace assay::allreduce {
namespace {

struct Word {
  std::string_view name;    // the word in a strategy's name
  std::string_view plugin;  // the word in the plugin's file
};

// NVLS needs multicast and is left out, as are algorithms that do not support all-reduce.
constexpr std::array<Word, 2> kAlgorithms{{{"RING", "ring"}, {"TREE", "tree"}}};
constexpr std::array<Word, 3> kProtocols{{{"LL", "ll"}, {"LL128", "ll128"}, {"SIMPLE", "simple"}}};

// The number that the plugin's documentation uses for "all sizes".
constexpr std::int64_t kAllSizes = 4294967295;
// The plugin reads lines of at most 255 bytes and takes the rest of a longer line as a new line.
constexpr std::size_t kMostCommentBytes = 200;

template <class Words>
std::string plugin_word(const Words& words, std::string_view name) {
  const auto* found =
      std::find_if(words.begin(), words.end(), [&](const Word& word) { return word.name == name; });
  return std::string(found == words.end() ? std::string_view() : found->plugin);
}

std::string_view take_word(std::string_view& name) {
  const std::size_t end = std::min(name.find('_'), name.size());
  const std::string_view word = name.substr(0, end);
  name.remove_prefix(std::min(end + 1, name.size()));
  return word;
}

struct TimedSetting {
  NcclSetting setting;
  std::vector<double> times_us;

  [[nodiscard]] double median_us() const { return core::median(times_us); }
};

// The measured settings by number of ranks, then by size in bytes.
using Settings = std::vector<TimedSetting>;
using Timings = std::map<int, std::map<std::int64_t, Settings>>;

Timings grouped(std::span<const NcclTiming> timings) {
  Timings result;
  for (const NcclTiming& timing : timings) {
    Settings& settings = result[timing.world_size][timing.size_bytes];
    auto found = std::find_if(settings.begin(), settings.end(), [&](const TimedSetting& timed) {
      return timed.setting == timing.setting;
    });
    if (found == settings.end()) found = settings.insert(found, {timing.setting, {}});
    found->times_us.push_back(timing.time_us);
  }
  return result;
}

// Returns the fastest setting, or `kept` if it was measured and is at most a tie slower.
NcclSetting choice(const Settings& settings, const NcclSetting& kept, double tie) {
  const TimedSetting& best = *std::min_element(
      settings.begin(), settings.end(),
      [](const TimedSetting& a, const TimedSetting& b) { return a.median_us() < b.median_us(); });
  for (const TimedSetting& timed : settings) {
    if (timed.setting == kept && timed.median_us() <= best.median_us() * (1 + tie)) return kept;
  }
  return best.setting;
}

std::int64_t middle(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
}

struct Range {
  std::int64_t from_bytes = 0;
  NcclSetting setting;
};

std::vector<Range> ranges_of(const std::map<std::int64_t, Settings>& sizes, double tie) {
  std::vector<Range> ranges;
  std::int64_t last_size = 0;
  for (const auto& [size, settings] : sizes) {
    const NcclSetting kept = ranges.empty() ? NcclSetting{} : ranges.back().setting;
    const NcclSetting chosen = choice(settings, kept, tie);
    if (ranges.empty() || !(chosen == kept)) {
      ranges.push_back({ranges.empty() ? 0 : middle(last_size, size) + 1, chosen});
    }
    last_size = size;
  }
  return ranges;
}

std::string rows_text(int world_size, const std::map<std::int64_t, Settings>& sizes, double tie) {
  const std::vector<Range> ranges = ranges_of(sizes, tie);
  std::string text = fmt::format("# {} ranks; measured from {} to {} bytes\n", world_size,
                                 sizes.begin()->first, sizes.rbegin()->first);
  const std::int64_t most = std::max(kAllSizes, sizes.rbegin()->first);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::int64_t last = i + 1 < ranges.size() ? ranges[i + 1].from_bytes - 1 : most;
    const NcclSetting& setting = ranges[i].setting;
    text += fmt::format("allreduce,{},{},{},{},{},1,{}\n", ranges[i].from_bytes, last,
                        setting.algorithm, setting.protocol, setting.channels, world_size);
  }
  return text;
}

std::string comment_line(std::string_view text) {
  const std::string line = core::printable_line(text);
  return "# " + core::valid_utf8(std::string_view(line).substr(0, kMostCommentBytes)) + "\n";
}

constexpr std::string_view kAboutRows =
    "# All ranks on one host (nNodes is 1). The first and the last row of each number of ranks go "
    "on\n"
    "# to sizes that were not measured.\n";

constexpr std::string_view kAboutNone =
    "# No row: NCCL was measured only as it chooses by itself, and what it chose is not known.\n"
    "# Without a row the plugin is of no use.\n";

constexpr std::string_view kAboutChannels =
    "# The example plugin answers 'one channel' to every call for which no row names channels: "
    "other\n"
    "# collectives, other numbers of ranks, rows with -1. Unless that is wanted, let its "
    "getCollInfo\n"
    "# begin with *nChannels = 0, which leaves the choice to NCCL.\n";

}  // namespace

std::optional<NcclSetting> nccl_setting_named(std::string_view name) {
  if (take_word(name) != "NCCL") return std::nullopt;
  NcclSetting setting;
  setting.algorithm = plugin_word(kAlgorithms, take_word(name));
  setting.protocol = plugin_word(kProtocols, take_word(name));
  if (setting.algorithm.empty() || setting.protocol.empty()) return std::nullopt;
  if (name.empty()) return setting;
  const char* last = name.data() + name.size();
  const auto [end, code] = std::from_chars(name.data(), last, setting.channels);
  if (code != std::errc() || end != last || setting.channels < 1) return std::nullopt;
  return setting;
}

std::vector<NcclTiming> nccl_timings(const Benchmark& benchmark) {
  std::vector<NcclTiming> timings;
  for (const Measurement& m : benchmark.measurements) {
    const auto setting = nccl_setting_named(name_of(m.strategy));
    const bool counts = setting && m.outcome == Outcome::kOk && m.launch == Launch::kGraph &&
                        m.cell.fusion == Fusion::kNone;
    if (counts) timings.push_back({m.cell.world_size, m.cell.size_bytes(), *setting, m.time_us});
  }
  return timings;
}

std::string nccl_tuner_config(std::span<const NcclTiming> timings, const NcclTunerFacts& facts) {
  std::string text = fmt::format(
      "# For NCCL's example tuner plugin (NCCL_TUNER_CONFIG_FILE), formats of NCCL 2.27 to 2.30.\n"
      "# All-reduce on SM {}. Made by assay allreduce codegen; measured on:\n",
      facts.sm_version);
  text += comment_line(facts.provenance);
  text += timings.empty() ? kAboutNone : kAboutRows;
  text += kAboutChannels;
  text += "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n";
  for (const auto& [world_size, sizes] : grouped(timings))
    text += rows_text(world_size, sizes, facts.tie);
  return text;
}

}  // namespace assay::allreduce
