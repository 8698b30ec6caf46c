// The C library: what it accepts, refuses and survives. Each scenario is run with the ranks as
// threads of a process, and again as processes. Where there are fewer GPUs than ranks, the ranks
// share them, and scenarios that need NCCL or all of a GPU are left out.
//
// usage: allreduce_library_program [RANKS...]     by default 2 and 4
// exit status: 0 good, 77 skipped for want of a GPU, else failed
#include <assay/allreduce.h>
#include <cuda_runtime.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kPatienceSeconds = 150;  // of one run of all scenarios
constexpr std::size_t kBufferBytes = std::size_t{40} << 20U;
constexpr std::size_t kRandomBytes = std::size_t{2} << 20U;  // beyond what 4 MiB can push
constexpr std::int64_t kHidden = 4096;

// What the ranks share, threads or processes.
struct Shared {
  pthread_barrier_t barrier;
  std::array<assay_allreduce_handle, ASSAY_ALLREDUCE_MAX_RANKS> handles;
  std::array<std::uint64_t, ASSAY_ALLREDUCE_MAX_RANKS> words;
  std::atomic<int> problems;
};

// One rank: its GPU, its stream and its buffers.
class Rank {
 public:
  Rank(Shared& with, int own_number, int of_all) : shared(with), number(own_number), count(of_all) {
    int gpus = 0;
    must(cudaGetDeviceCount(&gpus), "counting GPUs");
    shares_gpus = count > gpus;
    must(cudaSetDevice(number % gpus), "choosing a GPU");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    must(cudaStreamCreateWithFlags(&second_stream, cudaStreamNonBlocking), "a stream");
    for (char*& buffer : buffers) {
      void* memory = nullptr;
      must(cudaMalloc(&memory, kBufferBytes), "memory");
      must(cudaMemset(memory, 0, kBufferBytes), "memory");
      buffer = static_cast<char*>(memory);
    }
    const float one = 1;
    must(cudaMemcpy(buffers[5], &one, sizeof one, cudaMemcpyHostToDevice), "memory");
    must(cudaDeviceSynchronize(), "memory");
    meet();
  }

  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  ~Rank() {
    meet();
    for (char* buffer : buffers)
      cudaFree(buffer);
    cudaStreamDestroy(stream);
    cudaStreamDestroy(second_stream);
  }

  void meet() const { pthread_barrier_wait(&shared.barrier); }

  // A barrier behind all work of all GPUs.
  void finish() const {
    must(cudaDeviceSynchronize(), "finishing");
    meet();
  }

  bool expect(bool is_so, const std::string& what) const {
    if (is_so) return true;
    ++shared.problems;
    std::fprintf(stderr, "rank %d of %d: %s: not so: %s; the last error is '%s'\n", number, count,
                 scenario.c_str(), what.c_str(), assay_allreduce_error());
    return false;
  }

  void must(cudaError_t error, const char* what) const {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "rank %d of %d: %s: %s: %s\n", number, count, scenario.c_str(), what,
                 cudaGetErrorString(error));
    std::_Exit(1);
  }

  Shared& shared;
  int number;
  int count;
  bool shares_gpus = false;
  std::string scenario = "starting";
  cudaStream_t stream = nullptr;
  cudaStream_t second_stream = nullptr;
  std::array<char*, 9> buffers{};
};

bool error_says(const std::string& part) {
  return std::string(assay_allreduce_error()).find(part) != std::string::npos;
}

assay_allreduce_options options_without_nccl() {
  assay_allreduce_options options{};
  options.size = sizeof options;
  return options;
}

assay_allreduce_comm* created(const Rank& rank, const assay_allreduce_options& options) {
  assay_allreduce_comm* comm = nullptr;
  const auto status = assay_allreduce_create(rank.number, rank.count, &options, &comm);
  if (!rank.expect(status == ASSAY_ALLREDUCE_OK, "created")) std::_Exit(1);
  return comm;
}

// Exports and exchanges handles, and connects. `spoil` may change the handles that this rank sees.
template <class Spoil>
assay_allreduce_status join(const Rank& rank, assay_allreduce_comm* comm, Spoil spoil) {
  rank.finish();
  rank.expect(assay_allreduce_export(comm, &rank.shared.handles.at(static_cast<std::size_t>(
                                               rank.number))) == ASSAY_ALLREDUCE_OK,
              "exported");
  rank.meet();
  auto handles = rank.shared.handles;
  rank.meet();
  spoil(handles);
  const auto status = assay_allreduce_connect(comm, handles.data());
  rank.meet();
  return status;
}

assay_allreduce_status join(const Rank& rank, assay_allreduce_comm* comm) {
  return join(rank, comm, [](auto&) {});
}

assay_allreduce_comm* connected(const Rank& rank, const assay_allreduce_options& options) {
  assay_allreduce_comm* comm = created(rank, options);
  rank.expect(join(rank, comm) == ASSAY_ALLREDUCE_OK, "connected");
  return comm;
}

