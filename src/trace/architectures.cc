#include "trace/architectures.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <map>
#include <vector>

#include "core/files.h"
#include "core/text.h"
#include "model/gpu_specs.h"

namespace assay::trace {
namespace {

GpuArchitecture architecture_of(const model::GpuSpecs& gpu) {
  const model::GpuPeaks& matrix = gpu.matrix;
  const model::GpuPeaks& vector = gpu.vector;
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
  std::erase_if(architecture.peak_tflops, [](const auto& peak) { return peak.second == 0; });
  return architecture;
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
  const model::GpuSpecs* gpu = model::find_gpu_specs(gpu_name);
  if (gpu == nullptr) return std::nullopt;
  return architecture_of(*gpu);
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
  for (const model::GpuSpecs& gpu : model::all_gpu_specs())
    known.emplace_back(gpu.name);
  return core::Error{fmt::format("'{}' is neither a file nor a known GPU; known are {}",
                                 name_or_path, core::join(known, ", "))};
}

}  // namespace assay::trace
