#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "core/byte_source.h"
#include "core/text.h"
#include "goal/inputs/kineto.h"
#include "model/collective.h"

namespace assay::goal {
namespace {

namespace json = simdjson::ondemand;

core::Result<simdjson::padded_string> read_whole(const std::filesystem::path& path) {
  constexpr std::size_t kMostBytes = 0xFFFFFFFF;  // the limit of simdjson
  constexpr std::size_t kBlockBytes = std::size_t{1} << 22U;
  const auto source = ASSAY_TRY(core::open_bytes(path));
  std::string text;
  while (true) {
    const std::size_t size = text.size();
    text.resize(size + kBlockBytes);
    const std::size_t got = ASSAY_TRY(source->read(text.data() + size, kBlockBytes));
    text.resize(size + got);
    if (got == 0) return simdjson::padded_string(text);
    if (text.size() > kMostBytes) return core::Error{path.string() + ": larger than 4 GiB"};
  }
}

// Returns valid UTF-8 without control characters, which are white space outside of strings and
// forbidden inside, so a blank can replace both.
std::string repaired(std::string_view text) {
  std::string result = core::valid_utf8(text);
  for (char& c : result)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return result;
}

// 95 years. Damaged traces have larger times, which count as 0: the sum of a start, a duration and
// the base must fit into 64 bits.
constexpr std::int64_t kMostNs = 3'000'000'000'000'000'000;

// Reads "4341490536743.899" microseconds as nanoseconds without rounding, which a double would do.
std::int64_t ns_of(std::string_view token) {
  constexpr std::int64_t kMostMicroseconds = kMostNs / 1000 - 1;
  std::int64_t microseconds = 0;
  const auto [end, error] =
      std::from_chars(token.data(), token.data() + token.size(), microseconds);
  if (error != std::errc() || microseconds < -kMostMicroseconds || microseconds > kMostMicroseconds)
    return 0;
  std::int64_t ns = microseconds * 1000;
  std::int64_t unit = 100;
  for (const char* at = end + 1; end != token.data() + token.size() && *end == '.' &&
                                 at < token.data() + token.size() && unit > 0;
       ++at, unit /= 10) {
    if (*at < '0' || *at > '9') break;
    ns += (*at - '0') * unit;
  }
  return ns;
}

// Reads a number, or text that begins with one.
std::int64_t integer_of(json::value value) {
  std::int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

std::string_view text_of(json::value value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// Reads "[0, 1, 2, 3]". PyTorch shortens long lists with "...": such a list is returned as empty.
template <class Integer>
std::vector<Integer> list_of(std::string_view text) {
  std::vector<Integer> numbers;
  if (text.find("...") != std::string_view::npos) return numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    Integer number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc()) numbers.push_back(number);
    at = error == std::errc() ? next : at + 1;
  }
  return numbers;
}

// The fields of an event that are the same for every kind.
struct TraceEvent {
  std::string_view category;
  std::string_view name;
  std::int64_t process = 0;
  std::int64_t thread = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

class TraceReader {
 public:
  explicit TraceReader(std::string file) { trace_.file = std::move(file); }

  core::Result<KinetoTrace> read(const simdjson::padded_string& text) {
    simdjson::error_code error = parse(text);
    if (error == simdjson::UTF8_ERROR || error == simdjson::UNESCAPED_CHARS) {
      trace_.warnings.add("text that is not valid UTF-8, or has control characters",
                          "read with replacement characters and blanks", trace_.file);
      error = parse(simdjson::padded_string(repaired(text)));
    }
    if (error != simdjson::SUCCESS) {
      return core::Error{fmt::format("{}: not a whole PyTorch profiler trace ({})", trace_.file,
                                     simdjson::error_message(error))};
    }
    for (KinetoCall& call : trace_.calls)
      move(call);
    for (KinetoKernel& kernel : trace_.kernels)
      move(kernel);
    for (KinetoLaunch& launch : trace_.launches)
      launch.start_ns += base_ns_;
    sort_all();
    return std::move(trace_);
  }

 private:
  template <class Timed>
  void move(Timed& timed) const {
    timed.start_ns += base_ns_;
    timed.end_ns += base_ns_;
  }

  void sort_all() {
    const auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
    std::stable_sort(trace_.calls.begin(), trace_.calls.end(), by_start);
    std::stable_sort(trace_.kernels.begin(), trace_.kernels.end(), by_start);
    std::stable_sort(trace_.launches.begin(), trace_.launches.end(),
                     [](const auto& a, const auto& b) { return a.correlation < b.correlation; });
  }

  simdjson::error_code parse(const simdjson::padded_string& text) {
    json::parser parser;
    json::document document;
    const simdjson::error_code error = parser.iterate(text).get(document);
    return error == simdjson::SUCCESS ? read_document(document) : error;
  }

