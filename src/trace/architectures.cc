#include "trace/architectures.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <array>
#include <vector>

#include "core/files.h"
#include "core/text.h"

namespace assay::trace {
namespace {

// Peaks without sparsity, at boost clock, in 1e12 operations a second. Products of fp32 operands
// run at the TF32 rate on NVIDIA's tensor cores.
struct MatrixPeaks {
  double fp64, fp32, bf16, fp16, fp8, fp4;  // 0: no such unit
};

struct VectorPeaks {
  double fp64, fp32, bf16, fp16;
};

struct Bundled {
  std::string_view name;  // within the trace's device name
  double memory_gbps;
  MatrixPeaks matrix;
  VectorPeaks vector;
};

constexpr MatrixPeaks kHopperMatrix = {66.9, 494.7, 989.4, 989.4, 1978.9, 0};
constexpr VectorPeaks kHopperVector = {33.5, 66.9, 133.8, 133.8};
constexpr MatrixPeaks kAmpereMatrix = {19.5, 156, 312, 312, 0, 0};
constexpr VectorPeaks kAmpereVector = {9.7, 19.5, 39, 78};
constexpr MatrixPeaks kCdna3Matrix = {163.4, 163.4, 1307.4, 1307.4, 2614.9, 0};
constexpr VectorPeaks kCdna3Vector = {81.7, 163.4, 163.4, 163.4};

// The first name that fits counts, so variants stand before the plain name, which is the SXM board.
// Sources: NVIDIA H100, H200 and A100 Tensor Core GPU data sheets and the Hopper and Ampere
// architecture white papers; NVIDIA HGX and DGX B200 data sheets; AMD Instinct MI300X and MI325X
// data sheets.
constexpr std::array kBundled = {
    Bundled{"H200", 4800, kHopperMatrix, kHopperVector},
    Bundled{"H100 PCIe", 2000, {51.2, 378, 756, 756, 1513, 0}, {25.6, 51.2, 102.4, 102.4}},
    Bundled{"H100 NVL", 3938, {60, 417.5, 835.5, 835.5, 1671, 0}, {30, 60, 120, 120}},
    Bundled{"H100", 3350, kHopperMatrix, kHopperVector},
    Bundled{"A100-SXM4-40GB", 1555, kAmpereMatrix, kAmpereVector},
    Bundled{"A100-PCIE-40GB", 1555, kAmpereMatrix, kAmpereVector},
    Bundled{"A100 80GB PCIe", 1935, kAmpereMatrix, kAmpereVector},
    Bundled{"A100", 2039, kAmpereMatrix, kAmpereVector},
    Bundled{"B200", 8000, {37, 1125, 2250, 2250, 4500, 9000}, {37, 75, 150, 150}},
    Bundled{"MI300X", 5300, kCdna3Matrix, kCdna3Vector},
    Bundled{"MI325X", 6000, kCdna3Matrix, kCdna3Vector},
};

GpuArchitecture expanded(const Bundled& gpu) {
  const MatrixPeaks& matrix = gpu.matrix;
  const VectorPeaks& vector = gpu.vector;
  GpuArchitecture architecture{std::string(gpu.name),
                               gpu.memory_gbps,
                               {{"matrix_fp64", matrix.fp64},
                                {"matrix_fp32", matrix.fp32},
                                {"matrix_bf16", matrix.bf16},
                                {"matrix_fp16", matrix.fp16},
                                {"matrix_fp8", matrix.fp8},
                                {"matrix_fp4", matrix.fp4},
                                {"vector_fp64", vector.fp64},
                                {"vector_fp32", vector.fp32},
                                {"vector_bf16", vector.bf16},
                                {"vector_fp16", vector.fp16}}};
  for (auto peak = architecture.peak_tflops.begin(); peak != architecture.peak_tflops.end();)
    peak = peak->second == 0 ? architecture.peak_tflops.erase(peak) : std::next(peak);
  return architecture;
}

// "A100" is not in "RTX A1000".
bool names(std::string_view device, std::string_view gpu) {
  const std::size_t at = device.find(gpu);
  if (at == std::string_view::npos) return false;
  const std::size_t end = at + gpu.size();
  return end == device.size() || device[end] < '0' || device[end] > '9';
}

core::Result<GpuArchitecture> parse_architecture(const nlohmann::json& json) {
  if (!json.is_object()) return core::Error{"not a JSON object"};
  GpuArchitecture architecture;
  const auto name = json.find("name");
  if (name != json.end() && name->is_string()) architecture.name = name->get<std::string>();
  const auto bandwidth = json.find("mem_bw_gbps");
  if (bandwidth == json.end() || !bandwidth->is_number() || bandwidth->get<double>() <= 0)
    return core::Error{"mem_bw_gbps must be a positive number (1e9 bytes a second)"};
  architecture.memory_gbps = bandwidth->get<double>();
  const auto peaks = json.find("max_achievable_tflops");
  if (peaks == json.end() || !peaks->is_object())
    return core::Error{"max_achievable_tflops must be an object such as {\"matrix_bf16\": 708}"};
  for (const auto& [spec, peak] : peaks->items()) {
    if (!peak.is_number() || peak.get<double>() <= 0)
      return core::Error{fmt::format("max_achievable_tflops.{} must be a positive number", spec)};
    architecture.peak_tflops[spec] = peak.get<double>();
  }
  return architecture;
}

}  // namespace

std::optional<GpuArchitecture> bundled_architecture(std::string_view gpu_name) {
  if (gpu_name.find("MIG") != std::string_view::npos) return std::nullopt;
  for (const Bundled& gpu : kBundled)
    if (names(gpu_name, gpu.name)) return expanded(gpu);
  return std::nullopt;
}

core::Result<GpuArchitecture> load_architecture(const std::filesystem::path& path) {
  const std::string text = ASSAY_TRY(core::read_file(path));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  auto architecture = parse_architecture(json);
  if (!architecture.ok()) return architecture.error().context(path.string());
  return architecture;
}

core::Result<GpuArchitecture> find_architecture(const std::string& name_or_path) {
  if (auto bundled = bundled_architecture(name_or_path)) return std::move(*bundled);
  if (std::filesystem::exists(name_or_path)) return load_architecture(name_or_path);
  std::vector<std::string> known;
  known.reserve(std::size(kBundled));
  for (const Bundled& gpu : kBundled)
    known.emplace_back(gpu.name);
  return core::Error{fmt::format("'{}' is neither a file nor a known GPU; known are {}",
                                 name_or_path, core::join(known, ", "))};
}

}  // namespace assay::trace
