#include "store/answers/column_query.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/interrupt.h"
#include "core/parallel.h"
#include "store/answers/answers_table.h"
#include "store/answers/matcher.h"
#include "store/answers/surface.h"

namespace assay::store {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// Binding a surface costs as much as a few hundred answers, and the more questions a share has, the
// more of them have a curve in common; what belongs to the most fits a processor's cache.
constexpr std::size_t kLeastShare = 32'768;
constexpr std::size_t kMostShare = 131'072;
constexpr std::size_t kSharesOfThread = 4;

std::string number_text(double number) {
  return fmt::format("{}", number);
}

}  // namespace

core::Result<std::size_t> num_questions(std::span<const QuestionColumn> columns) {
  std::size_t count = 1;
  std::string first;
  for (const QuestionColumn& column : columns) {
    if (column.size() == 1) continue;
    if (first.empty()) {
      count = column.size();
      first = column.name;
    } else if (column.size() != count) {
      return core::Error{fmt::format("column '{}' has {} values, but '{}' has {}", column.name,
                                     column.size(), first, count)};
    }
  }
  return count;
}

namespace {

// A free size of all questions.
struct SizeColumn {
  std::string name;
  const SizeRange* range = nullptr;
  std::vector<double> parsed = {};  // of texts
  std::span<const double> numbers = {};

  [[nodiscard]] double at(std::size_t question) const {
    return numbers.size() == 1 ? numbers.front() : numbers[question];
  }
};

core::Result<SizeColumn> size_column(const Matcher& matcher, const QuestionColumn& column) {
  SizeColumn size{
      .name = column.name, .range = &matcher.range_of(column.name), .numbers = column.numbers};
  for (const char* text : column.texts)
    size.parsed.push_back(ASSAY_TRY(matcher.size_of(column.name, text == nullptr ? "" : text)));
  if (!size.parsed.empty()) size.numbers = size.parsed;
  return size;
}

// The questions that name the same exact values, which have a surface together.
struct QuestionGroup {
  std::vector<Condition> conditions;
  std::vector<std::uint32_t> questions;
};

class ColumnQuery {
 public:
  ColumnQuery(const WorkIndex& index, Beyond beyond, std::size_t count)
      : index_(index),
        matcher_(index.rows()),
        beyond_(beyond),
        count_(count),
        answers_{.latency = std::vector<double>(count, kNone),
                 .uncertainty = std::vector<double>(count, kNone),
                 .low_80 = std::vector<double>(count, kNone),
                 .high_80 = std::vector<double>(count, kNone),
                 .roofline = std::vector<double>(count, kNone),
                 .methods = std::vector<std::string_view>(count)} {}

  core::Status take(std::span<const QuestionColumn> columns) {
    for (const QuestionColumn& column : columns) {
      ASSAY_TRY(matcher_.check_column(column.name));
      const auto& sizes = index_.rows().sizes;
      if (std::find(sizes.begin(), sizes.end(), column.name) == sizes.end()) {
        exact_.push_back(&column);
      } else {
        sizes_.push_back(ASSAY_TRY(size_column(matcher_, column)));
      }
    }
    return check_sizes();
  }

  core::Result<ColumnAnswers> ask(unsigned threads) && {
    if (count_ == 0) return std::move(answers_);

    struct Share {
      const QuestionGroup* group;
      std::size_t begin;
      std::size_t end;
    };

    const std::vector<QuestionGroup> groups = make_groups();
    along_ = most_varied_size();
    const std::size_t most = share_of_thread(threads);
    std::vector<Share> shares;
    for (const QuestionGroup& group : groups) {
      for (std::size_t begin = 0; begin < group.questions.size(); begin += most)
        shares.push_back({&group, begin, std::min(begin + most, group.questions.size())});
    }
    (void)index_.spreads();  // learnt once, before threads ask for it
    core::parallel_for(shares.size(), threads, [&](std::size_t i) {
      const Share& share = shares[i];
      ask(*share.group,
          std::span(share.group->questions).subspan(share.begin, share.end - share.begin));
    });
    ASSAY_TRY(core::check_interrupt());
    std::sort(answers_.refused.begin(), answers_.refused.end(),
              [](const auto& a, const auto& b) { return a.question < b.question; });
    return std::move(answers_);
  }

