// The C functions of assay/allreduce.h.
#include <assay/allreduce.h>
#include <fmt/core.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "allreduce/call_rules.h"
#include "allreduce/library/communicator.h"

struct assay_allreduce_comm {
  std::unique_ptr<assay::allreduce::Communicator> inside;
};

namespace assay::allreduce {
namespace {

static_assert(sizeof(RankHandle) <= sizeof(assay_allreduce_handle));
static_assert(ASSAY_ALLREDUCE_MAX_RANKS == kMaxRanks);
static_assert(ASSAY_ALLREDUCE_TWOSHOT_PUSH == static_cast<int>(Strategy::kTwoshotPush));
static_assert(ASSAY_ALLREDUCE_NCCL_SYMMETRIC == static_cast<int>(Strategy::kNcclSymmetric));
static_assert(ASSAY_ALLREDUCE_ALL_GATHER == static_cast<int>(Operation::kAllGather));
static_assert(ASSAY_ALLREDUCE_SCALE_BLOCKS_8X4 == static_cast<int>(ScaleLayout::kBlocks8x4));
static_assert(ASSAY_ALLREDUCE_FLOAT32 == static_cast<int>(DataType::kFloat32));
static_assert(ASSAY_ALLREDUCE_FUSION_RESIDUAL_RMS_NORM_QUANT_NVFP4 ==
              static_cast<int>(Fusion::kResidualRmsNormQuantNvfp4));

thread_local std::string last_error;  // NOLINT: the C interface returns a pointer to it

assay_allreduce_status fail(assay_allreduce_status status, std::string message) {
  last_error = std::move(message);
  return status;
}

assay_allreduce_status status_of(const core::Status& status) {
  return status.ok() ? ASSAY_ALLREDUCE_OK : fail(ASSAY_ALLREDUCE_FAILED, status.error().message);
}

Arguments arguments_of(const Communicator& comm, const assay_allreduce_call& call) {
  const auto type = static_cast<DataType>(call.data_type);
  const int elements = static_cast<int>(kVectorBytes / bytes_of(type));
  Arguments a{};
  a.input = static_cast<const uint4*>(call.input);
  a.output = static_cast<uint4*>(call.output);
  a.residual_in = static_cast<const uint4*>(call.residual_in);
  a.residual_out = static_cast<uint4*>(call.residual_out);
  a.gamma = static_cast<const uint4*>(call.gamma);
  a.scale = call.scale;
  a.quantized = call.quantized;
  a.scale_out = call.scale_out;
  a.epsilon = call.epsilon;
  a.weight_bias = call.weight_bias;
  a.scale_layout = static_cast<ScaleLayout>(call.scale_layout);
  a.operation = static_cast<Operation>(call.operation);
  a.inverse_row_elements = 1.0F / static_cast<float>(call.hidden_size);
  a.rank = comm.rank();
  a.world_size = comm.world_size();
  a.row_vectors = static_cast<int>(call.hidden_size / elements);
  a.elements_of_vector = elements;
  a.rows = static_cast<int>(call.num_tokens);
  return a;
}

std::string missing_text(const Communicator& comm) {
  return "rank " + std::to_string(comm.missing_rank().value_or(0)) + " did not come within " +
         fmt::format("{:g}", comm.options().deadline_seconds) +
         " s: the communicator is broken, and can only be destroyed";
}

// It answers the rules of calls, which ask what a communicator can do.
class CommunicatorAbilities : public Abilities {
 public:
  explicit CommunicatorAbilities(const Communicator& comm) : comm_(comm) {}

  [[nodiscard]] Problem problem() const override {
    if (comm_.missing_rank()) return {ASSAY_ALLREDUCE_FAILED, missing_text(comm_)};
    if (comm_.is_connected()) return {};
    return {ASSAY_ALLREDUCE_UNSUPPORTED, "the communicator is not connected"};
  }

  [[nodiscard]] std::string refusal(Strategy strategy,
                                    const assay_allreduce_call& call) const override {
    return comm_.refusal(strategy, arguments_of(comm_, call), static_cast<Fusion>(call.fusion));
  }

  [[nodiscard]] std::optional<Strategy> table_choice(
      const assay_allreduce_call& call) const override {
    return comm_.table_choice(static_cast<Fusion>(call.fusion),
                              static_cast<DataType>(call.data_type), call.hidden_size,
                              call.num_tokens);
  }

  [[nodiscard]] int world_size() const override { return comm_.world_size(); }

  [[nodiscard]] bool is_deterministic() const override { return comm_.options().deterministic; }

