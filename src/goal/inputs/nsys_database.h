// An SQLite file, opened so that no file is made beside it and its content cannot change.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::goal {

// The current row of a query. Its text is valid until the next row.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}

  [[nodiscard]] bool is_null(int column) const {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }

  [[nodiscard]] std::int64_t integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }

  [[nodiscard]] std::string_view text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    if (bytes == nullptr) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_;
};

class SqliteFile {
 public:
  static core::Result<SqliteFile> open(const std::filesystem::path& path);

  // A file in memory, for tests and fuzzing. The bytes must outlive it.
  static core::Result<SqliteFile> from_bytes(std::span<const std::uint8_t> bytes, std::string name);

  // Returns the names of the table's columns; none when there is no such table.
  [[nodiscard]] core::Result<std::vector<std::string>> columns(const std::string& table) const;

  // Calls visit(SqliteRow) for each row of the query.
  template <class Visit>
  [[nodiscard]] core::Status query(const std::string& sql, Visit visit) const {
    const Statement statement = ASSAY_TRY(prepare(sql));
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement.get())) == SQLITE_ROW)
      visit(SqliteRow(statement.get()));
    if (code != SQLITE_DONE) return error();
    return {};
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  [[nodiscard]] core::Result<Statement> prepare(const std::string& sql) const;
  [[nodiscard]] core::Error error() const;
  // Fails for a truncated file. SQLite itself would read zeros for what the last page lacks.
  [[nodiscard]] core::Status check_size(std::uint64_t size_bytes) const;
  [[nodiscard]] core::Result<std::int64_t> number(const std::string& sql) const;

  std::string name_;
  std::unique_ptr<sqlite3, Close> database_;
};

// Returns "a, b, NULL": for each column the first of its alternatives ("demangledName|shortName")
// that is present.
std::string select_list(const std::vector<std::string>& present,
                        const std::vector<std::string>& wanted);

}  // namespace assay::goal
