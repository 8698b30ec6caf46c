#include "goal/tags.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/parallel.h"
#include "goal/label.h"
#include "model/schedule.h"

namespace assay::goal {
namespace {

constexpr unsigned kTagBits = 31;
constexpr unsigned kTagDigits = 9;

const std::vector<std::string> kDenseFields = {"parallelism", "communicator", "operation",
                                               "sequence"};

// The largest number of messages that one rank sends to another under one label.
struct Most {
  std::uint64_t count = 0;
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint32_t label = 0;
};

// Returns the calls of a GPU in the order of their exchanges, on which all GPUs agree.
std::vector<std::uint32_t> canonical_order(const GpuCalls& gpu) {
  std::vector<std::uint32_t> order(gpu.calls.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(gpu.calls[a].exchange, a) < std::pair(gpu.calls[b].exchange, b);
  });
  return order;
}

class Counters {
 public:
  struct Pair {
    std::uint64_t sends = 0;
    std::uint64_t receives = 0;
  };

  Pair& of(std::uint32_t peer, std::uint32_t label) {
    return pairs_[std::uint64_t{peer} << 32 | label];
  }

  [[nodiscard]] const auto& all() const { return pairs_; }

 private:
  std::unordered_map<std::uint64_t, Pair> pairs_;
};

Most most_messages_of(const Resolved& resolved,
                      const std::vector<std::uint32_t>& labels,
                      std::uint32_t gpu) {
  MessageCounter counter(resolved, gpu);
  Counters counters;
  for (const Call& call : resolved.gpus[gpu].calls) {
    for (const PeerMessages& messages : counter.count(call)) {
      counters.of(messages.peer, labels[call.exchange]).sends += messages.sends;
    }
  }
  Most most{0, gpu, 0, 0};
  for (const auto& [key, pair] : counters.all()) {
    const auto peer = static_cast<std::uint32_t>(key >> 32);
    const auto label = static_cast<std::uint32_t>(key);
    if (std::tie(pair.sends, peer, label) > std::tie(most.count, most.destination, most.label)) {
      most = {pair.sends, gpu, peer, label};
    }
  }
  return most;
}

Most most_messages(const Resolved& resolved,
                   const std::vector<std::uint32_t>& labels,
                   unsigned threads) {
  std::vector<Most> by_gpu(resolved.gpus.size());
  core::parallel_for(by_gpu.size(), threads, [&](std::size_t gpu) {
    by_gpu[gpu] = most_messages_of(resolved, labels, static_cast<std::uint32_t>(gpu));
  });
  return *std::max_element(by_gpu.begin(), by_gpu.end(),
                           [](const Most& a, const Most& b) { return a.count < b.count; });
}

LabelInput input_of(const Resolved& resolved, std::size_t exchange, Parallelism parallelism) {
  const Exchange& from = resolved.exchanges[exchange];
  const model::Operation& operation = resolved.job->gpus[from.gpu].operations[from.operation];
  const auto number = [](std::int32_t value) {
    return static_cast<std::uint64_t>(std::max(value, 0));
  };
  return {.parallelism = static_cast<std::uint64_t>(parallelism),
          .communicator = from.communicator,
          .operation = static_cast<std::uint64_t>(from.function),
          .sequence = from.sequence,
          .bytes = operation.bytes,
          .root = number(operation.root),
          .source = number(from.source),
          .destination = number(from.destination),
          .ranks = resolved.job->communicators[from.communicator].gpus.size()};
}

class Planner {
 public:
  Planner(const Resolved& resolved, const TagOptions& options)
      : resolved_(resolved), options_(options) {
    plan_.parallelism = find_parallelism(resolved);
  }

  core::Result<TagPlan> run() {
    if (options_.layout == "none") return with_fields(0);
    if (options_.layout != "auto") return fixed();
    if (!options_.label.empty()) {
      ASSAY_TRY(own_labels());
      return automatic_widths(true);
    }
    for (std::size_t fields = kDenseFields.size(); fields > 0; --fields) {
      dense_labels(fields);
      core::Result<TagPlan> plan = automatic_widths(false);
      if (plan.ok()) return plan;
    }
    return with_fields(0);
  }