  simdjson::error_code read_document(json::document& document) {
    json::object top;
    if (const auto error = document.get_object().get(top)) return error;
    for (auto field : top) {
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return error;
      json::value value;
      if (const auto error = field.value().get(value)) return error;
      if (key == "baseTimeNanoseconds") {
        base_ns_ = integer_of(value);
        if (base_ns_ < 0 || base_ns_ > kMostNs) base_ns_ = 0;
      } else if (key == "distributedInfo") {
        if (const auto error = read_distributed(value)) return error;
      } else if (key == "traceEvents") {
        if (const auto error = read_events(value)) return error;
      }
    }
    return simdjson::SUCCESS;
  }

  simdjson::error_code read_distributed(json::value value) {
    json::object object;
    if (const auto error = value.get_object().get(object)) return error;
    for (auto field : object) {
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return error;
      json::value member;
      if (const auto error = field.value().get(member)) return error;
      if (key == "rank") trace_.rank = static_cast<std::int32_t>(integer_of(member));
      if (key == "world_size") trace_.world_size = static_cast<std::uint32_t>(integer_of(member));
      if (key == "nccl_version") trace_.nccl_version = text_of(member);
    }
    return simdjson::SUCCESS;
  }

  simdjson::error_code read_events(json::value value) {
    json::array events;
    if (const auto error = value.get_array().get(events)) return error;
    for (auto element : events) {
      json::object object;
      if (const auto error = element.get_object().get(object)) return error;
      if (const auto error = read_event(object)) return error;
    }
    return simdjson::SUCCESS;
  }

  // Kineto writes "args" last, so that the kind of the event is known by then.
  simdjson::error_code read_event(json::object object) {
    TraceEvent event;
    for (auto field : object) {
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return error;
      json::value value;
      if (const auto error = field.value().get(value)) return error;
      if (key == "args") {
        if (const auto error = read_arguments(event, value)) return error;
      } else {
        read_field(key, value, event);
      }
    }
    return simdjson::SUCCESS;
  }

  static void read_field(std::string_view key, json::value value, TraceEvent& event) {
    if (key == "cat") event.category = text_of(value);
    if (key == "name") event.name = text_of(value);
    if (key == "pid") event.process = integer_of(value);
    if (key == "tid") event.thread = integer_of(value);
    if (key == "ts") event.start_ns = ns_of(value.raw_json_token());
    if (key == "dur") event.duration_ns = ns_of(value.raw_json_token());
  }

  simdjson::error_code read_arguments(const TraceEvent& event, json::value value) {
    const bool kernel = event.category == "kernel" && event.name.starts_with("nccl");
    const bool call = event.category == "cpu_op" && event.name == "record_param_comms";
    const bool launch = (event.category == "cuda_runtime" || event.category == "cuda_driver") &&
                        event.name.find("LaunchKernel") != std::string_view::npos;
    if (!kernel && !call && !launch) return simdjson::SUCCESS;
    json::object arguments;
    if (const auto error = value.get_object().get(arguments)) return error;
    if (call) return read_call(event, arguments);
    return kernel ? read_kernel(event, arguments) : read_launch(event, arguments);
  }

  template <class Visit>
  static simdjson::error_code each(json::object object, Visit visit) {
    for (auto field : object) {
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return error;
      json::value value;
      if (const auto error = field.value().get(value)) return error;
      visit(key, value);
    }
    return simdjson::SUCCESS;
  }

  simdjson::error_code read_kernel(const TraceEvent& event, json::object arguments) {
    constexpr std::string_view kMark = "Kernel_";
    KinetoKernel kernel;
    const std::size_t mark = event.name.find(kMark);
    if (mark == std::string_view::npos) return simdjson::SUCCESS;
    const std::string_view function = event.name.substr(mark + kMark.size());
    kernel.function = function.substr(0, function.find_first_of("_(<"));
    kernel.start_ns = event.start_ns;
    kernel.end_ns = event.start_ns + std::max<std::int64_t>(event.duration_ns, 0);
    const auto error = each(arguments, [&](std::string_view key, json::value value) {
      if (key == "External id") kernel.external_id = integer_of(value);
      if (key == "correlation") kernel.correlation = integer_of(value);
      if (key == "stream") kernel.stream = integer_of(value);
      if (key == "device") kernel.device = static_cast<std::int32_t>(integer_of(value));
      if (key == "grid") kernel.grid = first_of(value);
    });
    trace_.kernels.push_back(std::move(kernel));
    return error;
  }

  static std::uint32_t first_of(json::value value) {
    json::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) return 0;
    for (auto element : array) {
      std::int64_t number = 0;
      if (element.get_int64().get(number) != simdjson::SUCCESS) return 0;
      return static_cast<std::uint32_t>(number);
    }
    return 0;
  }

