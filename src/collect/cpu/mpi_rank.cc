#include <fmt/core.h>

#include <chrono>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "collect/cpu/cpu_device.h"
#include "collect/kernels/collective_pattern.h"

namespace assay::collect {
namespace {

using model::NcclFunction;

class CpuMpiRank final : public TeamRank {
 public:
  explicit CpuMpiRank(const MpiRank& job) : job_(job) {}

  core::Result<std::optional<Unsupported>> make(const CollectiveSpec& spec) override {
    spec_ = spec;
    if (std::optional<Unsupported> reason = unsupported()) return reason;
    const auto bytes = static_cast<std::size_t>(bytes_of(spec.type));
    in_.resize(size_in() * bytes);
    out_.assign(size_out() * bytes, 0);
    for (std::size_t i = 0; i < size_in(); ++i)
      store(in_, i, pattern_value(job_.rank, static_cast<std::int64_t>(i)));
    return std::optional<Unsupported>();
  }

  core::Status launch() override { return mpi::status_of(job_, call()); }

  core::Status finish() override { return {}; }

  core::Result<Accuracy> check() override {
    ASSAY_TRY(launch());
    Accuracy accuracy;
    for (std::size_t i = 0; i < size_out(); ++i) {
      ++accuracy.compared;
      const double found = load(i);
      const double exact = pattern_expected(spec_, job_.rank, static_cast<std::int64_t>(i));
      if (found == exact || accuracy.worst > 0) continue;
      accuracy.worst = std::numeric_limits<double>::max();
      accuracy.where = fmt::format("output[{}] is {}, should be {}", i, found, exact);
    }
    return accuracy;
  }

  core::Status watch(const StopwatchRequest& request) override {
    if (request.launch == model::Launch::kGraph) {
      return core::Error{"there are no graphs of launches on CPUs"};
    }
    launches_ = request.launches_per_sample;
    return {};
  }

  core::Result<std::vector<double>> sample(std::int64_t count) override {
    std::vector<double> times_ms;
    for (std::int64_t i = 0; i < count; ++i) {
      ASSAY_TRY(mpi::status_of(job_, job_.functions->barrier(spec_.ranks)));
      const auto start = std::chrono::steady_clock::now();
      for (std::int64_t launch = 0; launch < launches_; ++launch) {
        ASSAY_TRY(this->launch());
      }
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      times_ms.push_back(took.count() / static_cast<double>(launches_));
    }
    return times_ms;
  }

  void forget() override {
    in_.clear();
    out_.clear();
  }

  [[nodiscard]] std::string kernel_source(const CollectiveSpec& /*spec*/) const override {
    return "mpi";
  }

 private:
  [[nodiscard]] bool adds() const {
    return spec_.function == NcclFunction::kAllReduce ||
           spec_.function == NcclFunction::kReduceScatter;
  }

  [[nodiscard]] std::optional<Unsupported> unsupported() const {
    if (spec_.provider == CollectiveProvider::kStrategies) {
      return Unsupported{"assay's own all-reduce is for GPUs"};
    }
    const bool known = spec_.type == DataType::kFloat32 || spec_.type == DataType::kInt8;
    if (adds() && !known) {
      return Unsupported{fmt::format("MPI has no sums of {}", name_of(spec_.type))};
    }
    if (has_parts(spec_) && spec_.elements % spec_.ranks != 0) {
      return Unsupported{
          fmt::format("{} elements cannot be shared by {} ranks", spec_.elements, spec_.ranks)};
    }
    if (spec_.elements * bytes_of(spec_.type) > std::numeric_limits<int>::max()) {
      return Unsupported{"more bytes than MPI counts"};
    }
    return std::nullopt;
  }

  [[nodiscard]] std::size_t part() const { return static_cast<std::size_t>(part_of(spec_)); }

  [[nodiscard]] std::size_t size_in() const { return static_cast<std::size_t>(elements_in(spec_)); }

  [[nodiscard]] std::size_t size_out() const {
    return static_cast<std::size_t>(elements_out(spec_));
  }

  int call() {
    const mpi::Functions& mpi = *job_.functions;
    const bool is_float = spec_.type == DataType::kFloat32;
    const mpi::Element sum = is_float ? mpi::Element::kFloat32 : mpi::Element::kInt8;
    const auto bytes = static_cast<std::size_t>(bytes_of(spec_.type));
    switch (spec_.function) {
      case NcclFunction::kAllReduce:
        return mpi.all_reduce(in_.data(), out_.data(), size_in(), sum, spec_.ranks);
      case NcclFunction::kReduceScatter:
        return mpi.reduce_scatter(in_.data(), out_.data(), part(), sum, spec_.ranks);
      case NcclFunction::kAllGather:
        return mpi.all_gather(in_.data(), out_.data(), part() * bytes, mpi::Element::kByte,
                              spec_.ranks);
      case NcclFunction::kAllToAll:
        return mpi.all_to_all(in_.data(), out_.data(), part() * bytes, mpi::Element::kByte,
                              spec_.ranks);
      default:
        return mpi.shift(in_.data(), out_.data(), size_in() * bytes, mpi::Element::kByte,
                         spec_.ranks);
    }
  }

  // Types that a collective only moves hold the number in their first byte.
  void store(std::vector<char>& to, std::size_t index, int value) const {
    if (spec_.type == DataType::kFloat32) {
      const auto real = static_cast<float>(value);
      std::memcpy(&to[index * sizeof(real)], &real, sizeof(real));
    } else {
      to[index * static_cast<std::size_t>(bytes_of(spec_.type))] = static_cast<char>(value);
    }
  }

  [[nodiscard]] double load(std::size_t index) const {
    if (spec_.type == DataType::kFloat32) {
      float real = 0;
      std::memcpy(&real, &out_[index * sizeof(real)], sizeof(real));
      return real;
    }
    return static_cast<signed char>(out_[index * static_cast<std::size_t>(bytes_of(spec_.type))]);
  }

  MpiRank job_;
  CollectiveSpec spec_;
  std::int64_t launches_ = 1;
  std::vector<char> in_;
  std::vector<char> out_;
};

}  // namespace

std::unique_ptr<TeamRank> make_cpu_mpi_rank(const MpiRank& job) {
  return std::make_unique<CpuMpiRank>(job);
}

}  // namespace assay::collect
