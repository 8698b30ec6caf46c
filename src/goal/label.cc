#include "goal/label.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace assay::goal {
namespace {

using model::NcclFunction;

constexpr std::array<std::string_view, 5> kParallelismNames = {"Other", "PP", "DP", "EP", "TP"};

struct Uses {
  bool gathers = false;
  bool scatters = false;
};

// Marks the sends and receives of launches in which a GPU talks with all others of a communicator.
void find_all_to_alls(const Resolved& resolved,
                      const GpuCalls& gpu,
                      std::vector<Parallelism>& found) {
  for (const Launch& launch : gpu.launches) {
    const std::size_t end = launch.first_call + launch.num_calls;
    // Pairs of source and destination by communicator: several messages of a pair count once.
    std::map<std::uint32_t, std::set<std::pair<std::int32_t, std::int32_t>>> pairs;
    for (std::size_t i = launch.first_call; i < end; ++i) {
      const Exchange& exchange = resolved.exchanges[gpu.calls[i].exchange];
      if (exchange.source == exchange.destination) continue;  // a collective, or a copy to itself
      pairs[exchange.communicator].emplace(exchange.source, exchange.destination);
    }
    for (std::size_t i = launch.first_call; i < end; ++i) {
      const Exchange& exchange = resolved.exchanges[gpu.calls[i].exchange];
      if (exchange.function != NcclFunction::kSendRecv) continue;
      const std::size_t ranks = resolved.job->communicators[exchange.communicator].gpus.size();
      // There is a send and a receive for each other rank.
      if (ranks > 2 && pairs[exchange.communicator].size() == 2 * (ranks - 1)) {
        found[gpu.calls[i].exchange] = Parallelism::kExpert;
      }
    }
  }
}

}  // namespace

std::string_view name_of(Parallelism parallelism) {
  return kParallelismNames.at(static_cast<std::size_t>(parallelism));
}

std::optional<Parallelism> parallelism_of(std::string_view name) {
  const auto* found = std::find(kParallelismNames.begin(), kParallelismNames.end(), name);
  if (found == kParallelismNames.end()) return std::nullopt;
  return static_cast<Parallelism>(found - kParallelismNames.begin());
}

std::vector<Parallelism> find_parallelism(const Resolved& resolved) {
  std::vector<Uses> uses(resolved.job->communicators.size());
  for (const Exchange& exchange : resolved.exchanges) {
    uses[exchange.communicator].gathers |= exchange.function == NcclFunction::kAllGather;
    uses[exchange.communicator].scatters |= exchange.function == NcclFunction::kReduceScatter;
  }
  std::vector<Parallelism> found;
  for (const Exchange& exchange : resolved.exchanges) {
    const Uses& use = uses[exchange.communicator];
    const bool shards = use.gathers && use.scatters;
    const bool sends = exchange.function == NcclFunction::kSendRecv;
    found.push_back(sends    ? Parallelism::kPipeline
                    : shards ? Parallelism::kData
                             : Parallelism::kOther);
  }
  for (const GpuCalls& gpu : resolved.gpus)
    find_all_to_alls(resolved, gpu, found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& communicator = resolved.job->communicators[resolved.exchanges[i].communicator];
    found[i] = communicator.parallelism.value_or(found[i]);
  }
  return found;
}

