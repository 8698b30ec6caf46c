// Where prices of operators come from: the rows that may answer for each table, the nearest to what
// the engine runs first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/result.h"
#include "model/gpu_specs.h"
#include "model/serving/uses.h"
#include "plan/engine.h"
#include "plan/price/crossing_collective.h"
#include "store/answers/use_families.h"
#include "store/answers/work_index.h"
#include "store/database/judged_power.h"
#include "store/judging/roofline.h"

namespace assay::plan {

// How near a price is to what the engine runs; the nearest first.
enum class Fidelity : std::uint8_t {
  kEngine,        // the engine's own tables, of the version that is asked for or one it reuses
  kOtherVersion,  // the engine's own tables of another version
  kKernels,       // assay's own measurements of the best kernels: what the hardware allows
  kOtherEngine,   // another engine's tables
  kScaled,        // rows of fewer GPUs, scaled to these (scaled_collective.h)
  kLinks,         // rows of a node's GPUs, and links between nodes (crossing_collective.h)
  kFormula,       // bytes over bandwidth, for operators that only move bytes and no table has
  kBound,         // the same for operators that also compute: a lower bound
};

std::string_view name_of(Fidelity fidelity);

// Rows that may answer for a table. They are read when they are asked first.
class TableSource {
 public:
  using Index = std::shared_ptr<const store::WorkIndex>;
  using Read = std::function<core::Result<Index>()>;

  // `name`: "trtllm 1.3.0rc20".
  TableSource(std::string name, Fidelity fidelity, Read read);

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] Fidelity fidelity() const { return fidelity_; }

  // Error: the file does not read.
  [[nodiscard]] core::Result<Index> index() const;

 private:
  std::string name_;
  Fidelity fidelity_;
  Read read_;
  mutable Index index_;
};

struct OperatorPowerModel {
  store::JudgedPower power;
  const model::GpuSpecs* device = nullptr;  // whose shares the model's loads are
};

// One thread at a time.
class Tables {
 public:
  // Gives the rows for a table in the order in which they are asked; empty if there are none.
  using Load = std::function<core::Result<std::vector<TableSource>>(const std::string& table)>;
  // The time in ms that memory takes for rows of a table; null where there is no formula.
  using Formula = std::function<store::RooflineBinder(const std::string& table)>;

  // What rows of a table move and compute; null where that is unknown.
  using Cost = std::function<store::CostBinder(const std::string& table)>;

  // `engine` std::nullopt: kernels of no engine.
  Tables(std::optional<Engine> engine, Load load, Formula formula, Cost cost);

  // Error: the table's files cannot be listed.
  [[nodiscard]] core::Result<std::span<const TableSource>> sources(const std::string& table);

  [[nodiscard]] store::RooflineBinder formula(const std::string& table) const {
    return formula_(table);
  }

  // Of what that tells.
  [[nodiscard]] static Fidelity fidelity_of_formula(std::string_view table);

  [[nodiscard]] store::CostBinder cost(const std::string& table) const { return cost_(table); }

  // Without them nothing that crosses nodes has a price.
  void set_links(NodeLinks links) { links_ = std::move(links); }

  [[nodiscard]] const std::optional<NodeLinks>& links() const { return links_; }

  // 90 is Hopper; 0, as without it: unknown.
  void set_sm_version(int version) { sm_version_ = version; }

  [[nodiscard]] int sm_version() const { return sm_version_; }

  // The families of an index whose rows answer for a use. Deployments ask for the same uses, and
  // finding them means to look through the rows.
  [[nodiscard]] const std::vector<store::UseFamily>& families_of(const TableSource::Index& index,
                                                                 const serving::OperatorUse& use);

  // The rows of a family, ready to answer. Uses with equal keys share one, whatever deployment they
  // are of: it keeps what it learnt of its rows, and where it was asked last.
  [[nodiscard]] std::shared_ptr<const store::Family> family(const TableSource::Index& index,
                                                            std::size_t number,
                                                            const std::string& key);

  // The model of the power of rows with this op_name, as the table's measured ones tell it; null
  // where these are too few.
  [[nodiscard]] std::shared_ptr<const OperatorPowerModel> power_model(
      const TableSource::Index& index, const std::string& op_name);

  // The work that rows of such a source hold beside this use, to be taken off; std::nullopt: none.
  [[nodiscard]] std::optional<serving::OperatorUse> held_beside(const serving::OperatorUse& use,
                                                                Fidelity of_rows) const;

 private:
  std::optional<Engine> engine_;
  Load load_;
  Formula formula_;
  Cost cost_;
  std::optional<NodeLinks> links_;
  int sm_version_ = 0;
  std::map<std::string, std::vector<TableSource>> loaded_;
  std::map<std::pair<const store::WorkIndex*, std::string>, std::vector<store::UseFamily>>
      families_of_uses_;
  std::map<std::tuple<const store::WorkIndex*, std::size_t, std::string>,
           std::shared_ptr<const store::Family>>
      families_;
  std::map<std::pair<const store::WorkIndex*, std::string>,
           std::shared_ptr<const OperatorPowerModel>>
      power_models_;
};

}  // namespace assay::plan
