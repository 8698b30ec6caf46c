// The functions that NCCL calls. They never fail and never end the program: with a file that cannot
// be used, NCCL's log gets one line and NCCL chooses as if there were no plugin.
#include <dlfcn.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "allreduce/tuner/control.h"
#include "allreduce/tuner/nccl_abi.h"
#include "allreduce/tuner/tuner_file.h"

namespace assay::allreduce {
namespace {

constexpr const char* kOwnVariable = "ASSAY_NCCL_TUNER_FILE";
constexpr const char* kNcclVariable = "NCCL_TUNER_CONFIG_FILE";

// What the whole process shares: the order of a sweep, and what was seen since.
struct Sweep {
  std::mutex mutex;
  TunerOrder order;
  TunerSeen seen;
  std::atomic<int>* events = nullptr;  // NCCL's mask of events, which is the process's
};

// It is never destroyed, because threads of NCCL may outlive the end of main.
Sweep& sweep() {
  static Sweep* const shared = new Sweep;  // NOLINT(cppcoreguidelines-owning-memory)
  return *shared;
}

struct TunerContext {
  int ranks = 0;
  int nodes = 0;
  std::vector<TunerRow> rows;  // those that may match in this communicator
};

void say(nccl::Logger logger, int level, const std::string& text) {
  if (logger == nullptr) return;
  logger(level, nccl::kLogFlags, "assay", 0, "TUNER/assay: %s", text.c_str());
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Reads one byte more than a good file has at most. Only a file, because a pipe might let the whole
// job wait.
bool read_text(const std::string& path, std::string& text) {
  struct stat status {};

  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (!file) return false;
  std::array<char, 4096> block{};
  while (text.size() <= kMostTunerBytes) {
    const std::size_t count = std::fread(block.data(), 1, block.size(), file.get());
    if (count == 0) break;
    text.append(block.data(), count);
  }
  return std::ferror(file.get()) == 0;
}

// The functions of the libraries that are in the process already.
template <class Function>
Function find_function(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(::dlsym(library, name));
}

// Returns the name of the calling thread's current GPU, "" if it cannot be found out.
std::string gpu_name() {
  constexpr int kNameBytes = 256;
  void* driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  const auto get_device = find_function<int (*)(int*)>(driver, "cuCtxGetDevice");
  const auto get_name = find_function<int (*)(char*, int, int)>(driver, "cuDeviceGetName");
  std::array<char, kNameBytes> name{};
  int device = 0;
  const bool known = get_device != nullptr && get_name != nullptr && get_device(&device) == 0 &&
                     get_name(name.data(), kNameBytes - 1, device) == 0;
  if (driver != nullptr) ::dlclose(driver);
  return known ? name.data() : "";
}

bool is_in(const Dl_info& library, void* function) {
  Dl_info found{};
  return ::dladdr(function, &found) != 0 && found.dli_fbase == library.dli_fbase;
}

// Returns the version of the NCCL that has this function, such as "2.28"; "" if unknown.
std::string nccl_version(nccl::Logger function) {
  Dl_info library{};
  if (function == nullptr || ::dladdr(reinterpret_cast<void*>(function), &library) == 0) return "";
  // A program into which NCCL is linked statically has no name that dlopen knows.
  void* handle = ::dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) handle = ::dlopen(nullptr, RTLD_LAZY);
  const auto get = find_function<int (*)(int*)>(handle, "ncclGetVersion");
  int version = 0;
  if (get != nullptr && is_in(library, reinterpret_cast<void*>(get)) && get(&version) != 0)
    version = 0;
  if (handle != nullptr) ::dlclose(handle);
  if (version == 0) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%d.%d", version / 10'000, version / 100 % 100);
  return text.data();
}

// Returns why the rows of the file do not hold here; "" if they do.
std::string mismatch(const TunerFile& file, nccl::Logger logger) {
  const auto differs = [](const char* what, const std::string& wanted, const std::string& actual) {
    return wanted.empty() || wanted == actual
               ? std::string()
               : std::string("it was measured with ") + what + " " + wanted + ", and here is " +
                     (actual.empty() ? "an unknown one" : actual);
  };
  std::string gpu = differs("GPU", file.gpu, file.gpu.empty() ? "" : gpu_name());
  if (!gpu.empty()) return gpu;
  return differs("NCCL", file.nccl, file.nccl.empty() ? "" : nccl_version(logger));
}

bool may_match(const TunerRow& row, const TunerContext& context) {
  return (row.ranks == kAny || row.ranks == context.ranks) &&
         (row.nodes == kAny || row.nodes == context.nodes);
}

void take_rows(TunerContext& context, nccl::Logger logger) {
  std::string path = variable(kOwnVariable);
  if (path.empty()) path = variable(kNcclVariable);
  if (path.empty()) {
    say(logger, nccl::kLogInfo,
        std::string("no file is named by ") + kOwnVariable + " or " + kNcclVariable +
            "; NCCL chooses by itself");
    return;
  }
  std::string text;
  if (!read_text(path, text)) {
    say(logger, nccl::kLogWarn, "cannot read " + path + "; NCCL chooses by itself");
    return;
  }
  const TunerFile file = parse_tuner_file(text);
  if (!file.problem.empty()) {
    say(logger, nccl::kLogWarn, path + ", " + file.problem + "; NCCL chooses by itself");
    return;
  }
  const std::string reason = mismatch(file, logger);
  if (!reason.empty()) {
    say(logger, nccl::kLogInfo, path + ": " + reason + "; NCCL chooses by itself");
    return;
  }
  for (const TunerRow& row : file.rows) {
    if (may_match(row, context)) context.rows.push_back(row);
  }
  say(logger, nccl::kLogInfo,
      std::to_string(context.rows.size()) + " of " + std::to_string(file.rows.size()) +
          " rows of " + path + " are for " + std::to_string(context.ranks) + " ranks on " +
          std::to_string(context.nodes) + " hosts");
}

// Without memory for a context NCCL chooses by itself.
void begin_communicator(void** context, std::size_t ranks, std::size_t nodes, nccl::Logger logger) {
  *context = nullptr;
  try {
    auto begun = std::make_unique<TunerContext>();
    begun->ranks = static_cast<int>(ranks);
    begun->nodes = static_cast<int>(nodes);
    take_rows(*begun, logger);
    *context = begun.release();
  } catch (const std::exception&) {
    say(logger, nccl::kLogWarn, "no memory; NCCL chooses by itself");
  }
}

// NCCL's table of costs, and what the plugin may change of a call.
class Choice {
 public:
  Choice(float** costs, int algorithms, int protocols)
      : costs_(reinterpret_cast<float*>(costs)), algorithms_(algorithms), protocols_(protocols) {}

