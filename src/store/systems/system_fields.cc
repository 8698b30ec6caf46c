// Chooses the value of each field of a system's file, and says where it comes from.
#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/counted.h"
#include "model/gpu_specs.h"
#include "store/systems/system_figures.h"
#include "store/systems/system_file.h"

namespace assay::store {
namespace {

constexpr double kKibibyte = 1024;
// Many times what the caches of any GPU hold, so that little can come from them.
constexpr double kPastCaches = kKibibyte * kKibibyte * kKibibyte;
constexpr double kSmallMemory = kKibibyte * kKibibyte;
constexpr double kSmallMessage = 64 * kKibibyte;

// Assumed where neither rows nor a file tell, since the planner needs each of them. The factor, the
// latencies and other_mem are those that it assumes for all of NVIDIA's systems; the network is the
// one InfiniBand NDR port for each GPU of NVIDIA's HGX reference hosts.
constexpr double kAssumedMemoryScaling = 0.8;
constexpr double kAssumedMemoryLatencySeconds = 3e-6;
constexpr double kAssumedPeerLatencySeconds = 1e-5;
constexpr double kAssumedNetworkGbps = 50;
constexpr double kAssumedOtherBytes = 3.5 * kPastCaches;
// What assay-worker measured on an H200, of 2 and of 4 GPUs, with NCCL 2.28.9.
constexpr double kAssumedNcclBytes = 864 * kSmallMemory;
// Larger groups take the planner's entry for 8.
constexpr int kMostNcclGpus = 8;

struct Sourced {
  std::string value;
  std::string source;
};

using Choice = std::optional<Sourced>;

struct Unit {
  const char* name;
  double size;
};

constexpr Unit kGigabytes{"GB/s", 1e9};
constexpr Unit kTeraflops{"TFLOP/s", 1e12};

std::string whole_text(double value) {
  return fmt::format("{:.0f}", value);
}

// No measurement is exact to more than four digits.
double rounded(double value) {
  const double digit = std::pow(10, std::floor(std::log10(value)) - 3);
  return std::round(value / digit) * digit;
}

// Writes no exponents, as YAML readers differ in which of them are numbers.
std::string seconds_text(double seconds) {
  std::string text = fmt::format("{:.12f}", rounded(seconds));
  while (text.ends_with('0') && !text.ends_with(".0"))
    text.pop_back();
  return text;
}

std::string spread_text(const Point& point) {
  if (!point.spread) return "";
  return fmt::format(" (its samples spread by {:.1f} %)", *point.spread * 100);
}

class FieldList {
 public:
  explicit FieldList(const SystemData& data)
      : data_(data), published_(model::find_gpu_board(data.device)) {}

  std::vector<SystemField> make() && {
    find_rates();
    add_gpu();
    add_node();
    add_misc();
    add_measured();
    return std::move(fields_);
  }

 private:
  void find_rates() {
    read_ = best_rate(memory_points(data_.memory_ops, "read"), kPastCaches);
    copy_ = best_rate(memory_points(data_.memory_ops, "copy"), kPastCaches);
    send_ = best_rate(send_points(data_.collectives, 0), 0);
    to_device_ = best_rate(transfer_points(data_.transfers, "host_to_device"), 0);
    to_host_ = best_rate(transfer_points(data_.transfers, "device_to_host"), 0);
  }

  // Adds the first choice that has a value, or the reason why there is none.
  void add(const std::string& section,
           const std::string& name,
           const std::vector<Choice>& choices,
           const std::string& otherwise) {
    names_.insert(section + '.' + name);
    for (const Choice& choice : choices) {
      if (!choice) continue;
      fields_.push_back({section, name, choice->value, choice->source});
      return;
    }
    fields_.push_back({section, name, "", otherwise});
  }

  // Adds what only the cited file has, like gpu.fp4_tc_flops.
  void add_others(const std::string& section) {
    for (const auto& [field, value] : data_.cited) {
      const std::size_t dot = field.rfind('.');
      if (field.substr(0, dot) != section || names_.contains(field)) continue;
      fields_.push_back({section, field.substr(dot + 1), value, from_file()});
    }
  }

  [[nodiscard]] static Choice assumed(std::string value, const std::string& why) {
    return Sourced{std::move(value), "assumed: " + why};
  }

  [[nodiscard]] std::string from_file() const { return "cited: " + data_.cited_from; }