void end(const Rank& rank, assay_allreduce_comm* comm) {
  rank.finish();
  rank.expect(assay_allreduce_destroy(comm) == ASSAY_ALLREDUCE_OK, "destroyed");
  rank.meet();
}

assay_allreduce_call call_of(const Rank& rank,
                             assay_allreduce_strategy strategy,
                             std::int64_t tokens) {
  assay_allreduce_call call{};
  call.size = sizeof call;
  call.strategy = strategy;
  call.data_type = ASSAY_ALLREDUCE_BFLOAT16;
  call.num_tokens = tokens;
  call.hidden_size = kHidden;
  call.input = rank.buffers[0];
  call.output = rank.buffers[1];
  call.residual_in = rank.buffers[2];
  call.residual_out = rank.buffers[3];
  call.gamma = rank.buffers[4];
  call.epsilon = 1e-5F;
  call.scale = reinterpret_cast<const float*>(rank.buffers[5]);
  call.quantized = rank.buffers[6];
  call.scale_out = rank.buffers[7];
  return call;
}

// Makes a single row of the message.
assay_allreduce_call one_row(assay_allreduce_call call) {
  call.hidden_size *= call.num_tokens;
  call.num_tokens = 1;
  return call;
}

std::int64_t tokens_of(std::size_t bytes) {
  return static_cast<std::int64_t>(bytes) / (2 * kHidden);
}

std::size_t element_bytes(const assay_allreduce_call& call) {
  return call.data_type == ASSAY_ALLREDUCE_FLOAT32 ? 4 : 2;
}

std::size_t bytes_of(const assay_allreduce_call& call) {
  return static_cast<std::size_t>(call.num_tokens * call.hidden_size) * element_bytes(call);
}

// A number as an element's bytes, the lowest first. Small whole numbers are exact in all types, and
// so are their sums over eight ranks.
std::uint32_t encoded(int value, int data_type) {
  const float number = static_cast<float>(value);
  std::uint32_t word = 0;
  std::memcpy(&word, &number, sizeof word);
  if (data_type == ASSAY_ALLREDUCE_BFLOAT16) return word >> 16U;
  // The exponent's bias is 15 instead of 127; the number is a normal one.
  if (data_type == ASSAY_ALLREDUCE_FLOAT16) return (word >> 13U) - (112U << 10U);
  return word;
}

std::vector<char> encoded(const std::vector<int>& values, const assay_allreduce_call& call) {
  const std::size_t size = element_bytes(call);
  std::vector<char> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t word = encoded(values[i], call.data_type);
    std::memcpy(&bytes[i * size], &word, size);
  }
  return bytes;
}

// Rank r has (element + r) % 13 + 1 at each element of a message.
std::vector<int> numbers_of(int rank, std::size_t elements) {
  std::vector<int> numbers(elements);
  for (std::size_t i = 0; i < elements; ++i)
    numbers[i] = static_cast<int>((i + static_cast<std::size_t>(rank)) % 13) + 1;
  return numbers;
}

void fill_input(const Rank& rank, const assay_allreduce_call& call) {
  const std::size_t elements = bytes_of(call) / element_bytes(call);
  const auto bytes = encoded(numbers_of(rank.number, elements), call);
  rank.must(
      cudaMemcpy(const_cast<void*>(call.input), bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
      "filling the input");
}

void expect_sum(const Rank& rank, const assay_allreduce_call& call, const std::string& what) {
  const std::size_t elements = bytes_of(call) / element_bytes(call);
  std::vector<int> sums(elements);
  for (int other = 0; other < rank.count; ++other) {
    const auto numbers = numbers_of(other, elements);
    for (std::size_t i = 0; i < elements; ++i)
      sums[i] += numbers[i];
  }
  const auto wanted = encoded(sums, call);
  std::vector<char> found(wanted.size());
  rank.must(cudaMemcpy(found.data(), call.output, found.size(), cudaMemcpyDeviceToHost), "reading");
  rank.expect(found == wanted, "the sum of " + what);
}

// Runs a plain call, and checks that its sum is right.
void expect_runs(const Rank& rank, assay_allreduce_comm* comm, const assay_allreduce_call& call) {
  const std::string what = "strategy " + std::to_string(call.strategy) + ", " +
                           std::to_string(bytes_of(call)) + " bytes";
  fill_input(rank, call);
  rank.must(cudaMemset(call.output, 0xFF, bytes_of(call)), "spoiling the output");
  rank.finish();
  if (!rank.expect(assay_allreduce_run(comm, &call, rank.stream) == ASSAY_ALLREDUCE_OK,
                   what + " runs"))
    return;
  rank.finish();
  expect_sum(rank, call, what);
}

void expect_refused(const Rank& rank,
                    assay_allreduce_comm* comm,
                    const assay_allreduce_call& call,
                    assay_allreduce_status status,
                    const std::string& reason) {
  rank.expect(assay_allreduce_supports(comm, &call) == status && error_says(reason),
              "supports refuses: " + reason);
  rank.expect(assay_allreduce_run(comm, &call, rank.stream) == status && error_says(reason),
              "run refuses: " + reason);
}

constexpr std::array kOwnStrategies = {ASSAY_ALLREDUCE_ONESHOT, ASSAY_ALLREDUCE_TWOSHOT_PUSH,
                                       ASSAY_ALLREDUCE_TWOSHOT};

void write_table(const char* path, const char* strategy) {
  std::ofstream(path) << R"({"format": "assay allreduce table", "version": 1, "sm_version": 90,
    "launch": "graph", "fallback": ")"
                      << strategy << R"(", "provenance": "a test", "slices": []})";
}

