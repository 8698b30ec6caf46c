// What `store check` shows of the tables that it checked: how many of what was found, the accuracy
// of interpolation, and which findings make the check fail.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/table.h"
#include "store/judging/answer_check.h"
#include "store/judging/table_check.h"

namespace assay::store {

// Cases of an operator that a collection expected and that have no row.
struct CasesFound {
  std::string operator_name;
  std::string finding;  // "missing cases"
  Weight weight = Weight::kRemark;
  std::int64_t count = 0;  // at least 1
  std::int64_t expected = 0;
};

class CheckReport {
 public:
  CheckReport();

  // `name` is the table's or its file's.
  void add(const std::string& name, const TableCheck& check);
  void add(const std::string& name, const HeldOut& held_out);
  // What judge_answers() found.
  void add(const std::string& name, HoldOut left_out, const std::vector<AnswerErrors>& errors);
  void add(const CasesFound& cases);
  void add(std::vector<model::Table> tables);

  // Whether no table was checked.
  [[nodiscard]] bool is_empty() const { return checked_.cells.empty(); }

  // Whether there are neither impossible rows nor other problems.
  [[nodiscard]] bool passed() const { return passed_; }

  // The problems in words, one line each, for who does not print the tables.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  // The tables that have rows.
  [[nodiscard]] std::vector<model::Table> tables() const;

 private:
  void add_finding(const std::string& name, const Finding& finding);

  model::Table checked_;
  model::Table findings_;
  model::Table answers_;
  model::Table held_out_;
  model::Table intervals_;
  std::vector<model::Table> others_;
  std::vector<std::string> problems_;
  bool passed_ = true;
};

}  // namespace assay::store
