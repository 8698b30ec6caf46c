// Questions to the performance database: asked of a surface that is bound once, of the command, and
// of the command in a batch.
#include <fmt/core.h>

#include <array>
#include <cmath>

#include "cases.h"
#include "core/output_file.h"
#include "store/answers/packed_tables.h"
#include "store/answers/surface.h"
#include "store/systems/shipped.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kAsked = 2'000'000;
constexpr int kLines = 10'000;

// The bytes and operations of a product, as src/collect/ops/gemm.cc has them.
store::Roofline product_roofline(const std::vector<model::PerfField>& exact,
                                 const std::vector<std::string>& sizes) {
  if (exact.empty() || sizes.size() != 3) return nullptr;
  return [](std::span<const double> at) {
    const double m = at[0];
    const double n = at[1];
    const double k = at[2];
    return std::max((m * k + n * k + 2 * m * n) / 4.8e9, 2 * m * n * k / 1.979e12);
  };
}

// Asks for two million sizes of one weight; the time is that of all.
core::Result<Usage> ask_surface(const std::string& n, const std::string& k) {
  const auto packed = ASSAY_TRY(store::PackedTables::open(store::find_shipped("h200_sxm")->tables));
  const store::WorkIndex index(ASSAY_TRY(packed.table("gemm_perf")), product_roofline);
  const auto surface =
      ASSAY_TRY(store::Surface::bind(index, {{"dtype", "fp8"}, {"n", n}, {"k", k}}, {"m"}));
  return measure_work([&]() -> core::Result<double> {
    const double start = cpu_seconds();
    double sum = 0;
    for (int i = 0; i < kAsked; ++i) {
      const std::array<double, 1> m{static_cast<double>(1 + i % 8192)};
      sum += surface.at(m).latency;
    }
    if (!(sum > 0)) return core::Error{"no answers"};
    return cpu_seconds() - start;
  });
}

core::Result<Usage> ask_measured_weight(Inputs& /*inputs*/) {
  return ask_surface("4096", "4096");
}

core::Result<Usage> ask_other_weight(Inputs& /*inputs*/) {
  return ask_surface("5120", "13824");
}

core::Result<Usage> ask_once(Inputs& /*inputs*/) {
  return measure_program({ASSAY_PROGRAM, "store", "query", "gemm", "--m", "300", "--n", "5120",
                          "--k", "5120", "--dtype", "fp8"});
}

core::Result<Usage> ask_batch(Inputs& inputs) {
  const fs::path file = ASSAY_TRY(inputs.scratch()).string() + ".csv";
  std::string lines = "dtype,m,n,k\n";
  for (int i = 0; i < kLines; ++i)
    lines += fmt::format("fp8,{},{},{}\n", 1 + i * 7 % 8192, 256 + i * 131 % 28000,
                         256 + i * 173 % 28000);
  ASSAY_TRY(core::write_file(file, lines));
  return measure_program({ASSAY_PROGRAM, "store", "query", "gemm", "--batch", file.string()});
}

}  // namespace

std::vector<Case> query_cases() {
  return {
      {"2,000,000 products of a measured weight", ask_measured_weight, Target{1.0}},
      {"2,000,000 products of another weight", ask_other_weight, std::nullopt},
      {"store query, one product, whole process", ask_once, Target{0.015}},
      {"store query --batch, 10,000 products", ask_batch, Target{0.1}},
  };
}

}  // namespace assay::bench
