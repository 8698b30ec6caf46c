// The price of one use of an operator: bound once to the rows that answer for it, and asked for any
// batch.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/serving/uses.h"
#include "plan/price/crossing_collective.h"
#include "plan/price/scaled_collective.h"
#include "plan/price/tables.h"
#include "store/answers/use_families.h"

namespace assay::plan {

// What serving::Amount counts.
struct Amounts {
  double tokens = 0;
  double requests = 0;
  double new_tokens = 0;
  double cached_tokens = 0;
  double expert_tokens = 0;

  [[nodiscard]] double of(serving::Amount amount) const;
};

// Of all launches of a step.
struct Price {
  double ms = 0;
  double least_ms = 0;     // by its roofline; 0 where that is unknown
  double sigma = 0;        // one sigma of its logarithm; 0 where rows were measured
  bool is_beyond = false;  // past the measured sizes
};

// What all launches of a step move and compute; 0 where it is unknown.
struct Work {
  double bytes = 0;
  double flops = 0;
  double link_bytes = 0;  // that a GPU sends
};

enum class PowerSource : std::uint8_t {
  kMeasured,  // with the very row
  kModelled,  // of a model of other rows, by the rates of bytes and operations
  kBetween,   // between that of rows beside it, where there is no model
};

// What a GPU takes while an operator runs.
struct OperatorPower {
  double watts = 0;
  PowerSource source = PowerSource::kMeasured;
  double error = 0;  // the median, a part of it, where it is of a model; of others it is not known
};

class OperatorPrice {
 public:
  // Takes the first source that has rows with the use's key or derives it surely (one sigma of at
  // most 10 %), else the first that has the key, else the first that derives it at all. Collectives
  // that none of them has are scaled from fewer GPUs, and those of several nodes take the links
  // between them besides.
  // Error: nothing answers; it names the use and what was looked at.
  static core::Result<OperatorPrice> bind(const serving::OperatorUse& use, Tables& tables);

  // Not for several threads at once.
  [[nodiscard]] Price at(const Amounts& amounts) const;

  // While it runs; std::nullopt: neither the rows that price it nor a model of them tell, or it
  // lies past the measured sizes.
  [[nodiscard]] std::optional<OperatorPower> power(const Amounts& amounts) const;

  [[nodiscard]] Work work(const Amounts& amounts) const;

  [[nodiscard]] const serving::OperatorUse& use() const { return use_; }

  [[nodiscard]] const std::string& source() const { return source_; }

  [[nodiscard]] Fidelity fidelity() const { return fidelity_; }

  // That of the rows that were scaled, else the same.
  [[nodiscard]] Fidelity fidelity_of_rows() const {
    return scaled_ == nullptr ? fidelity_ : scaled_->half->fidelity_;
  }

  // The rows that answer; null: others than a table's.
  [[nodiscard]] const std::shared_ptr<const store::WorkIndex>& index() const { return index_; }

  // Whether rows with the use's key were measured, so that only the batch may lie between rows.
  [[nodiscard]] bool has_key() const { return has_key_; }

 private:
  explicit OperatorPrice(const serving::OperatorUse& use) : use_(use) {}

  static core::Result<OperatorPrice> bind_one(const serving::OperatorUse& use, Tables& tables);
  [[nodiscard]] Price at_alone(const Amounts& asked_amounts) const;

  // The sizes to ask the table for, and the share of its answer that counts.
  struct AskedSizes {
    std::array<double, store::kMostWorkAxes> sizes = {};
    double share = 1;
  };

  [[nodiscard]] AskedSizes asked_sizes(Amounts amounts) const;
  static OperatorPrice of_rows(const serving::OperatorUse& use,
                               const TableSource& source,
                               const TableSource::Index& index,
                               const store::UseFamily& family,
                               Tables& tables);
  static OperatorPrice of_formula(const serving::OperatorUse& use,
                                  const store::RooflineBinder& formula);

  // Precondition: cost_ is there.
  [[nodiscard]] store::RowCost cost_of_launch(const Amounts& amounts) const;
  [[nodiscard]] std::optional<OperatorPower> modelled_power(const Amounts& amounts,
                                                            double launch_ms) const;

  // The prices that a collective among more GPUs follows from; the message is the use's only size.
  struct Scaled {
    std::shared_ptr<const OperatorPrice> half;
    std::shared_ptr<const OperatorPrice> quarter;
    ScaledCollective scale = {};
    double sigma = 0;
  };

  static core::Result<std::optional<OperatorPrice>> bind_scaled(const serving::OperatorUse& use,
                                                                Tables& tables);
  static core::Result<std::optional<OperatorPrice>> of_fewer_gpus(const serving::OperatorUse& use,
                                                                  const ScaledUse& fewer,
                                                                  const TableSource& source,
                                                                  Tables& tables);

  // What a collective among nodes follows from; the message is the use's only size.
  struct Crossing {
    std::shared_ptr<const OperatorPrice> within;
    CrossingUse use = {};
    NodeLinks links = {};
    double bytes_of_unit = 0;  // of the message
  };

  static core::Result<std::optional<OperatorPrice>> bind_crossing(const serving::OperatorUse& use,
                                                                  Tables& tables);
  [[nodiscard]] Price crossing_at(const Amounts& asked) const;
  [[nodiscard]] Price scaled_at(const Amounts& asked) const;
  [[nodiscard]] double ms_of_message(double message) const;

  serving::OperatorUse use_;
  std::string source_;
  Fidelity fidelity_ = Fidelity::kEngine;
  bool has_key_ = false;
  std::vector<double> sizes_;
  std::vector<std::size_t> places_;
  std::shared_ptr<const store::WorkIndex> index_;  // which the family refers to
  std::shared_ptr<const store::Family> family_;    // null: the formula
  store::Roofline formula_;
  store::CostedOperator::SizedCost cost_;             // over the sizes of the use; null: unknown
  std::shared_ptr<const OperatorPrice> held_beside_;  // is taken off; null: nothing is
  std::shared_ptr<const Scaled> scaled_;              // null: rows or the formula answer
  std::shared_ptr<const Crossing> crossing_;          // null: it is none
  std::shared_ptr<const OperatorPowerModel> power_model_;  // null: there is none
  // The window that the use has and the table does not know; 0: none.
  double window_ = 0;
  // The place of the tokens before a prompt, where no row has any; kNoSize: rows have them.
  std::size_t no_prefix_place_ = store::kNoSize;
  std::size_t new_tokens_place_ = store::kNoSize;
};

}  // namespace assay::plan
