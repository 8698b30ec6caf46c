// The SQLite file that holds a store: how to open it safely, statements, transactions, and what
// SQLite's errors mean for a user.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "store/database/store.h"

namespace assay::store {

// Columns and parameters are counted from 0. The texts and blobs of a step are valid until the
// next.
class Statement {
 public:
  Statement(sqlite3_stmt* statement, const std::string& file)
      : statement_(statement), file_(&file) {}

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);  // NaN becomes null
  // The text must live until the step.
  void bind(int parameter, std::string_view value);
  void bind_blob(int parameter, std::string_view value);
  void bind_null(int parameter);

  template <class Value>
  void bind(int parameter, const std::optional<Value>& value) {
    if (value) {
      bind(parameter, *value);
    } else {
      bind_null(parameter);
    }
  }

  // Returns whether there is a row; after the last one the statement is ready for new parameters.
  // Fails where core::check_interrupt() does.
  core::Result<bool> step();

  // Must be called before new parameters are bound when not all rows were taken.
  void reset() { sqlite3_reset(statement_.get()); }

  // Runs a statement that gives no rows.
  core::Status run();

  [[nodiscard]] std::vector<std::string> column_names(int first) const;

  enum class Type { kNull, kInteger, kReal, kText };
  [[nodiscard]] Type type(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;  // null becomes NaN
  [[nodiscard]] std::string_view text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  const std::string* file_;
};

// The bytes of a file in memory that SQLite frees.
struct SqliteImage {
  struct Free {
    void operator()(unsigned char* image) const { sqlite3_free(image); }
  };

  std::unique_ptr<unsigned char, Free> bytes = {};
  std::size_t size = 0;
};

class Database {
 public:
  static core::Result<Database> open(const std::filesystem::path& path, Store::Mode mode);
  // Opens the bytes of a file in memory, to read only.
  static core::Result<Database> from_bytes(const std::string& name, std::string_view bytes);
  // Does the same with the zstd frame of a file.
  static core::Result<Database> unpack(const std::string& name, std::string_view packed);

  [[nodiscard]] core::Status execute(const std::string& sql) const;
  // Makes SQLite write ahead to a log (WAL) from now on, which the file remembers.
  [[nodiscard]] core::Status use_log() const;
  [[nodiscard]] core::Result<Statement> prepare(std::string_view sql) const;
  // The first column of the first row; 0 if there is no row.
  [[nodiscard]] core::Result<std::int64_t> number(std::string_view sql) const;

  [[nodiscard]] std::int64_t last_row_id() const {
    return sqlite3_last_insert_rowid(handle_.get());
  }

  [[nodiscard]] const std::string& name() const { return *name_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };

  static core::Result<Database> from_image(const std::string& name, SqliteImage image);
  core::Status connect(const std::string& file, int flags);
  core::Status connect_to_read(const std::filesystem::path& path);
  [[nodiscard]] core::Error unreadable_log(const std::filesystem::path& path,
                                           const core::Error& error) const;
  [[nodiscard]] core::Status check_size(const std::filesystem::path& path) const;

  std::unique_ptr<std::string> name_;  // statements refer to it
  std::unique_ptr<sqlite3, Close> handle_;
};

// Undoes what has not been committed when it ends.
class Transaction {
 public:
  static core::Result<Transaction> begin(const Database& database);

  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  core::Status commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}

  const Database* database_;  // null once it is committed
};

}  // namespace assay::store