namespace {

using Field = std::pair<std::string_view, std::uint64_t LabelInput::*>;

constexpr std::array<Field, 9> kExpressionNames = {{{"parallelism", &LabelInput::parallelism},
                                                    {"communicator", &LabelInput::communicator},
                                                    {"operation", &LabelInput::operation},
                                                    {"sequence", &LabelInput::sequence},
                                                    {"bytes", &LabelInput::bytes},
                                                    {"root", &LabelInput::root},
                                                    {"source", &LabelInput::source},
                                                    {"destination", &LabelInput::destination},
                                                    {"ranks", &LabelInput::ranks}}};

std::optional<std::uint64_t> calculate(char sign, std::uint64_t x, std::uint64_t y) {
  switch (sign) {
    case '+':
      return x + y;
    case '-':
      return x - y;
    case '*':
      return x * y;
    default:
      if (y == 0) return std::nullopt;
      return sign == '/' ? x / y : x % y;
  }
}

// A part of an expression.
struct Value {
  LabelFunction label;
  bool varies = false;  // with the operation
};

Value constant(std::uint64_t value) {
  return {[value](const LabelInput&) { return value; }};
}

Value combine(char sign, Value a, Value b) {
  const bool varies = a.varies || b.varies;
  LabelFunction label = [sign, a = std::move(a.label), b = std::move(b.label)](
                            const LabelInput& input) -> std::optional<std::uint64_t> {
    const std::optional<std::uint64_t> x = a(input);
    const std::optional<std::uint64_t> y = b(input);
    return x && y ? calculate(sign, *x, *y) : std::nullopt;
  };
  return {std::move(label), varies};
}

// sum := product {(+|-) product}; product := factor {(*|/|%) factor};
// factor := number | name | ( sum )
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  core::Result<LabelFunction> parse() {
    Value value = ASSAY_TRY(chain("+-", &Parser::product));
    if (peek() != '\0') return wrong("an operator or the end");
    return std::move(value.label);
  }

 private:
  static constexpr std::size_t kShownCharacters = 200;

  using Part = core::Result<Value> (Parser::*)();

  // The limits of recursion: no label needs as much, and the stack bears it.
  static constexpr int kDeepest = 100;
  static constexpr int kMostOperators = 1000;

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  core::Error wrong(std::string_view expected) {
    peek();
    const std::string_view found = text_.substr(at_, 10);
    return core::Error{fmt::format("label '{}': expected {} at character {}, not {}",
                                   text_.substr(0, kShownCharacters), expected, at_ + 1,
                                   found.empty() ? "the end" : fmt::format("'{}'", found))};
  }

  core::Result<Value> chain(std::string_view signs, Part part) {
    Value value = ASSAY_TRY((this->*part)());
    for (char sign = peek(); sign != '\0' && signs.find(sign) != std::string_view::npos;
         sign = peek()) {
      if (++operators_ > kMostOperators) return wrong("fewer operators");
      ++at_;
      const std::size_t divisor = at_;
      Value next = ASSAY_TRY((this->*part)());
      const bool divides = sign == '/' || sign == '%';
      if (divides && !next.varies && next.label({}) == 0) {
        at_ = divisor;
        return wrong("a divisor other than 0");
      }
      value = combine(sign, std::move(value), std::move(next));
    }
    return value;
  }

  core::Result<Value> product() { return chain("*/%", &Parser::factor); }

  core::Result<Value> factor() {
    const char next = peek();
    if (next == '(') return parenthesis();
    if (std::isdigit(static_cast<unsigned char>(next)) != 0) return number();
    const std::string_view word = this->word();
    for (const auto& [name, member] : kExpressionNames) {
      if (name != word) continue;
      at_ += word.size();
      return Value{[field = member](const LabelInput& input) { return input.*field; }, true};
    }
    for (const LabelSpec* spec : core::Registry<LabelSpec>::all()) {
      if (spec->name != word) continue;
      at_ += word.size();
      return Value{spec->label, true};
    }
    return no_factor();
  }

  [[nodiscard]] std::string_view word() const {
    std::size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
      ++end;
    return text_.substr(at_, end - at_);
  }

  core::Error no_factor() {
    std::string names;
    for (const Field& field : kExpressionNames)
      names += fmt::format(" {}", field.first);
    for (const LabelSpec* spec : core::Registry<LabelSpec>::all()) {
      names += fmt::format(" {}", spec->name);
    }
    return wrong("a number, '(' or one of" + names);
  }

  core::Result<Value> parenthesis() {
    if (++depth_ > kDeepest) return wrong("fewer parentheses");
    ++at_;
    Value value = ASSAY_TRY(chain("+-", &Parser::product));
    if (peek() != ')') return wrong("')'");
    ++at_;
    --depth_;
    return value;
  }

  core::Result<Value> number() {
    std::uint64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) return wrong("a smaller number");
    at_ += static_cast<std::size_t>(end - begin);
    return constant(value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int operators_ = 0;
};

}  // namespace

core::Result<LabelFunction> label_function(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace assay::goal