  [[nodiscard]] Choice cited(const std::string& field) const {
    const auto found = data_.cited.find(field);
    if (found == data_.cited.end()) return std::nullopt;
    return Sourced{found->second, from_file()};
  }

  // A figure of the data sheet in units of `unit`; 0 if the sheet has none.
  [[nodiscard]] Choice published(double figure, double unit, const char* meaning = "") const {
    if (figure <= 0) return std::nullopt;
    return Sourced{whole_text(figure * unit),
                   fmt::format("cited: {}{}", board().document, meaning)};
  }

  [[nodiscard]] Choice published(int figure, std::string_view document) const {
    if (published_ == nullptr) return std::nullopt;
    return Sourced{fmt::format("{}", figure), fmt::format("cited: {}", document)};
  }

  [[nodiscard]] model::GpuSpecs specs() const {
    return published_ == nullptr ? model::GpuSpecs{} : *published_;
  }

  [[nodiscard]] model::GpuBoard board() const { return specs().board; }

  [[nodiscard]] std::string of_table(const std::string& table) const {
    const auto found = data_.dates.find(table);
    return found == data_.dates.end() ? table : table + ", " + found->second;
  }

  [[nodiscard]] Choice measured(const std::optional<Rate>& rate,
                                const Unit& unit,
                                const std::string& table) const {
    if (!rate) return std::nullopt;
    return Sourced{whole_text(rounded(rate->per_second)),
                   "measured: " + source_of(*rate, unit, table)};
  }

  [[nodiscard]] std::string source_of(const Rate& rate,
                                      const Unit& unit,
                                      const std::string& table) const {
    return fmt::format("{:.4g} {}, {}{}, best of {} of {}", rate.per_second / unit.size, unit.name,
                       rate.best.what, spread_text(rate.best), core::counted(rate.count, "row"),
                       of_table(table));
  }

  [[nodiscard]] Choice fitted(const std::optional<Latency>& latency,
                              const std::string& what,
                              const std::string& table) const {
    if (!latency) return std::nullopt;
    return Sourced{
        seconds_text(latency->seconds),
        fmt::format("measured: {:.3g} us, where a line through {} meets no bytes ({}, half of them "
                    "within {:.1f} % of it) of {}",
                    latency->seconds * 1e6, what, core::counted(latency->count, "row"),
                    latency->deviation * 100, of_table(table))};
  }

  [[nodiscard]] Choice fact(const std::string& name) const {
    const auto found = data_.facts.find(name);
    if (found == data_.facts.end() || found->second.empty()) return std::nullopt;
    return Sourced{found->second, "measured: as the device tells"};
  }

  [[nodiscard]] std::optional<Rate> best_memory() const {
    if (!read_ || (copy_ && copy_->per_second > read_->per_second)) return copy_;
    return read_;
  }

  void add_gpu() {
    const std::string collect_memory = "no rows of 1 GiB and more: assay collect copy read";
    const std::optional<Rate> memory = best_memory();
    add("gpu", "mem_bw",
        {cited("gpu.mem_bw"), published(specs().memory_gbps, kGigabytes.size),
         measured(memory, kGigabytes, "memory_op_perf")},
        collect_memory);
    add("gpu", "mem_bw_empirical_scaling_factor",
        {scaling(memory), cited("gpu.mem_bw_empirical_scaling_factor"),
         assumed(fmt::format("{}", kAssumedMemoryScaling), collect_memory)},
        "");
    add("gpu", "mem_empirical_constant_latency",
        {fitted(constant_latency(memory_points(data_.memory_ops, "copy"), kSmallMemory),
                "copies of up to 1 MiB", "memory_op_perf"),
         cited("gpu.mem_empirical_constant_latency"),
         assumed(seconds_text(kAssumedMemoryLatencySeconds),
                 "too few small rows: assay collect copy")},
        "");
    add("gpu", "mem_capacity",
        {free_memory(), cited("gpu.mem_capacity"), published(board().memory_bytes, 1)},
        "the store has no collection of this device");
    add_peak("float16", specs().matrix.fp16);
    add_peak("bfloat16", specs().matrix.bf16);
    add_peak("int8", specs().matrix.int8);
    add_peak("fp8", specs().matrix.fp8);
    add("gpu", "power", {power_limit(), cited("gpu.power"), published(board().watts, 1)},
        "no row has a power limit: assay collect gemm --measure-power");
    add("gpu", "sm_version",
        {sm_version(), cited("gpu.sm_version"),
         published(board().sm_version, model::kComputeCapabilities)},
        "no collection of this device tells a compute capability");
    add_others("gpu");
  }