 private:
  [[nodiscard]] std::size_t share_of_thread(unsigned threads) const {
    if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
    return std::clamp(count_ / (kSharesOfThread * threads), kLeastShare, kMostShare);
  }

  // A question that leaves a size open would have many answers.
  core::Status check_sizes() const {
    Matcher matcher = matcher_;
    for (const SizeColumn& size : sizes_)
      ASSAY_TRY(matcher.take({size.name, "1"}));
    ASSAY_TRY(matcher.settle());
    const std::vector<std::string> open = matcher.open_sizes();
    if (open.empty()) return {};
    return core::Error{fmt::format("{} needs {}", index_.rows().table, open.front())};
  }

  static std::string value(const QuestionColumn& column, std::size_t question) {
    const std::size_t row = column.size() == 1 ? 0 : question;
    if (!column.numbers.empty()) return number_text(column.numbers[row]);
    return column.texts[row] == nullptr ? "" : column.texts[row];
  }

  [[nodiscard]] std::vector<QuestionGroup> make_groups() const {
    std::vector<QuestionGroup> groups;
    std::map<std::vector<std::string>, std::size_t> known;
    std::size_t current = 0;
    const bool is_one = std::all_of(exact_.begin(), exact_.end(), [](const QuestionColumn* column) {
      return column->size() == 1;
    });
    for (std::size_t question = 0; question < count_; ++question) {
      if (!is_one || question == 0) {
        std::vector<std::string> values;
        for (const QuestionColumn* column : exact_)
          values.push_back(value(*column, question));
        const auto [place, is_new] = known.try_emplace(values, groups.size());
        if (is_new) groups.push_back({conditions(values), {}});
        current = place->second;
      }
      groups[current].questions.push_back(static_cast<std::uint32_t>(question));
    }
    return groups;
  }

  [[nodiscard]] std::vector<Condition> conditions(const std::vector<std::string>& values) const {
    std::vector<Condition> made;
    for (std::size_t i = 0; i < values.size(); ++i)
      made.push_back({exact_[i]->name, values[i]});
    return made;
  }

  // The size that questions differ in most, as a few of them tell: that along a curve, most often.
  [[nodiscard]] const SizeColumn* most_varied_size() const {
    constexpr std::size_t kLooks = 1000;
    const SizeColumn* most = nullptr;
    std::size_t most_values = 1;
    for (const SizeColumn& size : sizes_) {
      std::set<double> values;
      for (std::size_t i = 0; i < kLooks; ++i)
        values.insert(size.at(i * count_ / kLooks));
      if (values.size() <= most_values) continue;
      most = &size;
      most_values = values.size();
    }
    return most;
  }

  // Questions of one curve come together and in the order of their size along it: what lies near it
  // is then looked up once, and equal questions are answered once. By their places in `questions`.
  [[nodiscard]] std::vector<std::uint32_t> by_curve(
      std::span<const std::uint32_t> questions) const {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
    order.reserve(questions.size());
    for (std::uint32_t i = 0; i < questions.size(); ++i)
      order.emplace_back(place_on_curve(questions[i]), i);
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> ordered;
    ordered.reserve(order.size());
    for (const auto& [place, i] : order)
      ordered.push_back(i);
    return ordered;
  }

  // A hash of the other sizes, and then the larger half of the size along the curve, of whose bits
  // the order is that of the numbers.
  [[nodiscard]] std::uint64_t place_on_curve(std::size_t question) const {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ULL;
    constexpr unsigned kHalf = 32;
    std::uint64_t hash = 0;
    std::uint64_t along = 0;
    for (const SizeColumn& size : sizes_) {
      if (size.numbers.size() == 1) continue;
      const auto bits = std::bit_cast<std::uint64_t>(size.at(question));
      if (&size == along_) {
        along = bits;
      } else {
        hash = (hash ^ bits) * kFactor;
      }
    }
    return (hash >> kHalf << kHalf) | (along >> kHalf);
  }