// A file of this rank's own, because ranks may be processes.
std::string own_table(const Rank& rank, const char* strategy) {
  std::string path = std::filesystem::temp_directory_path() / "assay_table_XXXXXX";
  const int file = mkstemp(path.data());
  rank.expect(file >= 0, "a temporary file");
  close(file);
  write_table(path.c_str(), strategy);
  return path;
}

void load_table(const Rank& rank, assay_allreduce_comm* comm, const char* strategy) {
  const std::string path = own_table(rank, strategy);
  rank.expect(assay_allreduce_load_table(comm, path.c_str()) == ASSAY_ALLREDUCE_OK, "the table");
  unlink(path.c_str());
}

// Calls with random numbers and pointers, the same on all ranks.
class RandomCalls {
 public:
  RandomCalls(const Rank& rank, unsigned seed) : rank_(rank), engine_(seed) {}

  assay_allreduce_call next() {
    const std::array strategies = {0, 3, 3, 3, 4, 5, 8, 100};
    const std::array hidden = {8, 16, 128, 7168, 16384, 65536, 12};
    const std::array tokens = {0, 1, 3, 64, 130, 700, -1};
    const int type = below(3);
    assay_allreduce_call call =
        call_of(rank_, static_cast<assay_allreduce_strategy>(of(strategies)), of(tokens));
    call.fusion = static_cast<assay_allreduce_fusion>(below(4));
    call.data_type = static_cast<assay_allreduce_data_type>(type);
    call.hidden_size = of(hidden);
    while (call.num_tokens > 0 && bytes_of(call) > kRandomBytes)
      call.num_tokens /= 2;
    if (below(3) == 0) call.output = nullptr;
    if (below(3) == 0) call.residual_out = const_cast<void*>(call.residual_in);
    if (below(5) == 0) call.output = rank_.buffers[0];
    vary(call);
    forget_some(call);
    return call;
  }

 private:
  int below(int sides) { return static_cast<int>(engine_() % static_cast<unsigned>(sides)); }

  template <class Values>
  int of(const Values& values) {
    return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
  }

  bool rarely() { return below(6) == 0; }

  // Some of these are wrong.
  void vary(assay_allreduce_call& call) {
    if (rarely()) call.operation = below(4);
    if (rarely()) call.scale_layout = below(6);
    if (rarely()) call.weight_bias = 1;
    if (rarely()) call.blocks = below(5) - 1;
    if (rarely()) call.threads = 32 * below(34) + (below(8) == 0 ? 1 : 0);
  }

  void forget_some(assay_allreduce_call& call) {
    switch (below(24)) {
      case 0:
        call.input = nullptr;
        break;
      case 1:
        call.gamma = nullptr;
        break;
      case 2:
        call.quantized = static_cast<char*>(call.quantized) + 2;
        break;
      case 3:
        call.residual_in = nullptr;
        break;
      case 4:
        call.scale = nullptr;
        break;
      default:
        break;
    }
  }

  const Rank& rank_;
  std::mt19937 engine_;
};

// Returns whether the call ran.
bool agrees(const Rank& rank, assay_allreduce_comm* comm, const assay_allreduce_call& call) {
  const auto supported = assay_allreduce_supports(comm, &call);
  const std::string reason = supported == ASSAY_ALLREDUCE_OK ? "" : assay_allreduce_error();
  const bool plain = call.fusion == ASSAY_ALLREDUCE_FUSION_NONE && call.num_tokens > 0 &&
                     call.operation == ASSAY_ALLREDUCE_ALL_REDUCE;
  if (supported == ASSAY_ALLREDUCE_OK && plain) fill_input(rank, call);
  rank.finish();
  const auto ran = assay_allreduce_run(comm, &call, rank.stream);
  const std::string what = "strategy " + std::to_string(call.strategy) + ", fusion " +
                           std::to_string(call.fusion) + ", " + std::to_string(call.num_tokens) +
                           " x " + std::to_string(call.hidden_size) + ", operation " +
                           std::to_string(call.operation) + ", scales " +
                           std::to_string(call.scale_layout) + ", " + std::to_string(call.blocks) +
                           " blocks of " + std::to_string(call.threads);
  rank.expect(
      ran == supported && (ran == ASSAY_ALLREDUCE_OK || error_says(reason)),
      "supports (" + std::to_string(supported) + ", '" + reason + "') and run agree: " + what);
  rank.finish();
  if (ran != ASSAY_ALLREDUCE_OK) return false;
  if (plain) expect_sum(rank, call, what);
  return true;
}