 private:
  const Communicator& comm_;
};

Verdict verdict_of(const assay_allreduce_comm* comm, const assay_allreduce_call* call) {
  if (comm == nullptr || call == nullptr) return {ASSAY_ALLREDUCE_INVALID, "a null pointer"};
  if (call->size != sizeof(assay_allreduce_call))
    return {ASSAY_ALLREDUCE_INVALID, "call.size is not that of this library's version"};
  return judge(*call, CommunicatorAbilities(*comm->inside));
}

// Returns a call of which only the numbers are known, with pointers that rule nothing out.
assay_allreduce_call auto_call(assay_allreduce_fusion fusion,
                               assay_allreduce_data_type data_type,
                               int64_t num_tokens,
                               int64_t hidden_size) {
  alignas(16) static float places[8][4];
  assay_allreduce_call call{};
  call.size = sizeof call;
  call.strategy = ASSAY_ALLREDUCE_AUTO;
  call.fusion = fusion;
  call.data_type = data_type;
  call.num_tokens = num_tokens;
  call.hidden_size = hidden_size;
  call.input = places[0];
  call.output = places[1];
  call.residual_in = places[2];
  call.residual_out = places[3];
  call.gamma = places[4];
  call.scale = places[5];
  call.quantized = places[6];
  call.scale_out = places[7];
  return call;
}

}  // namespace
}  // namespace assay::allreduce

using namespace assay::allreduce;  // NOLINT: this file only wraps

assay_allreduce_status assay_allreduce_create(int rank,
                                              int world_size,
                                              const assay_allreduce_options* options,
                                              assay_allreduce_comm** comm) {
  if (comm == nullptr) return fail(ASSAY_ALLREDUCE_INVALID, "comm is null");
  CommunicatorOptions ours;
  if (options != nullptr) {
    if (options->size != sizeof(assay_allreduce_options))
      return fail(ASSAY_ALLREDUCE_INVALID, "options.size is not that of this library's version");
    if (options->workspace_bytes != 0) ours.workspace_bytes = options->workspace_bytes;
    ours.use_nccl = options->use_nccl != 0;
    ours.deterministic = options->deterministic != 0;
    ours.deadline_seconds = options->deadline_seconds;
  }
  std::string problem = Communicator::argument_problem(rank, world_size, ours);
  if (!problem.empty()) return fail(ASSAY_ALLREDUCE_INVALID, std::move(problem));
  auto created = Communicator::create(rank, world_size, ours);
  if (!created.ok()) return fail(ASSAY_ALLREDUCE_FAILED, created.error().message);
  *comm = new assay_allreduce_comm{std::move(created).value()};
  return ASSAY_ALLREDUCE_OK;
}

assay_allreduce_status assay_allreduce_export(const assay_allreduce_comm* comm,
                                              assay_allreduce_handle* handle) {
  if (comm == nullptr || handle == nullptr) return fail(ASSAY_ALLREDUCE_INVALID, "a null pointer");
  const auto made = comm->inside->handle();
  if (!made.ok()) return fail(ASSAY_ALLREDUCE_FAILED, made.error().message);
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &made.value(), sizeof made.value());
  return ASSAY_ALLREDUCE_OK;
}

assay_allreduce_status assay_allreduce_connect(assay_allreduce_comm* comm,
                                               const assay_allreduce_handle* handles) {
  if (comm == nullptr || handles == nullptr) return fail(ASSAY_ALLREDUCE_INVALID, "a null pointer");
  std::vector<RankHandle> inside(static_cast<std::size_t>(comm->inside->world_size()));
  for (std::size_t rank = 0; rank < inside.size(); ++rank)
    std::memcpy(&inside[rank], &handles[rank], sizeof inside[rank]);
  return status_of(comm->inside->connect(inside));
}

assay_allreduce_status assay_allreduce_reserve(assay_allreduce_comm* comm,
                                               size_t max_message_bytes) {
  if (comm == nullptr) return fail(ASSAY_ALLREDUCE_INVALID, "comm is null");
  return status_of(comm->inside->reserve(max_message_bytes));
}

assay_allreduce_status assay_allreduce_check(const assay_allreduce_comm* comm) {
  if (comm == nullptr) return fail(ASSAY_ALLREDUCE_INVALID, "comm is null");
  if (!comm->inside->missing_rank()) return ASSAY_ALLREDUCE_OK;
  return fail(ASSAY_ALLREDUCE_FAILED, missing_text(*comm->inside));
}

assay_allreduce_status assay_allreduce_allocate(assay_allreduce_comm* comm,
                                                size_t bytes,
                                                void** buffer) {
  if (comm == nullptr || buffer == nullptr) return fail(ASSAY_ALLREDUCE_INVALID, "a null pointer");
  const auto memory = comm->inside->allocate(bytes);
  if (!memory.ok()) return fail(ASSAY_ALLREDUCE_FAILED, memory.error().message);
  *buffer = memory.value();
  return ASSAY_ALLREDUCE_OK;
}

