// Prices from the tables of a public tree, for one system and one version of an engine.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan/engine.h"
#include "plan/price/tables.h"

namespace assay::plan {

// The rooflines of a table's rows; null where there are none.
using FormulaOf = std::function<store::RooflineBinder(const std::string& table)>;

class TreeTables final : public Tables {
 public:
  TreeTables(std::filesystem::path data,
             Engine engine,
             std::string version,
             FormulaOf roofline,
             FormulaOf formula);

  core::Result<std::vector<TableSource>> sources(const std::string& table) override;

  std::optional<serving::OperatorUse> held_beside(const serving::OperatorUse& use) const override;

  store::RooflineBinder formula(const std::string& table) override { return formula_(table); }

 private:
  std::filesystem::path data_;
  Engine engine_;
  std::string version_;
  FormulaOf roofline_;
  FormulaOf formula_;
  std::map<std::string, std::vector<TableSource>> known_;
  std::vector<std::unique_ptr<store::WorkIndex>> indices_;
};

}  // namespace assay::plan