 private:
  // Numbers the exchanges by the first `fields` of kDenseFields.
  void dense_labels(std::size_t fields) {
    std::map<std::vector<std::uint64_t>, std::uint32_t> numbers;
    plan_.labels.clear();
    for (std::size_t i = 0; i < resolved_.exchanges.size(); ++i) {
      const LabelInput input = input_of(resolved_, i, plan_.parallelism[i]);
      // Sends are numbered per pair of ranks; the pair itself tells those of different pairs apart.
      std::vector<std::uint64_t> key = {input.parallelism, input.communicator, input.operation,
                                        input.sequence};
      key.resize(fields);
      const auto next = static_cast<std::uint32_t>(numbers.size());
      plan_.labels.push_back(numbers.emplace(std::move(key), next).first->second);
    }
    plan_.layout.label_fields.assign(kDenseFields.begin(),
                                     kDenseFields.begin() + static_cast<std::ptrdiff_t>(fields));
  }

  core::Status own_labels() {
    const LabelFunction label = ASSAY_TRY(label_function(options_.label));
    plan_.labels.clear();
    for (std::size_t i = 0; i < resolved_.exchanges.size(); ++i) {
      const std::optional<std::uint64_t> known =
          label(input_of(resolved_, i, plan_.parallelism[i]));
      if (!known) {
        return core::Error{
            fmt::format("label '{}' divides by 0 for operation {}", options_.label, i)};
      }
      const std::uint64_t value = *known;
      if (const auto below = static_cast<std::int64_t>(value); below < 0) {
        return core::Error{fmt::format("label '{}' is {} for operation {}: it must be at least 0",
                                       options_.label, below, i)};
      }
      if (value > model::kMostTag) {
        return core::Error{
            fmt::format("label '{}' is {} for operation {}: more than the {} bits "
                        "of a tag; add '% 1000', say",
                        options_.label, value, i, kTagBits)};
      }
      plan_.labels.push_back(static_cast<std::uint32_t>(value));
    }
    plan_.layout.label_fields = {options_.label};
    return {};
  }

  std::uint32_t largest_label() const {
    return plan_.labels.empty() ? 0 : *std::max_element(plan_.labels.begin(), plan_.labels.end());
  }

  core::Result<TagPlan> automatic_widths(bool must) {
    const Most most = most_messages(resolved_, plan_.labels, options_.threads);
    const auto label_bits = static_cast<unsigned>(std::bit_width(largest_label()));
    const auto id_bits = static_cast<unsigned>(std::bit_width(most.count > 0 ? most.count - 1 : 0));
    if (label_bits + id_bits > kTagBits) {
      return core::Error{fmt::format(
          "labels up to {} take {} bits and the {} messages from rank {} to rank {} with label {} "
          "take {}; a tag has {}{}",
          largest_label(), label_bits, most.count, most.source, most.destination, most.label,
          id_bits, kTagBits, must ? ". Make the label's values smaller" : "")};
    }
    return widths("bits", kTagBits - label_bits, label_bits);
  }

  TagPlan widths(const char* name, unsigned id, unsigned label) {
    plan_.layout.name = name;
    plan_.layout.id_width = id;
    plan_.layout.label_width = label;
    plan_.number_limit = 1;
    for (unsigned i = 0; i < id; ++i)
      plan_.number_limit *= *name == 'd' ? 10 : 2;
    plan_.label_unit = plan_.number_limit;
    return std::move(plan_);
  }

  // Without labels the numbers repeat after 2^31 messages; matching is first in, first out.
  TagPlan with_fields(std::size_t fields) {
    dense_labels(fields);
    return widths("none", kTagBits, 0);
  }

  core::Result<TagPlan> fixed() {
    const TagWidths widths = ASSAY_TRY(read_tag_widths(options_.layout));
    if (options_.label.empty()) {
      dense_labels(kDenseFields.size());
    } else {
      ASSAY_TRY(own_labels());
    }
    return checked(widths.unit == TagWidths::Unit::kDigits, widths.id, widths.label);
  }

