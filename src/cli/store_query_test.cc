#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/command_tree.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "collect/plan/operator.h"
#include "store/files/table_spec.h"

namespace assay::cli {
namespace {

std::set<std::string> option_names() {
  std::set<std::string> names;
  for (const OptionInfo& option : options_of(*find_command("store query")))
    names.insert(option.names.begin(), option.names.end());
  return names;
}

std::string dashed(std::string column) {
  std::replace(column.begin(), column.end(), '_', '-');
  return "--" + column;
}

TEST(StoreQuery, EveryKeyColumnOfEveryTableIsAnOption) {
  const std::set<std::string> names = option_names();
  for (const store::TableSpec& spec : store::table_specs()) {
    for (const store::TableColumn& column : spec.columns) {
      const bool is_key = column.role == store::ColumnRole::kKey;
      EXPECT_EQ(names.contains(dashed(column.name)), is_key) << spec.table << " " << column.name;
      EXPECT_EQ(names.contains("--" + column.name), is_key) << spec.table << " " << column.name;
    }
  }
  for (const collect::Operator* measured : collect::all_operators()) {
    for (const collect::Axis& axis : measured->axes)
      EXPECT_TRUE(names.contains(dashed(axis.column))) << measured->name << " " << axis.column;
  }
  for (const char* name : {"--dtype", "--kernel-source", "--implementation", "--alpha"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(StoreQuery, HelpNamesTheColumns) {
  const std::string text =
      manual_text(manual_page(*find_command("store query")), 80, Headings::kPlain);
  for (const char* name : {"--dtype,", "--ep-size,", "--num-slots,", "--vocabulary,"})
    EXPECT_NE(text.find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace assay::cli
