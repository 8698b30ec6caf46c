#include "allreduce/tuner/tuner_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

namespace assay::allreduce {
namespace {

constexpr std::size_t kFewestFields = 8;
constexpr std::size_t kMostFields = 10;
constexpr std::size_t kMostRows = 10'000;
constexpr std::size_t kMostWordBytes = 40;  // of a word that a message quotes

// The words in the order of NCCL's numbers.
constexpr std::array<std::string_view, 5> kCollectiveWords{"broadcast", "reduce", "allgather",
                                                           "reducescatter", "allreduce"};
constexpr std::array<std::string_view, 7> kAlgorithmWords{
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array<std::string_view, 3> kProtocolWords{"ll", "ll128", "simple"};

template <class Words>
int number_of(const Words& words, std::string_view word) {
  const auto* found = std::find(words.begin(), words.end(), word);
  return found == words.end() ? kAny : static_cast<int>(found - words.begin());
}

std::string_view trimmed_field(std::string_view text) {
  constexpr const char* kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Removes the part before the next separator, and the separator, from the front.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::string quoted(std::string_view word) {
  std::string text(word.substr(0, kMostWordBytes));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return "'" + text + "'";
}

// Reads the fields of one row; the first problem stays.
class RowReader {
 public:
  explicit RowReader(const std::vector<std::string_view>& fields) : fields_(fields) {}

  TunerRow read() {
    TunerRow row;
    row.collective = word(0, collective_number, "collective");
    row.min_bytes = bytes(1);
    row.max_bytes = bytes(2);
    row.algorithm = word(3, algorithm_number, "algorithm");
    row.protocol = word(4, protocol_number, "protocol");
    row.channels = count(5);
    row.nodes = count(6);
    row.ranks = count(7);
    if (fields_.size() > 8) row.operations = count(8);
    if (fields_.size() > 9) row.registered = count(9);
    if (row.min_bytes > row.max_bytes) say("min_bytes is above max_bytes");
    if (row.channels == 0) say("0 channels");
    return row;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void say(const std::string& problem) {
    if (problem_.empty()) problem_ = problem;
  }

  template <class Number>
  Number number(std::size_t field, Number least) {
    const std::string_view text = fields_[field];
    Number value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || value < least) {
      say(quoted(text) + " is no number that can stand there");
      return least;
    }
    return value;
  }

  std::uint64_t bytes(std::size_t field) { return number<std::uint64_t>(field, 0); }

  int count(std::size_t field) { return number<int>(field, kAny); }

  int word(std::size_t field, int (*meaning)(std::string_view), const char* what) {
    const int found = meaning(fields_[field]);
    if (found == kAny) say("no " + std::string(what) + " is called " + quoted(fields_[field]));
    return found;
  }

  const std::vector<std::string_view>& fields_;
  std::string problem_;
};

std::string read_row(std::string_view line, TunerFile& file) {
  std::vector<std::string_view> fields;
  bool more = true;
  while (more && fields.size() <= kMostFields) {
    more = line.find(',') != std::string_view::npos;
    fields.push_back(trimmed_field(take_until(line, ',')));
  }
  if (fields.size() < kFewestFields || fields.size() > kMostFields) {
    return "a row has 8 to 10 fields";
  }
  RowReader reader(fields);
  const TunerRow row = reader.read();
  if (!reader.problem().empty()) return reader.problem();
  if (file.rows.size() == kMostRows) return "too many rows";
  file.rows.push_back(row);
  return {};
}

std::string read_requirement(std::string_view line, TunerFile& file) {
  line = trimmed_field(line);
  const std::string_view name = take_until(line, ' ');
  const std::string value(trimmed_field(line));
  if (value.empty()) return "a requirement without a value";
  if (name == "gpu") {
    file.gpu = value;
  } else if (name == "nccl") {
    file.nccl = value;
  } else {
    return "an unknown requirement, " + quoted(name);
  }
  return {};
}

std::string read_line(std::string_view line, TunerFile& file) {
  line = trimmed_field(line);
  if (line.substr(0, 2) == "#!") return read_requirement(line.substr(2), file);
  if (line.empty() || line.front() == '#') return {};
  return read_row(line, file);
}

bool matches(int wanted, int actual) {
  return wanted == kAny || wanted == actual;
}

}  // namespace

TunerFile parse_tuner_file(std::string_view text) {
  TunerFile file;
  if (text.size() > kMostTunerBytes) {
    file.problem = "it is longer than 1 MiB";
    return file;
  }
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string problem = read_line(take_until(text, '\n'), file);
    if (problem.empty()) continue;
    file.rows.clear();
    file.problem = "line " + std::to_string(number) + ": " + problem;
    break;
  }
  return file;
}

const TunerRow* row_for(const std::vector<TunerRow>& rows, const TunerCall& call) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const TunerRow& row) {
    return row.collective == call.collective && call.bytes >= row.min_bytes &&
           call.bytes <= row.max_bytes && matches(row.nodes, call.nodes) &&
           matches(row.ranks, call.ranks) && matches(row.operations, call.operations) &&
           matches(row.registered, call.registered);
  });
  return found == rows.end() ? nullptr : &*found;
}

int collective_number(std::string_view word) {
  return number_of(kCollectiveWords, word);
}

int algorithm_number(std::string_view word) {
  return number_of(kAlgorithmWords, word);
}

int protocol_number(std::string_view word) {
  return number_of(kProtocolWords, word);
}

}  // namespace assay::allreduce