void agree_at_random(Rank& rank) {
  constexpr int kCalls = 120;
  for (unsigned setting = 0; setting < 6; ++setting) {
    assay_allreduce_options options = options_without_nccl();
    options.workspace_bytes = setting % 2 == 0 ? 0 : std::size_t{4} << 20U;
    options.use_nccl = setting % 3 == 0 ? 1 : 0;
    options.deterministic = setting == 3 || setting == 4 ? 1 : 0;
    assay_allreduce_comm* comm = created(rank, options);
    if (setting > 1) load_table(rank, comm, setting % 2 == 0 ? "NCCL" : "ONESHOT");
    rank.expect(join(rank, comm) == ASSAY_ALLREDUCE_OK, "connected");
    RandomCalls calls(rank, 19 + setting);
    int ran = 0;
    for (int i = 0; i < kCalls; ++i)
      ran += agrees(rank, comm, calls.next()) ? 1 : 0;
    rank.expect(ran > kCalls / 5 && ran < kCalls, std::to_string(ran) + " of the calls ran");
    end(rank, comm);
  }
}

void quantise_in_place(Rank& rank) {
  assay_allreduce_options options = options_without_nccl();
  options.use_nccl = 1;
  assay_allreduce_comm* comm = connected(rank, options);
  for (const std::size_t bytes : {std::size_t{64} << 10U, std::size_t{16} << 20U}) {
    assay_allreduce_call call = call_of(rank, ASSAY_ALLREDUCE_AUTO, tokens_of(bytes));
    call.fusion = ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_FP8;
    call.output = nullptr;
    call.residual_out = const_cast<void*>(call.residual_in);
    agrees(rank, comm, call);
  }
  end(rank, comm);
}

void one_rank_without_nccl(Rank& rank) {
  assay_allreduce_options options = options_without_nccl();
  options.use_nccl = rank.number == 1 ? 0 : 1;
  assay_allreduce_comm* comm = connected(rank, options);
  rank.expect(assay_allreduce_nccl_version(comm) == 0, "NCCL is off everywhere");
  expect_refused(rank, comm, call_of(rank, ASSAY_ALLREDUCE_NCCL, 1), ASSAY_ALLREDUCE_UNSUPPORTED,
                 rank.number == 1 ? "NCCL was switched off" : "rank 1 has no NCCL");
  expect_runs(rank, comm, call_of(rank, ASSAY_ALLREDUCE_AUTO, 3));
  expect_runs(rank, comm, call_of(rank, ASSAY_ALLREDUCE_AUTO, 4000));
  end(rank, comm);
}

void different_options(Rank& rank) {
  assay_allreduce_options options = options_without_nccl();
  options.deterministic = rank.number == 1 ? 1 : 0;
  assay_allreduce_comm* comm = created(rank, options);
  rank.expect(join(rank, comm) == ASSAY_ALLREDUCE_FAILED, "unequal options are refused");
  rank.expect(error_says("rank 1") && error_says("deterministic"), "the rank is named");
  expect_refused(rank, comm, call_of(rank, ASSAY_ALLREDUCE_ONESHOT, 1), ASSAY_ALLREDUCE_UNSUPPORTED,
                 "not connected");
  end(rank, comm);
}

void different_tables(Rank& rank) {
  assay_allreduce_comm* comm = created(rank, options_without_nccl());
  rank.expect(assay_allreduce_table_hash(comm) == 0, "no table has no hash");
  load_table(rank, comm, rank.number == 1 ? "TWOSHOT" : "ONESHOT");
  rank.expect(join(rank, comm) == ASSAY_ALLREDUCE_FAILED, "unequal tables are refused");
  rank.expect(error_says("rank 1") && error_says("table"), "the rank is named");
  load_table(rank, comm, "ONESHOT");
  rank.expect(join(rank, comm) == ASSAY_ALLREDUCE_OK, "equal tables are not");
  auto& words = rank.shared.words;
  words.at(static_cast<std::size_t>(rank.number)) = assay_allreduce_table_hash(comm);
  rank.meet();
  rank.expect(words[0] != 0 && words[0] == words[1], "equal tables have equal hashes");
  expect_runs(rank, comm, call_of(rank, ASSAY_ALLREDUCE_AUTO, 3));
  end(rank, comm);
}

