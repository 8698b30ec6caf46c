#include <fmt/core.h>

#include <cmath>

#include "allreduce/benchmark_csv.h"
#include "core/csv.h"

namespace assay::allreduce {
namespace {

std::string time_text(double microseconds) {
  return std::isnan(microseconds) ? std::string() : fmt::format("{}", microseconds);
}

}  // namespace

std::string_view benchmark_csv_header() {
  return "world_size,dtype,size,num_tokens,hidden_size,strategy,fusion,op,time (us),"
         "launch,low (us),high (us),min (us),samples,memory (bytes),outcome,reason";
}

std::string benchmark_csv_line(const Measurement& m) {
  return fmt::format(
      "{},{},{},{},{},{},{},allreduce,{},{},{},{},{},{},{},{},{}", m.cell.world_size,
      name_of(m.cell.data_type), m.cell.size_bytes(), m.cell.num_tokens, m.cell.hidden_size,
      name_of(m.strategy), name_of(m.cell.fusion), time_text(m.time_us), name_of(m.launch),
      time_text(m.low_us), time_text(m.high_us), time_text(m.min_us), m.samples, m.memory_bytes,
      kOutcomeNames.at(static_cast<std::size_t>(m.outcome)), core::csv_field(m.reason));
}

}  // namespace assay::allreduce