  void ask(const QuestionGroup& group, std::span<const std::uint32_t> questions) {
    std::vector<std::string> free;
    for (const SizeColumn& size : sizes_)
      free.push_back(size.name);
    const auto surface = Surface::bind(index_, group.conditions, free, beyond_);
    if (!surface.ok()) {
      for (const std::uint32_t question : questions)
        refuse(question, surface.error().message);
      return;
    }
    // Answers come in another order than questions. Sizes are looked up together, and each answer
    // goes to one place at first, so that nothing waits for memory in between.
    const std::vector<std::uint32_t> order = by_curve(questions);
    std::vector<double> sizes;
    sizes.reserve(order.size() * sizes_.size());
    for (const std::uint32_t i : order)
      add_sizes(questions[i], sizes);
    std::vector<WorkEstimate> estimates(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i % 1024 == 0 && core::interrupted()) return;
      estimates[order[i]] =
          surface.value().at_any(std::span(sizes).subspan(i * sizes_.size(), sizes_.size()));
    }
    for (std::size_t i = 0; i < questions.size(); ++i)
      answer(questions[i], estimates[i], surface.value());
  }

  void add_sizes(std::size_t question, std::vector<double>& sizes) const {
    for (const SizeColumn& size : sizes_)
      sizes.push_back(size.at(question));
  }

  // Returns what is wrong with the first number that its column does not take; "" for nothing.
  // Surfaces take more: they are asked for means, too.
  [[nodiscard]] std::string problem(std::size_t question) const {
    for (const SizeColumn& size : sizes_) {
      if (!size.range->takes(size.at(question)))
        return fmt::format("{} takes {}, not {}", size.name, size.range->wanted(),
                           size.at(question));
    }
    return "";
  }

  void answer(std::size_t question, const WorkEstimate& estimate, const Surface& surface) {
    std::string wrong = problem(question);
    if (!wrong.empty()) return refuse(question, std::move(wrong));
    if (estimate.refused != Refused::kNo) {
      std::vector<double> sizes;
      add_sizes(question, sizes);
      std::string problem = surface.problem(sizes);
      return refuse(question, problem.empty() ? surface.refusal(estimate, sizes) : problem);
    }
    answers_.latency[question] = estimate.latency;
    answers_.methods[question] = method_name(estimate);
    if (estimate.roofline > 0) answers_.roofline[question] = estimate.roofline;
    if (estimate.is_measured()) return;
    answers_.uncertainty[question] = estimate.uncertainty() * 100;
    answers_.low_80[question] = estimate.low_80();
    answers_.high_80[question] = estimate.high_80();
  }

  void refuse(std::size_t question, std::string reason) {
    const std::scoped_lock lock(mutex_);
    answers_.refused.push_back({question, std::move(reason)});
  }

  const WorkIndex& index_;
  Matcher matcher_;
  Beyond beyond_;
  std::size_t count_;
  std::vector<const QuestionColumn*> exact_;
  std::vector<SizeColumn> sizes_;
  const SizeColumn* along_ = nullptr;
  ColumnAnswers answers_;
  std::mutex mutex_;  // guards the refused ones
};

}  // namespace

core::Result<ColumnAnswers> query_columns(const WorkIndex& index,
                                          std::span<const QuestionColumn> columns,
                                          Beyond beyond,
                                          unsigned threads) {
  const std::size_t count = ASSAY_TRY(num_questions(columns));
  if (count > std::numeric_limits<std::uint32_t>::max())
    return core::Error{fmt::format("{} questions at once are too many", count)};
  ColumnQuery query(index, beyond, count);
  ASSAY_TRY(query.take(columns));
  return std::move(query).ask(threads);
}

}  // namespace assay::store