// Rank 1 sees a handle of rank 0 with which it cannot open rank 0's memory: one of another process,
// with memory of its own, which CUDA does not open.
void half_failed_connect(Rank& rank) {
  constexpr std::size_t kProcessAt = 40;  // in a handle, which names another process then
  constexpr std::size_t kMemoryAt = 64;
  constexpr std::size_t kMemoryBytes = 64;
  assay_allreduce_options options = options_without_nccl();
  options.use_nccl = 1;
  assay_allreduce_comm* comm = created(rank, options);
  const auto status = join(rank, comm, [&](auto& handles) {
    if (rank.number != 1) return;
    handles[0].bytes[kProcessAt] ^= 0xFFU;
    std::memcpy(handles[0].bytes + kMemoryAt, handles[1].bytes + kMemoryAt, kMemoryBytes);
  });
  rank.expect(status == ASSAY_ALLREDUCE_FAILED, "no rank is connected");
  rank.expect(error_says(rank.number == 1 ? "opening the workspace of rank 0" : "rank 1 could not"),
              "the rank is named");
  expect_refused(rank, comm, call_of(rank, ASSAY_ALLREDUCE_AUTO, 1), ASSAY_ALLREDUCE_UNSUPPORTED,
                 "not connected");
  rank.expect(join(rank, comm) == ASSAY_ALLREDUCE_OK, "the second attempt connects");
  for (const auto strategy : kOwnStrategies)
    expect_runs(rank, comm, call_of(rank, strategy, 130));
  if (!rank.shares_gpus) expect_runs(rank, comm, call_of(rank, ASSAY_ALLREDUCE_NCCL, 130));
  end(rank, comm);
}

// Rank 1 comes when the others have left. It must not go on with them.
void late_connect(Rank& rank) {
  assay_allreduce_options options = options_without_nccl();
  options.use_nccl = 1;
  assay_allreduce_comm* comm = created(rank, options);
  setenv("ASSAY_ALLREDUCE_CONNECT_SECONDS", "1", 1);
  const auto status = join(rank, comm, [&](auto& /*handles*/) {
    if (rank.number == 1) std::this_thread::sleep_for(std::chrono::seconds(2));
  });
  rank.expect(status == ASSAY_ALLREDUCE_FAILED, "no rank is connected");
  rank.expect(error_says(rank.number == 1 ? "has left" : "rank 1 did not connect within 1 s"),
              "the rank is named");
  rank.meet();
  unsetenv("ASSAY_ALLREDUCE_CONNECT_SECONDS");
  rank.expect(join(rank, comm) == ASSAY_ALLREDUCE_OK, "the second attempt connects");
  expect_runs(rank, comm, call_of(rank, ASSAY_ALLREDUCE_AUTO, 130));
  end(rank, comm);
}

// One rank finds no memory. None of them goes on as if it were connected.
void failed_reserve(Rank& rank) {
  assay_allreduce_comm* comm = connected(rank, options_without_nccl());
  std::vector<void*> taken;
  std::size_t piece = std::size_t{1} << 40U;
  while (rank.number == 1 && piece >= std::size_t{1} << 20U) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, piece) == cudaSuccess) {
      taken.push_back(memory);
    } else {
      cudaGetLastError();
      piece /= 2;
    }
  }
  rank.finish();
  const auto status = assay_allreduce_reserve(comm, std::size_t{32} << 20U);
  rank.expect((status == ASSAY_ALLREDUCE_OK) == taken.empty(), "rank 1 has no memory");
  expect_refused(rank, comm, call_of(rank, ASSAY_ALLREDUCE_ONESHOT, 1), ASSAY_ALLREDUCE_UNSUPPORTED,
                 "not connected");
  for (void* memory : taken)
    cudaFree(memory);
  end(rank, comm);
}

void zero_tokens(Rank& rank) {
  assay_allreduce_comm* comm = connected(rank, options_without_nccl());
  assay_allreduce_call nothing{};
  nothing.size = sizeof nothing;
  nothing.strategy = ASSAY_ALLREDUCE_ONESHOT;
  nothing.hidden_size = kHidden;
  // No other rank takes part.
  if (rank.number == 0) {
    for (const auto strategy : {ASSAY_ALLREDUCE_AUTO, ASSAY_ALLREDUCE_ONESHOT,
                                ASSAY_ALLREDUCE_TWOSHOT, ASSAY_ALLREDUCE_NCCL}) {
      nothing.strategy = strategy;
      rank.expect(assay_allreduce_supports(comm, &nothing) == ASSAY_ALLREDUCE_OK, "supported");
      rank.expect(assay_allreduce_run(comm, &nothing, rank.stream) == ASSAY_ALLREDUCE_OK, "run");
    }
  }
  for (const auto strategy : kOwnStrategies)
    expect_runs(rank, comm, call_of(rank, strategy, 5));
  end(rank, comm);
}

std::size_t free_bytes(const Rank& rank) {
  std::size_t free = 0;
  std::size_t total = 0;
  rank.must(cudaMemGetInfo(&free, &total), "asking for free memory");
  return free;
}

