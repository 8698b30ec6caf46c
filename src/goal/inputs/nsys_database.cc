#include "goal/inputs/nsys_database.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay::goal {
namespace {

// Returns the path as a URI, because SQLite accepts `immutable` (no locks, no journal) only in a
// URI.
std::string immutable_uri(const std::filesystem::path& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
  std::string uri = "file:";
  for (const char c : path.string()) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri + "?immutable=1";
}

const char* advice(int code) {
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      return "not a SQLite file";
    case SQLITE_CORRUPT:
    case SQLITE_IOERR:
    case SQLITE_FULL:
      return "damaged or cut off; export it again (nsys export --type=sqlite)";
    default:
      return "cannot be read";
  }
}

}  // namespace

core::Result<SqliteFile> SqliteFile::open(const std::filesystem::path& path) {
  SqliteFile file;
  file.name_ = path.string();
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(immutable_uri(path).c_str(), &database,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  file.database_.reset(database);
  if (code != SQLITE_OK) return file.error();
  std::error_code unknown;
  const std::uint64_t size_bytes = std::filesystem::file_size(path, unknown);
  if (!unknown) ASSAY_TRY(file.check_size(size_bytes));
  return file;
}

core::Result<SqliteFile> SqliteFile::from_bytes(std::span<const std::uint8_t> bytes,
                                                std::string name) {
  SqliteFile file;
  file.name_ = std::move(name);
  sqlite3* database = nullptr;
  int code =
      sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  file.database_.reset(database);
  // SQLite takes the bytes as its own but never writes to a read-only database.
  auto* data = const_cast<unsigned char*>(bytes.data());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (code == SQLITE_OK) {
    code = sqlite3_deserialize(database, "main", data, size, size, SQLITE_DESERIALIZE_READONLY);
  }
  if (code != SQLITE_OK) return file.error();
  ASSAY_TRY(file.check_size(bytes.size()));
  return file;
}

core::Status SqliteFile::check_size(std::uint64_t size_bytes) const {
  const std::int64_t pages = ASSAY_TRY(number("PRAGMA page_count"));
  const std::int64_t page_bytes = ASSAY_TRY(number("PRAGMA page_size"));
  if (size_bytes >= static_cast<std::uint64_t>(pages * page_bytes)) return {};
  return core::Error{fmt::format("{}: {} (it has {} bytes of {})", name_, advice(SQLITE_CORRUPT),
                                 size_bytes, pages * page_bytes)};
}

core::Result<std::int64_t> SqliteFile::number(const std::string& sql) const {
  std::int64_t value = 0;
  ASSAY_TRY(query(sql, [&](const SqliteRow& row) { value = row.integer(0); }));
  return value;
}

core::Error SqliteFile::error() const {
  return core::Error{fmt::format("{}: {} ({})", name_, advice(sqlite3_errcode(database_.get())),
                                 sqlite3_errmsg(database_.get()))};
}

core::Result<SqliteFile::Statement> SqliteFile::prepare(const std::string& sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.c_str(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return error();
  return Statement(statement);
}

core::Result<std::vector<std::string>> SqliteFile::columns(const std::string& table) const {
  std::vector<std::string> names;
  ASSAY_TRY(query(fmt::format("PRAGMA table_info({})", table),
                  [&](const SqliteRow& row) { names.emplace_back(row.text(1)); }));
  return names;
}

std::string select_list(const std::vector<std::string>& present,
                        const std::vector<std::string>& wanted) {
  const auto column_of = [&](std::string_view alternatives) -> std::string {
    while (!alternatives.empty()) {
      const std::string_view name = alternatives.substr(0, alternatives.find('|'));
      if (std::find(present.begin(), present.end(), name) != present.end()) {
        return fmt::format("\"{}\"", name);
      }
      alternatives.remove_prefix(std::min(name.size() + 1, alternatives.size()));
    }
    return "NULL";
  };
  std::string list;
  for (const std::string& alternatives : wanted)
    list += (list.empty() ? "" : ", ") + column_of(alternatives);
  return list;
}

}  // namespace assay::goal