  // The best bandwidth over the limit that the file gives as mem_bw.
  [[nodiscard]] Choice scaling(const std::optional<Rate>& memory) const {
    const SystemField& limit = fields_.back();
    double limit_bytes_per_s = 0;
    std::from_chars(limit.value.data(), limit.value.data() + limit.value.size(), limit_bytes_per_s);
    if (!memory || limit_bytes_per_s <= 0) return std::nullopt;
    return Sourced{fmt::format("{:.4f}", memory->per_second / limit_bytes_per_s),
                   "measured, over mem_bw: " + source_of(*memory, kGigabytes, "memory_op_perf")};
  }

  // A limit, which is cited where that is possible.
  void add_peak(const std::string& type, double peak_tflops) {
    const std::string name = type + "_tc_flops";
    add("gpu", name,
        {cited("gpu." + name), published(peak_tflops, kTeraflops.size, ", without sparsity"),
         measured(best_rate(gemm_points(data_.gemms, type), 0), kTeraflops, "gemm_perf")},
        published_ != nullptr ? "the GPU has no such tensor cores"
                              : "no rows: assay collect gemm --dtype " + type);
  }

  // The memory that a new process finds free, unless others had some of it.
  [[nodiscard]] Choice free_memory() const {
    Choice free = fact("free memory bytes");
    if (!free) return std::nullopt;
    double bytes = 0;
    std::from_chars(free->value.data(), free->value.data() + free->value.size(), bytes);
    const double least = published_ == nullptr ? 1 : board().memory_bytes;
    if (bytes < least) return std::nullopt;
    free->source = "measured: free to a process that has just begun";
    return free;
  }

  // Processors that are no GPUs have the version 0.
  [[nodiscard]] Choice sm_version() const {
    const Choice version = fact("device SM version");
    return version && version->value != "0" ? version : std::nullopt;
  }

  [[nodiscard]] Choice power_limit() const {
    std::optional<double> most;
    for (const Frame* frame : {&data_.gemms, &data_.memory_ops, &data_.transfers}) {
      const std::optional<double> limit = largest(*frame, "power_limit");
      if (limit && (!most || *limit > *most)) most = limit;
    }
    if (!most || *most <= 0) return std::nullopt;
    return Sourced{whole_text(*most), "measured: W, the power limit while rows were measured"};
  }

  void add_node() {
    add("node", "num_gpus_per_node",
        {cited("node.num_gpus_per_node"), published(board().gpus_per_node, board().node_document),
         most_gpus()},
        "no rows of several GPUs: assay collect nccl");
    add("node", "inter_node_bw",
        {cited("node.inter_node_bw"),
         assumed(whole_text(kAssumedNetworkGbps * kGigabytes.size),
                 "a port of 400 Gb/s for each GPU; name your network's by --cite")},
        "");
    add("node", "intra_node_bw",
        {cited("node.intra_node_bw"),
         published(board().link_gbps, kGigabytes.size, ", one direction"),
         measured(send_, kGigabytes, "nccl_perf")},
        "no rows of send_recv: assay collect nccl");
    add("node", "pcie_bw",
        {cited("node.pcie_bw"), published(board().pcie_gbps, kGigabytes.size, ", one direction"),
         measured(to_device_, kGigabytes, "transfer_perf")},
        "no rows: assay collect host_to_device");
    add("node", "p2p_latency",
        {fitted(constant_latency(send_points(data_.collectives, 2), kSmallMessage),
                "NCCL's send_recv of up to 64 KiB between 2 GPUs", "nccl_perf"),
         cited("node.p2p_latency"),
         assumed(seconds_text(kAssumedPeerLatencySeconds),
                 "too few rows of send_recv between 2 GPUs: assay collect nccl")},
        "");
    add_others("node");
  }

  [[nodiscard]] Choice most_gpus() const {
    const std::optional<double> gpus = largest(data_.collectives, "num_gpus");
    if (!gpus) return std::nullopt;
    return Sourced{whole_text(*gpus), "measured: the most GPUs that rows of nccl_perf have"};
  }