  simdjson::error_code read_launch(const TraceEvent& event, json::object arguments) {
    KinetoLaunch launch{.thread = event.thread, .start_ns = event.start_ns};
    const auto error = each(arguments, [&](std::string_view key, json::value value) {
      if (key == "correlation") launch.correlation = integer_of(value);
    });
    trace_.launches.push_back(launch);
    return error;
  }

  simdjson::error_code read_call(const TraceEvent& event, json::object arguments) {
    KinetoCall call;
    call.thread = event.thread;
    call.start_ns = event.start_ns;
    call.end_ns = event.start_ns + std::max<std::int64_t>(event.duration_ns, 0);
    std::string name;
    std::string type;
    RankList list;
    const auto error = each(arguments, [&](std::string_view key, json::value value) {
      if (key == "Collective name") name = text_of(value);
      if (key == "dtype") type = text_of(value);
      read_call_argument(key, value, call, list);
    });
    complete_ranks(list, call);
    trace_.process_id = event.process;
    // PyTorch carries out a barrier as an all-reduce.
    const auto collective = model::torch_collective(name == "barrier" ? "allreduce" : name);
    if (!collective) {
      note_unknown(name);
      return error;
    }
    call.function = collective->function;
    call.element_bytes = model::torch_element_bytes(type);
    if (call.element_bytes == 0) {
      trace_.warnings.add("unknown types of elements", "counted as 1 byte",
                          fmt::format("{}: {}", trace_.file, type));
      call.element_bytes = 1;
    }
    trace_.calls.push_back(std::move(call));
    return error;
  }

  // PyTorch shortens the list of ranks of a large group and logs these numbers as well.
  struct RankList {
    std::int64_t size = 0;
    std::int64_t start = 0;
    std::int64_t stride = 0;
  };

  static void complete_ranks(const RankList& list, KinetoCall& call) {
    constexpr std::int64_t kMostListedRanks = 1 << 17;
    if (!call.group_ranks.empty() || list.size > kMostListedRanks) return;
    if (list.start < 0 || list.start > kMostListedRanks) return;
    if (list.stride <= 0 || list.stride > kMostListedRanks) return;
    for (std::int64_t i = 0; i < list.size; ++i) {
      call.group_ranks.push_back(static_cast<std::int32_t>(list.start + i * list.stride));
    }
  }

  std::vector<std::uint64_t> split_of(json::value value) {
    const std::string_view text = text_of(value);
    if (text.find("...") != std::string_view::npos) {
      trace_.warnings.add("splits of an all-to-all that PyTorch shortened", "taken as equal shares",
                          trace_.file);
    }
    return list_of<std::uint64_t>(text);
  }

  void read_call_argument(std::string_view key,
                          json::value value,
                          KinetoCall& call,
                          RankList& list) {
    if (key == "Group size") list.size = integer_of(value);
    if (key == "Global rank start") list.start = integer_of(value);
    if (key == "Global rank stride") list.stride = integer_of(value);
    if (key == "External id") call.external_id = integer_of(value);
    if (key == "Process Group Name") call.group_name = text_of(value);
    if (key == "Process Group Ranks") call.group_ranks = list_of<std::int32_t>(text_of(value));
    if (key == "In msg nelems") call.elements_in = static_cast<std::uint64_t>(integer_of(value));
    if (key == "Out msg nelems") call.elements_out = static_cast<std::uint64_t>(integer_of(value));
    if (key == "Src Rank" || key == "Dst Rank") {
      call.peer = static_cast<std::int32_t>(integer_of(value));
    }
    if (key == "Rank") call.root = static_cast<std::int32_t>(integer_of(value));
    if (key == "In split size") call.split_in = split_of(value);
    if (key == "Out split size") call.split_out = split_of(value);
  }

  void note_unknown(const std::string& name) {
    constexpr std::array<std::string_view, 3> kSilent = {"wait", "init", ""};
    if (std::find(kSilent.begin(), kSilent.end(), name) != kSilent.end()) return;
    trace_.warnings.add("collectives of PyTorch that are not known", "left out",
                        fmt::format("{}: {}", trace_.file, name));
  }

  KinetoTrace trace_;
  std::int64_t base_ns_ = 0;
};

}  // namespace

core::Result<KinetoTrace> read_kineto_trace(const std::filesystem::path& path) {
  const simdjson::padded_string text = ASSAY_TRY(read_whole(path));
  return TraceReader(path.string()).read(text);
}

core::Result<KinetoTrace> parse_kineto_trace(std::string_view text, const std::string& name) {
  return TraceReader(name).read(simdjson::padded_string(text));
}

}  // namespace assay::goal
