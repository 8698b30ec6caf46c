// The checks of the host, of all GPUs together, and of the libraries.
#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "core/files.h"
#include "core/processor_load.h"
#include "core/shared_library.h"
#include "core/text.h"
#include "doctor/doctor_checks.h"
#include "gpu/sysfs.h"

namespace assay::doctor {
namespace {

namespace fs = std::filesystem;

// Parts of the processors that are allowed to us.
constexpr double kSomeLoad = 0.1;
constexpr double kMuchLoad = 0.25;
// /proc/stat counts hundredths of a second.
constexpr std::chrono::milliseconds kLoadWatched{250};

double tenths(double value) {
  return std::round(value * 10) / 10;
}

// The entries of a folder that are called "<prefix>0", "<prefix>17" and so on.
std::vector<fs::path> numbered(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  for (const fs::path& entry : gpu::sysfs_entries(folder)) {
    const std::string name = entry.filename().string();
    const bool fits = name.size() > prefix.size() && name.starts_with(prefix) &&
                      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()),
                                  name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    if (fits) found.push_back(entry);
  }
  return found;
}

Finding check_governor(const std::vector<fs::path>& cpus) {
  std::map<std::string, int> others;
  int known = 0;
  for (const fs::path& cpu : cpus) {
    const std::string governor = gpu::sysfs_text(cpu / "cpufreq/scaling_governor");
    if (governor.empty()) continue;
    ++known;
    if (governor != "performance") ++others[governor];
  }
  if (known == 0)
    return {.level = Level::kNote,
            .seen = "the CPU governor is not known: a virtual machine, or the firmware decides",
            .why = "where CPUs clock down while they wait, eager launches take longer at times"};
  if (others.empty()) return {.seen = "the CPU governor is 'performance'"};
  const auto& [governor, count] = *others.begin();
  return {.level = Level::kWarning,
          .seen = fmt::format("the CPU governor of {} of {} CPUs is '{}'", count, known, governor),
          .why = "CPUs clock down while they wait, so that eager launches take longer at times",
          .commands = {"sudo cpupower frequency-set -g performance"}};
}

std::optional<Finding> check_numa_balancing(const fs::path& root) {
  const std::size_t nodes = numbered(root / "sys/devices/system/node", "node").size();
  const auto balancing = gpu::sysfs_number(root / "proc/sys/kernel/numa_balancing");
  if (!balancing || nodes < 2) return {};
  if (*balancing == 0) return Finding{.seen = "NUMA balancing is off"};
  return Finding{.level = Level::kNote,
                 .seen = fmt::format("NUMA balancing is on, with {} nodes", nodes),
                 .why =
                     "the kernel moves memory between nodes while programs run, which delays "
                     "launches now and then",
                 .commands = {"sudo sysctl kernel.numa_balancing=0"}};
}

bool in_container(const fs::path& root) {
  std::error_code error;
  if (fs::exists(root / ".dockerenv", error) || fs::exists(root / "run/.containerenv", error)) {
    return true;
  }
  const auto groups = core::read_file(root / "proc/1/cgroup");
  if (!groups.ok()) return false;
  return core::contains_ignoring_case(groups.value(), "docker") ||
         core::contains_ignoring_case(groups.value(), "kubepods") ||
         core::contains_ignoring_case(groups.value(), "lxc");
}

std::string node_of(const gpu::Device& device, const fs::path& root) {
  // NVML writes the domain with eight digits and in capitals, the kernel with four and in small
  // letters.
  if (device.bus_id.size() < 16) return {};
  std::string name = device.bus_id.substr(4);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return gpu::sysfs_text(root / "sys/bus/pci/devices" / name / "numa_node");
}

// Versions of NVIDIA's libraries come from the libraries themselves; none of these functions needs
// a GPU. cudaRuntimeGetVersion and ncclGetVersion write to an int and return 0 for success;
// cudnnGetVersion and cublasLtGetVersion return a size_t.
enum class Shape { kWrites, kReturns };

struct Library {
  const char* name;
  std::vector<std::string> files;  // newest first
  const char* function;
  Shape shape;
  std::string (*words)(std::size_t number);
};

// 13000 is 13.0.
std::string cuda_version(std::size_t number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

// 130002 is 13.0.2.
std::string cublas_version(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10'000, number % 10'000 / 100, number % 100);
}

// 91400 is 9.14.0; before 9.0, 8907 was 8.9.7.
std::string cudnn_version(std::size_t number) {
  const std::size_t major = number >= 90'000 ? 10'000 : 1000;
  return fmt::format("{}.{}.{}", number / major, number % major / 100, number % 100);
}

// 22803 is 2.28.3; before 2.9, 2804 was 2.8.4.
std::string nccl_version(std::size_t number) {
  const std::size_t major = number >= 10'000 ? 10'000 : 1000;
  return fmt::format("{}.{}.{}", number / major, number % major / 100, number % 100);
}

const Library kLibraries[] = {
    {"CUDA runtime",
     {"libcudart.so.13", "libcudart.so.12"},
     "cudaRuntimeGetVersion",
     Shape::kWrites,
     cuda_version},
    {"cuBLASLt",
     {"libcublasLt.so.13", "libcublasLt.so.12"},
     "cublasLtGetVersion",
     Shape::kReturns,
     cublas_version},
    {"cuDNN", {"libcudnn.so.9"}, "cudnnGetVersion", Shape::kReturns, cudnn_version},
    {"NCCL", {"libnccl.so.2"}, "ncclGetVersion", Shape::kWrites, nccl_version},
};

std::size_t ask(void* function, Shape shape) {
  if (shape == Shape::kReturns) return reinterpret_cast<std::size_t (*)()>(function)();
  int number = 0;
  if (reinterpret_cast<int (*)(int*)>(function)(&number) != 0 || number < 0) return 0;
  return static_cast<std::size_t>(number);
}

std::optional<LibraryFound> find_library(const Library& wanted) {
  // Libraries stay loaded, because some of CUDA's leave memory behind that nobody owns afterwards.
  const auto library = core::open_library(wanted.files, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (!library.ok()) return std::nullopt;
  LibraryFound found{.name = wanted.name, .version = "unknown", .file = wanted.files.front()};
  if (void* function = library.value().find(wanted.function)) {
    const std::size_t number = ask(function, wanted.shape);
    if (number > 0) found.version = wanted.words(number);
    Dl_info information{};
    if (::dladdr(function, &information) != 0) found.file = information.dli_fname;
  }
  return found;
}

}  // namespace

std::optional<Finding> check_load(const fs::path& root) {
  const auto load = core::processor_load(root, kLoadWatched);
  if (!load) return {};
  if (load->taken < kSomeLoad * load->allowed) {
    return Finding{.where = "host", .seen = "the CPUs are mostly idle"};
  }
  return Finding{
      .level = load->taken < kMuchLoad * load->allowed ? Level::kNote : Level::kWarning,
      .where = "host",
      .seen = fmt::format("other work keeps {:g} of {:g} processors busy (load {:.1f})",
                          tenths(load->taken), tenths(load->allowed), load->runnable),
      .why =
          "times can be too long: other programs compete for CPUs and memory; launches and "
          "measurements on the CPU get slower",
      .hint = "wait until nothing else runs",
      .commands = {"top"}};
}

std::vector<Finding> check_host(const fs::path& root) {
  const std::vector<fs::path> cpus = numbered(root / "sys/devices/system/cpu", "cpu");
  std::vector<Finding> findings = {check_governor(cpus)};
  if (auto load = check_load(root)) findings.push_back(std::move(*load));
  if (auto numa = check_numa_balancing(root)) findings.push_back(std::move(*numa));
  if (in_container(root)) {
    findings.push_back({.level = Level::kNote,
                        .seen = "this is a container",
                        .why = "processes of other containers on the same GPUs are not seen, and "
                               "clocks can often not be locked",
                        .hint = "run 'assay doctor' on the host, too"});
  }
  for (Finding& finding : findings)
    finding.where = "host";
  return findings;
}

std::vector<Finding> check_machine(const gpu::Machine& machine, const fs::path& root) {
  std::set<std::string> models;
  std::map<std::string, std::set<int>> gpus_of_node;
  std::set<int> all;
  for (const gpu::Device& device : machine.devices) {
    if (!device.problem.empty()) continue;
    all.insert(device.index);
    models.insert(device.name);
    const std::string node = node_of(device, root);
    if (!node.empty()) gpus_of_node[node].insert(device.index);
  }
  std::vector<Finding> findings;
  if (models.size() > 1) {
    findings.push_back(
        {.level = Level::kWarning,
         .where = gpu::gpu_names(all),
         .seen = "different models: " + core::join(std::vector(models.begin(), models.end()), ", "),
         .why = "their results belong into different tables, and collectives run at "
                "the pace of the slowest",
         .hint = "choose GPUs of one model with --gpus"});
  }
  if (gpus_of_node.size() > 1) {
    std::vector<std::string> nodes;
    for (const auto& [node, gpus] : gpus_of_node)
      nodes.push_back(fmt::format("{} on {}", gpu::gpu_names(gpus), node));
    findings.push_back({.level = Level::kOk,
                        .where = gpu::gpu_names(all),
                        .seen = "NUMA nodes: " + core::join(nodes, ", ")});
  }
  return findings;
}

Finding no_gpu(const fs::path& root) {
  std::error_code error;
  if (fs::exists(root / "proc/driver/nvidia/version", error)) {
    return {
        .level = Level::kWarning,
        .where = "GPUs",
        .seen = "the NVIDIA kernel driver is loaded, but its library finds no GPU",
        .why = "a container without the driver's libraries or devices looks like this",
        .hint = "outside of containers, ask nvidia-smi",
        .commands = {"docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility ..."}};
  }
  return {.level = Level::kNote,
          .where = "GPUs",
          .seen = "there is no NVIDIA driver or GPU here",
          .why = "only CPU kernels can be measured",
          .commands = {"assay collect --device cpu"}};
}

std::vector<LibraryFound> find_libraries() {
  std::vector<LibraryFound> libraries;
  for (const Library& wanted : kLibraries) {
    if (auto found = find_library(wanted)) libraries.push_back(std::move(*found));
  }
  return libraries;
}

}  // namespace assay::doctor