  void add_misc() {
    add("misc", "other_mem",
        {cited("misc.other_mem"),
         assumed(whole_text(kAssumedOtherBytes),
                 "3.5 GiB for the program that serves models; name its own by --cite")},
        "");
    Choice nccl = version_of_collectives();
    if (!nccl) nccl = fact("device NCCL");
    if (!nccl) nccl = cited("misc.nccl_version");
    if (nccl) nccl->value = "'" + nccl->value + "'";
    add("misc", "nccl_version", {nccl}, "no collection of this device tells the version of NCCL");
    add_others("misc");
    for (int gpus = 1; gpus <= kMostNcclGpus; ++gpus)
      add("misc.nccl_mem", fmt::format("{}", gpus), {nccl_memory(gpus)}, "");
    add_others("misc.nccl_mem");
  }

  // NCCL's tables lie in the folder of their own version.
  [[nodiscard]] Choice version_of_collectives() const {
    const FrameColumn* versions = data_.collectives.find("version");
    if (versions == nullptr || versions->size() == 0 || versions->is_missing(0))
      return std::nullopt;
    return Sourced{value_text(versions->value(0)), "measured: the version of rows of nccl_perf"};
  }

  // What communicators of so many GPUs take on each; that of the next larger group where there is
  // one, else of the next smaller one.
  [[nodiscard]] Choice nccl_memory(int gpus) const {
    const auto of = [](int number) { return fmt::format("misc.nccl_mem.{}", number); };
    if (Choice exact = cited(of(gpus))) return exact;
    if (gpus == 1) return assumed("0", "a single GPU has no communicator");
    for (int other = gpus + 1; other <= kMostNcclGpus; ++other)
      if (const Choice more = cited(of(other)))
        return assumed(more->value, fmt::format("that of {} GPUs", other));
    for (int other = gpus - 1; other > 1; --other)
      if (const Choice less = cited(of(other)))
        return assumed(less->value, fmt::format("that of {} GPUs", other));
    return assumed(whole_text(kAssumedNcclBytes),
                   "what NCCL 2.28.9 took on an H200; assay-worker collect --nccl-memory tells it "
                   "for --cite");
  }

  void add_reached(const std::string& name,
                   const std::optional<Rate>& rate,
                   const Unit& unit,
                   const std::string& table,
                   const std::string& otherwise) {
    Choice choice;
    if (rate) {
      choice = Sourced{whole_text(rounded(rate->per_second)), source_of(*rate, unit, table)};
    }
    add("measured", name, {choice}, "no rows: " + otherwise);
  }

  void add_measured() {
    add_reached("mem_read_bw", read_, kGigabytes, "memory_op_perf", "assay collect read");
    add_reached("mem_copy_bw", copy_, kGigabytes, "memory_op_perf", "assay collect copy");
    for (const char* type : {"bfloat16", "float16", "fp8", "fp8_block", "int8", "float32"}) {
      const std::optional<Rate> rate = best_rate(gemm_points(data_.gemms, type), 0);
      if (rate) add_reached(std::string(type) + "_flops", rate, kTeraflops, "gemm_perf", "");
    }
    add_launch();
    add_reached("host_to_device_bw", to_device_, kGigabytes, "transfer_perf",
                "assay collect host_to_device");
    add_reached("device_to_host_bw", to_host_, kGigabytes, "transfer_perf",
                "assay collect device_to_host");
    add_reached("intra_node_bw", send_, kGigabytes, "nccl_perf", "assay collect nccl");
  }

  void add_launch() {
    const std::vector<Point> launches = transfer_points(data_.transfers, "launch");
    const std::optional<Latency> latency = median_latency(launches);
    Choice choice;
    if (latency) {
      const std::string mode = launch_mode(data_.transfers);
      const char* how = mode == "graph" ? " in a graph" : mode == "eager" ? " by the host" : "";
      choice =
          Sourced{seconds_text(latency->seconds),
                  fmt::format("{:.3g} us, of an empty kernel{}{}, {} of {}", latency->seconds * 1e6,
                              how, spread_text(launches.front()),
                              core::counted(latency->count, "row"), of_table("transfer_perf"))};
    }
    add("measured", "launch_latency", {choice}, "no rows: assay collect launch");
  }

  const SystemData& data_;
  const model::GpuSpecs* published_;  // null: not in the table
  std::optional<Rate> read_;
  std::optional<Rate> copy_;
  std::optional<Rate> send_;
  std::optional<Rate> to_device_;
  std::optional<Rate> to_host_;
  std::vector<SystemField> fields_;
  std::set<std::string> names_;  // "gpu.mem_bw"
};

}  // namespace

std::vector<SystemField> system_fields(const SystemData& data) {
  return FieldList(data).make();
}

}  // namespace assay::store