cudaGraphExec_t captured(const Rank& rank,
                         assay_allreduce_comm* comm,
                         const assay_allreduce_call& call) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  rank.must(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal), "capturing");
  rank.expect(assay_allreduce_run(comm, &call, rank.stream) == ASSAY_ALLREDUCE_OK, "captured");
  rank.must(cudaStreamEndCapture(rank.stream, &graph), "capturing");
  rank.must(cudaGraphInstantiate(&ready, graph, 0), "a graph");
  cudaGraphDestroy(graph);
  return ready;
}

void expect_replays(const Rank& rank, cudaGraphExec_t graph, const assay_allreduce_call& call) {
  fill_input(rank, call);
  rank.must(cudaMemset(call.output, 0xFF, bytes_of(call)), "spoiling the output");
  rank.finish();
  for (int i = 0; i < 3; ++i)
    rank.must(cudaGraphLaunch(graph, rank.stream), "replaying");
  rank.finish();
  expect_sum(rank, call, "a replayed graph");
}

void default_workspace(Rank& rank) {
  end(rank, connected(rank, options_without_nccl()));  // what CUDA takes once
  const std::size_t before = free_bytes(rank);
  assay_allreduce_comm* comm = connected(rank, options_without_nccl());
  const std::size_t taken = before - free_bytes(rank);
  rank.expect(taken <= std::size_t{64} << 20U, std::to_string(taken) + " bytes are at most 64 MiB");
  // Some of these fit, others go in parts, and a row of all elements is cut, too.
  for (const assay_allreduce_strategy strategy : kOwnStrategies) {
    for (const std::size_t megabytes : {5, 10, 11, 37})
      expect_runs(rank, comm, call_of(rank, strategy, tokens_of(megabytes << 20U)));
    expect_runs(rank, comm, one_row(call_of(rank, strategy, tokens_of(kBufferBytes) - 1)));
  }
  assay_allreduce_call fused =
      one_row(call_of(rank, ASSAY_ALLREDUCE_ONESHOT, tokens_of(kBufferBytes)));
  fused.fusion = ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM;
  expect_refused(rank, comm, fused, ASSAY_ALLREDUCE_UNSUPPORTED, "larger than the workspace");
  end(rank, comm);
}

// A reserve between calls and one during a capture, and the graph that was captured before it.
void reserve(Rank& rank) {
  assay_allreduce_comm* comm = connected(rank, options_without_nccl());
  const auto large = call_of(rank, ASSAY_ALLREDUCE_TWOSHOT_PUSH, tokens_of(std::size_t{16} << 20U));
  const auto small = call_of(rank, ASSAY_ALLREDUCE_ONESHOT, 130);
  expect_runs(rank, comm, large);
  expect_runs(rank, comm, small);
  const cudaGraphExec_t graph = captured(rank, comm, small);
  expect_replays(rank, graph, small);

  cudaGraph_t broken = nullptr;
  rank.must(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal), "capturing");
  rank.expect(assay_allreduce_reserve(comm, std::size_t{16} << 20U) != ASSAY_ALLREDUCE_OK,
              "nothing is reserved during a capture");
  cudaStreamEndCapture(rank.stream, &broken);
  if (broken != nullptr) cudaGraphDestroy(broken);
  cudaGetLastError();
  rank.meet();
  expect_runs(rank, comm, small);

  rank.finish();
  rank.expect(assay_allreduce_reserve(comm, std::size_t{1} << 20U) == ASSAY_ALLREDUCE_OK, "less");
  expect_runs(rank, comm, small);
  rank.finish();
  rank.expect(assay_allreduce_reserve(comm, std::size_t{16} << 20U) == ASSAY_ALLREDUCE_OK, "more");
  expect_refused(rank, comm, small, ASSAY_ALLREDUCE_UNSUPPORTED, "not connected");
  rank.expect(join(rank, comm) == ASSAY_ALLREDUCE_OK, "connected again");
  expect_runs(rank, comm, large);
  expect_replays(rank, graph, small);
  expect_runs(rank, comm, small);
  expect_replays(rank, graph, small);
  rank.finish();
  cudaGraphExecDestroy(graph);
  end(rank, comm);
}