  // Whether NCCL can use the combination for this call.
  [[nodiscard]] bool offers(int algorithm, int protocol) const {
    return algorithm >= 0 && protocol >= 0 && algorithm < algorithms_ && protocol < protocols_ &&
           *place(algorithm, protocol) >= 0;
  }

  // The algorithm that NCCL would take by itself.
  [[nodiscard]] int own_algorithm() const {
    int best = kAny;
    float least = 0;
    for (int algorithm = 0; algorithm < algorithms_; ++algorithm) {
      for (int protocol = 0; protocol < protocols_; ++protocol) {
        const float cost = *place(algorithm, protocol);
        if (cost < 0 || (best != kAny && cost >= least)) continue;
        best = algorithm;
        least = cost;
      }
    }
    return best;
  }

  void take(int algorithm, int protocol) { *place(algorithm, protocol) = 0; }

 private:
  [[nodiscard]] float* place(int algorithm, int protocol) const {
    return costs_ + static_cast<std::ptrdiff_t>(algorithm) * protocols_ + protocol;
  }

  float* costs_;
  int algorithms_;
  int protocols_;
};

// Rows come from measurements of rings and trees. Where NCCL would take another algorithm (NVLS,
// which was off or is not there for all), nobody knows that a row is better.
bool is_known(int own_algorithm, const TunerRow& row) {
  return own_algorithm == kRing || own_algorithm == kTree || own_algorithm == row.algorithm;
}

bool answer(Choice& choice, const TunerRow& row, int* channels) {
  if (!choice.offers(row.algorithm, row.protocol)) return false;
  choice.take(row.algorithm, row.protocol);
  if (row.channels > 0) *channels = row.channels;
  return true;
}

// Returns false unless a sweep decides.
bool answer_for_sweep(Choice& choice, int* channels) {
  Sweep& shared = sweep();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  ++shared.seen.asked;
  if (shared.order.mode == TunerMode::kFile) return false;
  if (shared.order.mode == TunerMode::kNcclsOwn) return true;
  const TunerRow row{.algorithm = shared.order.algorithm,
                     .protocol = shared.order.protocol,
                     .channels = shared.order.channels};
  const bool answered = answer(choice, row, channels);
  ++(answered ? shared.seen.answered : shared.seen.ignored);
  return true;
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature
nccl::Result get_coll_info(void* opaque,
                           int collective,
                           std::size_t bytes,
                           int operations,
                           float** costs,
                           int algorithms,
                           int protocols,
                           int registered,
                           int* channels) {
  const auto* context = static_cast<const TunerContext*>(opaque);
  if (context == nullptr || costs == nullptr || channels == nullptr) return nccl::kSuccess;
  Choice choice(costs, algorithms, protocols);
  if (answer_for_sweep(choice, channels)) return nccl::kSuccess;
  const TunerRow* row = row_for(context->rows, {.collective = collective,
                                                .bytes = bytes,
                                                .nodes = context->nodes,
                                                .ranks = context->ranks,
                                                .operations = operations,
                                                .registered = registered});
  if (row == nullptr || !is_known(choice.own_algorithm(), *row)) return nccl::kSuccess;
  const bool answered = answer(choice, *row, channels);
  Sweep& shared = sweep();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  ++(answered ? shared.seen.answered : shared.seen.ignored);
  return nccl::kSuccess;
}

nccl::Result end_communicator(void* context) {
  delete static_cast<TunerContext*>(context);  // NOLINT(cppcoreguidelines-owning-memory)
  return nccl::kSuccess;
}

nccl::Result init_v4(std::size_t ranks, std::size_t nodes, nccl::Logger logger, void** context) {
  begin_communicator(context, ranks, nodes, logger);
  return nccl::kSuccess;
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature
nccl::Result init_v5(void** context,
                     std::uint64_t /*id*/,
                     std::size_t ranks,
                     std::size_t nodes,
                     nccl::Logger logger,
                     void* /*nvlink_domains*/,
                     void* /*constants*/) {
  begin_communicator(context, ranks, nodes, logger);
  return nccl::kSuccess;
}

// The profiler interface, for sweeps: it tells what a collective really ran with.

void watch_process(void** context, int* events) {
  Sweep& shared = sweep();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  *context = &shared;
  *events = 0;
  shared.events = reinterpret_cast<std::atomic<int>*>(events);
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature
nccl::Result profiler_init_v4(void** context,
                              int* events,
                              const char* /*name*/,
                              std::uint64_t /*id*/,
                              int /*nodes*/,
                              int /*ranks*/,
                              int /*rank*/,
                              nccl::Logger /*logger*/) {
  watch_process(context, events);
  return nccl::kSuccess;
}

// NOLINTNEXTLINE(readability-function-size): NCCL's signature
nccl::Result profiler_init_v5(void** context,
                              std::uint64_t /*id*/,
                              int* events,
                              const char* /*name*/,
                              int /*nodes*/,
                              int /*ranks*/,
                              int /*rank*/,
                              nccl::Logger /*logger*/) {
  watch_process(context, events);
  return nccl::kSuccess;
}

// Returns whether the word was there already.
template <std::size_t kBytes>
bool keep(char (&kept)[kBytes], const char* word) {
  const std::string_view text = word == nullptr ? "" : word;
  const bool same = text == kept;
  const std::size_t length = std::min(text.size(), kBytes - 1);
  std::memcpy(kept, text.data(), length);
  kept[length] = '\0';
  return same;
}

template <class Event>
nccl::Result start_event(void* /*context*/, void** handle, Event* event) {
  *handle = nullptr;
  if (event->type != nccl::kCollEvent) return nccl::kSuccess;
  Sweep& shared = sweep();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  TunerSeen& seen = shared.seen;
  const bool same_algorithm = keep(seen.algorithm, event->coll.algorithm);
  const bool same_protocol = keep(seen.protocol, event->coll.protocol);
  const bool same = same_algorithm && same_protocol && seen.channels == event->coll.channels;
  seen.channels = event->coll.channels;
  if (seen.ran++ > 0 && !same) seen.alike = false;
  return nccl::kSuccess;
}

nccl::Result stop_event(void* /*handle*/) {
  return nccl::kSuccess;
}

nccl::Result record_event_state(void* /*handle*/, int /*state*/, void* /*arguments*/) {
  return nccl::kSuccess;
}

nccl::Result profiler_finalize(void* /*context*/) {
  return nccl::kSuccess;
}

}  // namespace
}  // namespace assay::allreduce

#define ASSAY_EXPORT __attribute__((visibility("default")))

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): NCCL looks for these names.
extern ASSAY_EXPORT const assay::allreduce::nccl::TunerV4 ncclTunerPlugin_v4;
extern ASSAY_EXPORT const assay::allreduce::nccl::TunerV5 ncclTunerPlugin_v5;
extern ASSAY_EXPORT const assay::allreduce::nccl::ProfilerV4 ncclProfiler_v4;
extern ASSAY_EXPORT const assay::allreduce::nccl::ProfilerV5 ncclProfiler_v5;

const assay::allreduce::nccl::TunerV4 ncclTunerPlugin_v4 = {"assay", assay::allreduce::init_v4,
                                                            assay::allreduce::get_coll_info,
                                                            assay::allreduce::end_communicator};

const assay::allreduce::nccl::TunerV5 ncclTunerPlugin_v5 = {"assay", assay::allreduce::init_v5,
                                                            assay::allreduce::get_coll_info,
                                                            assay::allreduce::end_communicator};

const assay::allreduce::nccl::ProfilerV4 ncclProfiler_v4 = {
    "assay sweep",
    assay::allreduce::profiler_init_v4,
    assay::allreduce::start_event<assay::allreduce::nccl::EventV4>,
    assay::allreduce::stop_event,
    assay::allreduce::record_event_state,
    assay::allreduce::profiler_finalize,
};

const assay::allreduce::nccl::ProfilerV5 ncclProfiler_v5 = {
    "assay sweep",
    assay::allreduce::profiler_init_v5,
    assay::allreduce::start_event<assay::allreduce::nccl::EventV5>,
    assay::allreduce::stop_event,
    assay::allreduce::record_event_state,
    assay::allreduce::profiler_finalize,
};

// NOLINTEND(readability-identifier-naming)

ASSAY_EXPORT void assay_nccl_tuner_order(const assay::allreduce::TunerOrder* order) {
  assay::allreduce::Sweep& shared = assay::allreduce::sweep();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  shared.order = *order;
  shared.seen = {};
  if (shared.events != nullptr)
    *shared.events = order->watch ? assay::allreduce::nccl::kCollEvent : 0;
}

ASSAY_EXPORT void assay_nccl_tuner_seen(assay::allreduce::TunerSeen* seen) {
  assay::allreduce::Sweep& shared = assay::allreduce::sweep();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  *seen = shared.seen;
}
}