assay_allreduce_status assay_allreduce_register(assay_allreduce_comm* comm,
                                                void* buffer,
                                                size_t bytes) {
  if (comm == nullptr || buffer == nullptr) return fail(ASSAY_ALLREDUCE_INVALID, "a null pointer");
  return status_of(comm->inside->register_buffer(buffer, bytes));
}

assay_allreduce_status assay_allreduce_load_table(assay_allreduce_comm* comm, const char* path) {
  if (comm == nullptr || path == nullptr) return fail(ASSAY_ALLREDUCE_INVALID, "a null pointer");
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // Inserting a buffer catches what reading it throws: a folder can be opened, but not read.
  if (!file || !(text << file.rdbuf()))
    return fail(ASSAY_ALLREDUCE_INVALID, std::string(path) + ": cannot be read, or is empty");
  auto table = table_from_json(text.str(), path);
  if (!table.ok()) return fail(ASSAY_ALLREDUCE_INVALID, table.error().message);
  comm->inside->set_table(std::move(table).value());
  return ASSAY_ALLREDUCE_OK;
}

assay_allreduce_status assay_allreduce_choose(const assay_allreduce_comm* comm,
                                              assay_allreduce_fusion fusion,
                                              assay_allreduce_data_type data_type,
                                              int64_t num_tokens,
                                              int64_t hidden_size,
                                              assay_allreduce_strategy* strategy) {
  if (comm == nullptr || strategy == nullptr)
    return fail(ASSAY_ALLREDUCE_INVALID, "a null pointer");
  const assay_allreduce_call call = auto_call(fusion, data_type, num_tokens, hidden_size);
  Verdict verdict = verdict_of(comm, &call);
  if (verdict.status != ASSAY_ALLREDUCE_OK) return fail(verdict.status, std::move(verdict.message));
  *strategy = static_cast<assay_allreduce_strategy>(verdict.strategy.value_or(Strategy::kAuto));
  return ASSAY_ALLREDUCE_OK;
}

assay_allreduce_status assay_allreduce_explain(const assay_allreduce_comm* comm,
                                               assay_allreduce_fusion fusion,
                                               assay_allreduce_data_type data_type,
                                               int64_t num_tokens,
                                               int64_t hidden_size,
                                               assay_allreduce_explanation* explanation) {
  if (comm == nullptr || explanation == nullptr)
    return fail(ASSAY_ALLREDUCE_INVALID, "a null pointer");
  if (explanation->size != sizeof(assay_allreduce_explanation))
    return fail(ASSAY_ALLREDUCE_INVALID, "explanation.size is not that of this library's version");
  const assay_allreduce_call call = auto_call(fusion, data_type, num_tokens, hidden_size);
  Verdict verdict = verdict_of(comm, &call);
  if (verdict.status != ASSAY_ALLREDUCE_OK) return fail(verdict.status, std::move(verdict.message));
  const Communicator& inside = *comm->inside;
  *explanation =
      explanation_of(call, verdict, inside.world_size(), inside.sm_version(), inside.table());
  return ASSAY_ALLREDUCE_OK;
}

assay_allreduce_status assay_allreduce_supports(const assay_allreduce_comm* comm,
                                                const assay_allreduce_call* call) {
  Verdict verdict = verdict_of(comm, call);
  if (verdict.status == ASSAY_ALLREDUCE_OK) return ASSAY_ALLREDUCE_OK;
  return fail(verdict.status, std::move(verdict.message));
}

assay_allreduce_status assay_allreduce_run(assay_allreduce_comm* comm,
                                           const assay_allreduce_call* call,
                                           assay_allreduce_stream stream) {
  Verdict verdict = verdict_of(comm, call);
  if (verdict.status != ASSAY_ALLREDUCE_OK) return fail(verdict.status, std::move(verdict.message));
  if (!verdict.strategy) return ASSAY_ALLREDUCE_OK;
  Request request;
  request.data_type = static_cast<DataType>(call->data_type);
  request.fusion = static_cast<Fusion>(call->fusion);
  request.blocks = call->blocks;
  request.threads = call->threads;
  request.stream = static_cast<cudaStream_t>(stream);
  Communicator& inside = *comm->inside;
  return status_of(inside.run(*verdict.strategy, arguments_of(inside, *call), request));
}

assay_allreduce_status assay_allreduce_destroy(assay_allreduce_comm* comm) {
  delete comm;
  return ASSAY_ALLREDUCE_OK;
}

const char* assay_allreduce_error(void) {
  return last_error.c_str();
}

uint64_t assay_allreduce_table_hash(const assay_allreduce_comm* comm) {
  return comm == nullptr ? 0 : comm->inside->table_hash();
}

int assay_allreduce_nccl_version(const assay_allreduce_comm* comm) {
  return comm == nullptr ? 0 : comm->inside->nccl_version();
}