// Rank 1 is late once, and then does not come.
void deadline(Rank& rank, assay_allreduce_strategy strategy) {
  using Clock = std::chrono::steady_clock;
  assay_allreduce_options options = options_without_nccl();
  options.deadline_seconds = 0.5;
  assay_allreduce_comm* comm = connected(rank, options);
  const auto call = call_of(rank, strategy, 130);
  expect_runs(rank, comm, call);
  const cudaGraphExec_t graph = captured(rank, comm, call);
  fill_input(rank, call);
  rank.finish();
  if (rank.number == 1) std::this_thread::sleep_for(std::chrono::milliseconds(150));
  rank.expect(assay_allreduce_run(comm, &call, rank.stream) == ASSAY_ALLREDUCE_OK, "late");
  rank.finish();
  expect_sum(rank, call, "a late call");
  rank.expect(assay_allreduce_check(comm) == ASSAY_ALLREDUCE_OK, "late is in time");
  rank.meet();
  if (rank.number != 1) {
    const auto start = Clock::now();
    rank.expect(assay_allreduce_run(comm, &call, rank.stream) == ASSAY_ALLREDUCE_OK, "started");
    rank.must(cudaStreamSynchronize(rank.stream), "waiting");
    const double first_s = std::chrono::duration<double>(Clock::now() - start).count();
    rank.expect(first_s > 0.4 && first_s < 5,
                std::to_string(first_s) + " s are about the deadline");
    rank.expect(assay_allreduce_check(comm) == ASSAY_ALLREDUCE_FAILED, "check tells");
    rank.expect(error_says("rank 1 did not come within 0.5 s"), "the rank is named");
    expect_refused(rank, comm, call, ASSAY_ALLREDUCE_FAILED, "rank 1 did not come");
    rank.must(cudaGraphLaunch(graph, rank.stream), "replaying");
    rank.must(cudaStreamSynchronize(rank.stream), "a replay after the deadline ends");
    rank.expect(assay_allreduce_reserve(comm, std::size_t{16} << 20U) == ASSAY_ALLREDUCE_FAILED,
                "a broken communicator reserves nothing");
  }
  rank.finish();
  cudaGraphExecDestroy(graph);
  end(rank, comm);
}

void all_deadlines(Rank& rank) {
  for (const auto strategy : kOwnStrategies)
    deadline(rank, strategy);
}

// Random numbers in [-2, 2) of which every sum is rounded.
void fill_random(const Rank& rank, std::size_t elements) {
  std::mt19937 engine(7 + static_cast<unsigned>(rank.number));
  std::vector<std::uint16_t> words(elements);
  for (std::uint16_t& word : words)
    word = static_cast<std::uint16_t>((engine() & 0x807FU) | (0x3F80U + ((engine() % 2U) << 7U)));
  rank.must(cudaMemcpy(rank.buffers[0], words.data(), elements * 2, cudaMemcpyHostToDevice),
            "filling");
}

// The first row of a batch has the same sum in batches of all sizes, whatever AUTO takes for them.
void deterministic(Rank& rank) {
  assay_allreduce_options options = options_without_nccl();
  options.use_nccl = 1;
  options.deterministic = 1;
  assay_allreduce_comm* comm = connected(rank, options);
  fill_random(rank, kBufferBytes / 2);
  std::vector<std::uint16_t> first_row;
  for (const std::int64_t tokens : {1, 7, 40, 400, 1300, 1500, 5000}) {
    assay_allreduce_strategy strategy = ASSAY_ALLREDUCE_AUTO;
    rank.expect(assay_allreduce_choose(comm, ASSAY_ALLREDUCE_FUSION_NONE, ASSAY_ALLREDUCE_BFLOAT16,
                                       tokens, kHidden, &strategy) == ASSAY_ALLREDUCE_OK,
                "chosen");
    rank.expect(strategy != ASSAY_ALLREDUCE_NCCL && strategy != ASSAY_ALLREDUCE_NCCL_SYMMETRIC,
                "a strategy of our own");
    assay_allreduce_explanation told{};
    told.size = sizeof told;
    rank.expect(assay_allreduce_explain(comm, ASSAY_ALLREDUCE_FUSION_NONE, ASSAY_ALLREDUCE_BFLOAT16,
                                        tokens, kHidden, &told) == ASSAY_ALLREDUCE_OK &&
                    told.strategy == strategy && told.is_from_table == 0 && told.link_limit_us > 0,
                "explained");
    const auto call = call_of(rank, ASSAY_ALLREDUCE_AUTO, tokens);
    rank.finish();
    rank.expect(assay_allreduce_run(comm, &call, rank.stream) == ASSAY_ALLREDUCE_OK, "run");
    rank.finish();
    std::vector<std::uint16_t> row(kHidden);
    rank.must(cudaMemcpy(row.data(), call.output, row.size() * 2, cudaMemcpyDeviceToHost), "row");
    if (first_row.empty()) first_row = row;
    rank.expect(row == first_row, std::to_string(tokens) + " tokens change no sum of the first");
  }
  end(rank, comm);
}

