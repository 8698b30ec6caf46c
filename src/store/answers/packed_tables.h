// Tables as one block of bytes that is used where it lies: the build makes it of a shipped system's
// database (src/cli/mapping), and queries map it rather than read SQLite; so do entries of the
// cache (table_cache.h). It is made and read by the same build, so that it has no version: files
// that stay must name their build.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/answers/work_rows.h"
#include "store/database/modelled_power.h"

namespace assay::store {

struct MappedTable {
  WorkRows rows;
  Spreads spreads;
  TablePower power = {};
};

// `origin` is told to users as it is.
std::string pack_tables(const std::string& origin, const std::vector<MappedTable>& tables);

// The bytes must stay, and begin at an address that 8 divides.
class PackedTables {
 public:
  // Error: the bytes are none of pack_tables().
  static core::Result<PackedTables> open(std::string_view bytes);

  [[nodiscard]] const std::string& origin() const { return origin_; }

  [[nodiscard]] std::vector<std::string> names() const;

  // The rows lie in the bytes. Error: there is no such table; the message names those that are.
  [[nodiscard]] core::Result<WorkRows> table(const std::string& name) const;

 private:
  struct Entry {
    std::string name;
    std::uint64_t offset = 0;
  };

  std::string_view bytes_;
  std::string origin_;
  std::vector<Entry> entries_;
};

}  // namespace assay::store
