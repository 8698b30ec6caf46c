#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "core/parallel.h"
#include "goal/validate.h"

namespace assay::goal {
namespace {

// The search multiplies parameters by a factor that shrinks from the first to the last.
constexpr double kFirstFactor = 2.0;
constexpr double kLastFactor = 1.01;
constexpr int kMostRounds = 60;
// Starting again with large steps where small ones ended leads out of some local minima.
constexpr int kSearches = 4;

struct Point {
  LineCosts costs;
  Links links;
};

struct Parameter {
  std::function<std::vector<double*>(Point&)> values;  // these change together
  std::function<bool(const Unit&)> concerns;
};

bool is_exchange(const Unit& unit) {
  return unit.function.find("SendRecv") != std::string::npos;
}

std::vector<Parameter> parameters() {
  std::vector<Parameter> all;
  for (std::size_t row = 0; row < 3; ++row) {
    const auto uses = [row](const Unit& unit) {
      return static_cast<std::size_t>(unit.protocol) == row;
    };
    const auto reduces = [uses](const Unit& unit) {
      return uses(unit) && (unit.function.find("Reduce") != std::string::npos);
    };
    all.push_back(
        {[row](Point& p) { return std::vector<double*>{&p.costs.launch_ns[row]}; }, uses});
    for (double LineCost::*field : {&LineCost::latency_ns, &LineCost::ns_per_byte}) {
      all.push_back(
          {[row, field](Point& p) { return std::vector<double*>{&(p.costs.lines[row][0].*field)}; },
           uses});
      // A reduction that keeps its result writes it in the same pass over the data.
      all.push_back({[row, field](Point& p) {
                       auto& works = p.costs.lines[row];
                       return std::vector<double*>{&(works[1].*field), &(works[2].*field)};
                     },
                     reduces});
      all.push_back(
          {[row, field](Point& p) { return std::vector<double*>{&(p.costs.two_way[row].*field)}; },
           [uses](const Unit& unit) {
             return uses(unit) &&
                    (unit.algorithm == model::NcclAlgorithm::kTree || is_exchange(unit));
           }});
    }
  }
  // What a rank sends to itself is copied in the same way with any protocol.
  all.push_back({[](Point& p) {
                   std::vector<double*> values;
                   for (auto& works : p.costs.lines)
                     values.push_back(
                         &works[static_cast<std::size_t>(Work::kSelfCopy)].ns_per_byte);
                   return values;
                 },
                 is_exchange});
  const auto add_link = [&](model::LogGops Links::*link,
                            const std::function<bool(const Unit&)>& in) {
    const auto add = [&](double model::LogGops::*field) {
      all.push_back(
          {[link, field](Point& p) { return std::vector<double*>{&(p.links.*link.*field)}; }, in});
    };
    add(&model::LogGops::latency_ns);
    add(&model::LogGops::gap_ns_per_byte);
    add(&model::LogGops::gap_ns);
    add(&model::LogGops::overhead_ns);
  };
  add_link(&Links::intra, [](const Unit& unit) { return unit.num_gpus > unit.num_nodes; });
  add_link(&Links::inter, [](const Unit& unit) { return unit.num_nodes > 1; });
  return all;
}

class Search {
 public:
  Search(const std::vector<UnitModel>& units, const Simulate& simulate, unsigned threads)
      : units_(units), simulate_(simulate), threads_(threads) {}

  core::Result<Fitted> run(Point point) {
    std::vector<double> errors = ASSAY_TRY(evaluate(point, all_units()));
    Fitted fitted;
    fitted.error_before = mean(errors);
    for (int search = 0; search < kSearches; ++search)
      ASSAY_TRY(descend(point, errors));
    fitted.costs = point.costs;
    fitted.links = point.links;
    fitted.error = mean(errors);
    fitted.simulations = simulations_;
    return fitted;
  }

 private:
  core::Status descend(Point& point, std::vector<double>& errors) {
    double factor = kFirstFactor;
    for (int round = 0; round < kMostRounds && factor > kLastFactor; ++round) {
      const double before = mean(errors);
      for (const Parameter& parameter : parameters())
        ASSAY_TRY(step(parameter, factor, point, errors));
      if (mean(errors) > before * 0.995) factor = std::sqrt(factor);
    }
    return {};
  }

  // Units that were seen often count more because their median is known better.
  double weight(std::size_t unit) const {
    return std::log2(1.0 + static_cast<double>(units_[unit].unit().occurrences.size()));
  }

  double mean(const std::vector<double>& errors) const {
    double sum = 0;
    double weights = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      sum += weight(i) * errors[i];
      weights += weight(i);
    }
    return sum / weights;
  }

  std::vector<std::size_t> all_units() const {
    std::vector<std::size_t> all(units_.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = i;
    return all;
  }

  // Returns |log(simulated / measured)| of the given units, in their order.
  core::Result<std::vector<double>> evaluate(const Point& point,
                                             const std::vector<std::size_t>& which) {
    const Costs costs = costs_from_lines(point.costs, "");
    std::vector<std::optional<core::Result<std::int64_t>>> times(which.size());
    core::parallel_for(which.size(), threads_, [&](std::size_t i) {
      times[i].emplace(units_[which[i]].simulated_ns(costs, point.links, simulate_));
    });
    simulations_ += which.size();
    std::vector<double> errors;
    for (std::size_t i = 0; i < which.size(); ++i) {
      const auto simulated = static_cast<double>(ASSAY_TRY(std::move(*times[i])));
      const double ratio = std::max(simulated, 1.0) / units_[which[i]].measured_median_ns();
      errors.push_back(std::fabs(std::log(ratio)));
    }
    return errors;
  }

  // Tries a larger and a smaller value and keeps it if the units that depend on it come closer.
  core::Status step(const Parameter& parameter,
                    double factor,
                    Point& point,
                    std::vector<double>& errors) {
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (parameter.concerns(units_[i].unit())) which.push_back(i);
    }
    if (which.empty()) return {};
    for (const double change : {factor, 1 / factor}) {
      Point tried = point;
      for (double* value : parameter.values(tried))
        *value *= change;
      const std::vector<double> found = ASSAY_TRY(evaluate(tried, which));
      double gain = 0;
      for (std::size_t i = 0; i < which.size(); ++i)
        gain += weight(which[i]) * (errors[which[i]] - found[i]);
      if (gain <= 0) continue;
      for (std::size_t i = 0; i < which.size(); ++i)
        errors[which[i]] = found[i];
      point = tried;
      break;
    }
    return {};
  }

  const std::vector<UnitModel>& units_;
  const Simulate& simulate_;
  unsigned threads_;
  std::size_t simulations_ = 0;
};

}  // namespace

core::Result<Fitted> fit(const std::vector<UnitModel>& units,
                         const LineCosts& costs,
                         const Links& links,
                         const Simulate& simulate,
                         unsigned threads) {
  return Search(units, simulate, threads).run({costs, links});
}

}  // namespace assay::goal