// NCCL's all-reduce on a second stream beside TWOSHOT, started in another order on odd ranks.
void second_stream(Rank& rank) {
  constexpr int kCalls = 60;
  assay_allreduce_options options = options_without_nccl();
  assay_allreduce_comm* ours = connected(rank, options);
  options.use_nccl = 1;
  assay_allreduce_comm* of_nccl = connected(rank, options);
  const auto twoshot = call_of(rank, ASSAY_ALLREDUCE_TWOSHOT, tokens_of(std::size_t{32} << 20U));
  auto nccl = call_of(rank, ASSAY_ALLREDUCE_NCCL, tokens_of(std::size_t{32} << 20U));
  nccl.input = rank.buffers[2];
  nccl.output = rank.buffers[3];
  fill_input(rank, twoshot);
  fill_input(rank, nccl);
  rank.finish();
  for (int i = 0; i < kCalls; ++i) {
    const auto run_nccl = [&] {
      rank.expect(assay_allreduce_run(of_nccl, &nccl, rank.second_stream) == ASSAY_ALLREDUCE_OK,
                  "NCCL");
    };
    if (rank.number % 2 == 1) run_nccl();
    rank.expect(assay_allreduce_run(ours, &twoshot, rank.stream) == ASSAY_ALLREDUCE_OK, "TWOSHOT");
    if (rank.number % 2 == 0) run_nccl();
  }
  rank.finish();
  expect_sum(rank, twoshot, "TWOSHOT");
  expect_sum(rank, nccl, "NCCL");
  end(rank, of_nccl);
  end(rank, ours);
}

enum class Needs { kAnyGpu, kOwnGpu };

struct Scenario {
  const char* name;
  void (*play)(Rank& rank);
  Needs needs = Needs::kAnyGpu;
};

constexpr std::array kScenarios = {
    Scenario{"agree at random", agree_at_random},
    Scenario{"quantise in place", quantise_in_place},
    Scenario{"one rank without NCCL", one_rank_without_nccl, Needs::kOwnGpu},
    Scenario{"different options", different_options},
    Scenario{"different tables", different_tables},
    Scenario{"half-failed connect", half_failed_connect},
    Scenario{"late connect", late_connect},
    Scenario{"failed reserve", failed_reserve, Needs::kOwnGpu},
    Scenario{"zero tokens", zero_tokens},
    Scenario{"default workspace", default_workspace, Needs::kOwnGpu},
    Scenario{"reserve", reserve},
    Scenario{"deadline", all_deadlines},
    Scenario{"deterministic", deterministic},
    Scenario{"second stream", second_stream, Needs::kOwnGpu}};

void play_all(Shared& shared, int number, int count) {
  Rank rank(shared, number, count);
  for (const Scenario& scenario : kScenarios) {
    if (rank.shares_gpus && scenario.needs == Needs::kOwnGpu) {
      if (number == 0) std::printf("%d ranks: %-22s left out\n", count, scenario.name);
      std::fflush(stdout);
      continue;
    }
    rank.scenario = scenario.name;
    const int before = shared.problems;
    const auto start = std::chrono::steady_clock::now();
    rank.meet();
    scenario.play(rank);
    rank.meet();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (number == 0)
      std::printf("%d ranks: %-22s %s, %.1f s\n", count, scenario.name,
                  shared.problems == before ? "good" : "BAD", seconds);
    std::fflush(stdout);
  }
}

Shared& shared_by(int count) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::_Exit(1);
  auto* shared = new (memory) Shared{};
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->barrier, &attributes, static_cast<unsigned>(count));
  return *shared;
}

// Runs in a child, because a process that has used CUDA must not fork.
template <class Work>
pid_t in_child(Work work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(kPatienceSeconds);
  std::_Exit(work());
}

// Returns the exit status, or 128 and the signal's number.
int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int count_gpus() {
  return status_of(in_child([] {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? std::min(count, 100) : 0;
  }));
}

bool threads_are_good(int count) {
  std::printf("%d ranks are threads\n", count);
  const int status = status_of(in_child([&] {
    Shared& shared = shared_by(count);
    std::vector<std::thread> threads;
    for (int number = 0; number < count; ++number)
      threads.emplace_back([&shared, number, count] { play_all(shared, number, count); });
    for (std::thread& thread : threads)
      thread.join();
    return shared.problems == 0 ? 0 : 1;
  }));
  if (status != 0) std::printf("%d ranks as threads: BAD, status %d\n", count, status);
  return status == 0;
}

bool processes_are_good(int count) {
  std::printf("%d ranks are processes\n", count);
  Shared& shared = shared_by(count);
  std::vector<pid_t> children;
  for (int number = 0; number < count; ++number)
    children.push_back(in_child([&] {
      play_all(shared, number, count);
      return 0;
    }));
  bool good = true;
  for (const pid_t child : children)
    good = status_of(child) == 0 && good;
  good = good && shared.problems == 0;
  if (!good) std::printf("%d ranks as processes: BAD\n", count);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  // Ranks that share a GPU: streams of one queue would wait for each other.
  setenv("ASSAY_ALLREDUCE_SHARED_GPUS", "1", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  const int gpus = count_gpus();
  std::vector<int> counts = {2, 4};
  if (argc > 1) counts.clear();
  for (int i = 1; i < argc; ++i)
    counts.push_back(std::atoi(argv[i]));
  if (gpus == 0) {
    std::printf("skipped: there is no GPU\n");
    return 77;
  }
  bool good = true;
  for (const int count : counts) {
    good = threads_are_good(count) && good;
    good = processes_are_good(count) && good;
  }
  std::printf("%s\n", good ? "all good" : "BAD");
  return good ? 0 : 1;
}