  core::Result<TagPlan> checked(bool decimal, unsigned id, unsigned label) {
    const Most most = most_messages(resolved_, plan_.labels, options_.threads);
    const std::uint32_t largest = largest_label();
    const auto width = [&](std::uint64_t value) {
      if (value == 0) return 0U;
      return decimal ? static_cast<unsigned>(fmt::formatted_size("{}", value))
                     : static_cast<unsigned>(std::bit_width(value));
    };
    const unsigned id_needed = std::max(width(most.count > 0 ? most.count - 1 : 0), 1U);
    const unsigned label_needed = width(largest);
    if (id_needed <= id && label_needed <= label) {
      return widths(decimal ? "decimal" : "bits", id, label);
    }
    const unsigned limit = decimal ? kTagDigits : kTagBits;
    const std::string would_do =
        id_needed + label_needed <= limit
            ? fmt::format("{}:{}/{} would do", decimal ? "decimal" : "bits", limit - label_needed,
                          label_needed)
            : std::string("no widths would do; use --tag-layout auto, or a coarser --label");
    return core::Error{fmt::format(
        "tag layout '{}' is too narrow: rank {} sends {} messages to rank {} with label {}, which "
        "takes {} {} for the number, and labels go up to {}, which takes {}; {}",
        options_.layout, most.source, most.count, most.destination, most.label, id_needed,
        decimal ? "digits" : "bits", largest, label_needed, would_do)};
  }

  const Resolved& resolved_;
  const TagOptions& options_;
  TagPlan plan_;
};

}  // namespace

core::Result<TagWidths> read_tag_widths(const std::string& layout) {
  // The MESSAGE_ID_WIDTH and MESSAGE_TAG_WIDTH of the public generator.
  if (layout == "legacy") return TagWidths{TagWidths::Unit::kDigits, 4, 5};
  const bool decimal = layout.starts_with("decimal:");
  const std::size_t colon = layout.find(':');
  const std::size_t slash = layout.find('/');
  TagWidths widths;
  widths.unit = decimal ? TagWidths::Unit::kDigits : TagWidths::Unit::kBits;
  const auto read = [&](std::size_t begin, std::size_t end, unsigned& value) {
    const char* last = layout.data() + end;
    const auto [at, error] = std::from_chars(layout.data() + begin, last, value);
    return error == std::errc() && at == last;
  };
  if ((!decimal && !layout.starts_with("bits:")) || slash == std::string::npos || slash < colon ||
      !read(colon + 1, slash, widths.id) || !read(slash + 1, layout.size(), widths.label)) {
    return core::Error{
        "tag layout '" + layout +
        "': expected auto, none, legacy, bits:NUMBER/LABEL or decimal:NUMBER/LABEL, for "
        "example bits:20/11 or decimal:4/5"};
  }
  const unsigned most = decimal ? kTagDigits : kTagBits;
  if (widths.id == 0 || widths.id > most || widths.label > most - widths.id) {
    return core::Error{
        fmt::format("tag layout '{}': the widths must add up to at most {} {}, "
                    "the number's being at least 1",
                    layout, most, decimal ? "digits" : "bits")};
  }
  return widths;
}

core::Result<TagPlan> plan_tags(const Resolved& resolved, const TagOptions& options) {
  return Planner(resolved, options).run();
}

TagBook::TagBook(const Resolved& resolved, std::uint32_t gpu, const TagPlan& plan)
    : entries_(resolved.gpus[gpu].calls.size()) {
  MessageCounter counter(resolved, gpu);
  Counters counters;
  for (const std::uint32_t index : canonical_order(resolved.gpus[gpu])) {
    const Call& call = resolved.gpus[gpu].calls[index];
    for (const PeerMessages& messages : counter.count(call)) {
      Counters::Pair& pair = counters.of(messages.peer, plan.labels[call.exchange]);
      entries_[index].push_back({messages.peer, pair.sends, pair.receives});
      pair.sends += messages.sends;
      pair.receives += messages.receives;
    }
  }
}

}  // namespace assay::goal
