#include "store/database/store_database.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/check.h"
#include "core/files.h"
#include "core/interrupt.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;

// Writers wait this long for each other; an import of a large file takes seconds.
constexpr int kBusyMs = 30'000;

// Steps of SQLite's machine between two looks at whether the work is to stop; they take about a
// millisecond.
constexpr int kStepsBetweenLooks = 10'000;

int stop_if_asked(void* /*nothing*/) {
  return core::check_interrupt().ok() ? 0 : 1;
}

const char* advice(int code) {
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      return "not a store (no SQLite file)";
    case SQLITE_CORRUPT:
      return "the store is damaged; 'sqlite3 FILE .recover' may save its rows";
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return "the disk is full or fails; what the store held before is still there";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process is writing to the store; wait for it to end";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return "the store may not be written";
    case SQLITE_CANTOPEN:
      return "the store or its folder cannot be opened";
    default:
      return "the store cannot be used";
  }
}

core::Error error_of(const std::string& file, sqlite3* handle) {
  if (sqlite3_errcode(handle) == SQLITE_INTERRUPT) return core::Error{"interrupted"};
  return core::Error{
      fmt::format("{}: {} ({})", file, advice(sqlite3_errcode(handle)), sqlite3_errmsg(handle))};
}

// Names the file by a URI, the only way to tell SQLite that it is `immutable` (no locks, no other
// files beside it).
std::string immutable_uri(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-";
  std::string uri = "file:";
  for (const char c : path) {
    if (kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri + "?immutable=1";
}

bool has_log(const fs::path& path) {
  std::error_code none;
  return fs::file_size(path.string() + "-wal", none) > 0 && !none;
}

bool is_readable(const fs::path& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0;
}

core::Status check_path(const fs::path& path, Store::Mode mode) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (fs::is_directory(status)) {
    return core::Error{fmt::format("{}: a folder, not a store", path.string())};
  }
  // SQLite would use or remove what has a name of its own files.
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
    const std::string file = path.string() + ending;
    const fs::file_status kind = fs::status(file, code);
    if (fs::is_other(kind) || fs::is_directory(kind))
      return core::Error{fmt::format("{}: no regular file, so no part of a store", file)};
  }
  if (mode == Store::Mode::kCreate || fs::exists(status)) return {};
  const bool missing = status.type() == fs::file_type::not_found;
  return core::Error{fmt::format("{}: {}", path.string(),
                                 missing ? "no such store" : "cannot be read: " + code.message())};
}

// Bounds of what a packed store may claim, before memory is taken for it. Stores that ship shrink
// to a tenth; one of empty pages shrinks to a thousandth.
constexpr std::uint64_t kMostUnpackedBytes = 1ULL << 30;
constexpr std::uint64_t kMostRatio = 10'000;

core::Result<SqliteImage> image_of_size(std::size_t size) {
  SqliteImage image;
  image.bytes.reset(static_cast<unsigned char*>(sqlite3_malloc64(size)));
  image.size = size;
  if (!image.bytes) return core::Error{fmt::format("{} bytes of memory cannot be had", size)};
  return image;
}

core::Result<SqliteImage> unpacked(std::string_view packed) {
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size == 0) {
    return core::Error{"not a store packed by zstd"};
  }
  if (size > kMostUnpackedBytes || size / kMostRatio > packed.size()) {
    return core::Error{fmt::format("{} bytes claim to unpack to {}", packed.size(), size)};
  }
  SqliteImage image = ASSAY_TRY(image_of_size(static_cast<std::size_t>(size)));
  const std::size_t length =
      ZSTD_decompress(image.bytes.get(), image.size, packed.data(), packed.size());
  if (ZSTD_isError(length) != 0) {
    return core::Error{fmt::format("damaged (zstd: {})", ZSTD_getErrorName(length))};
  }
  if (length != image.size) return core::Error{"it unpacks to another size than it says"};
  return image;
}

}  // namespace

void Statement::bind(int parameter, std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_.get(), parameter + 1, value);
  ASSAY_CHECK(code == SQLITE_OK, "a parameter that the statement has");
}

void Statement::bind(int parameter, double value) {
  const int code = sqlite3_bind_double(statement_.get(), parameter + 1, value);
  ASSAY_CHECK(code == SQLITE_OK, "a parameter that the statement has");
}

void Statement::bind(int parameter, std::string_view value) {
  const char* bytes = value.data() == nullptr ? "" : value.data();
  const int code = sqlite3_bind_text64(statement_.get(), parameter + 1, bytes, value.size(),
                                       SQLITE_STATIC, SQLITE_UTF8);
  ASSAY_CHECK(code == SQLITE_OK, "a parameter that the statement has");
}

void Statement::bind_blob(int parameter, std::string_view value) {
  const int code = sqlite3_bind_blob64(statement_.get(), parameter + 1, value.data(), value.size(),
                                       SQLITE_STATIC);
  ASSAY_CHECK(code == SQLITE_OK, "a parameter that the statement has");
}

void Statement::bind_null(int parameter) {
  const int code = sqlite3_bind_null(statement_.get(), parameter + 1);
  ASSAY_CHECK(code == SQLITE_OK, "a parameter that the statement has");
}

core::Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    core::Error error = error_of(*file_, sqlite3_db_handle(statement_.get()));
    sqlite3_reset(statement_.get());
    return error;
  }
  sqlite3_reset(statement_.get());
  return false;
}

core::Status Statement::run() {
  const auto row = step();
  if (!row.ok()) return row.error();
  ASSAY_CHECK(!row.value(), "a statement that gives no rows");
  return {};
}

std::vector<std::string> Statement::column_names(int first) const {
  std::vector<std::string> names;
  for (int column = first; column < sqlite3_column_count(statement_.get()); ++column)
    names.emplace_back(sqlite3_column_name(statement_.get(), column));
  return names;
}

Statement::Type Statement::type(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_NULL:
      return Type::kNull;
    case SQLITE_INTEGER:
      return Type::kInteger;
    case SQLITE_FLOAT:
      return Type::kReal;
    default:
      return Type::kText;
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  return type(column) == Type::kNull ? std::nan("")
                                     : sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

core::Status Database::connect(const std::string& file, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) return error_of(*name_, handle);
  sqlite3_busy_timeout(handle, kBusyMs);
  sqlite3_progress_handler(handle, kStepsBetweenLooks, stop_if_asked, nullptr);
  // Opening reads nothing yet; the first query shows whether the file is one of SQLite's.
  const auto version = number("PRAGMA schema_version");
  if (!version.ok()) return version.error();
  return {};
}

// SQLite reads a log (WAL) only with a file beside it, -shm, which it must be able to make.
core::Error Database::unreadable_log(const fs::path& path, const core::Error& error) const {
  const std::string log = path.string() + "-wal";
  const bool lacks_index = (sqlite3_errcode(handle_.get()) & 0xFF) == SQLITE_CANTOPEN;
  if (!lacks_index || !is_readable(path) || !is_readable(log)) return error;
  return core::Error{
      fmt::format("{}: its last rows are in {}, which can be read only where its folder may be "
                  "written; copy both files to a folder of your own, or have somebody who may "
                  "write there run 'assay store list' on it, which takes the rows into the store",
                  path.string(), log)};
}

// If SQLite may write, it removes its own files beside the store when it is done. On a read-only
// disk it can use those that are there; if there are none, the store file holds everything.
core::Status Database::connect_to_read(const fs::path& path) {
  const core::Status tidy = connect(path.string(), SQLITE_OPEN_READWRITE);
  if (tidy.ok() && sqlite3_db_readonly(handle_.get(), "main") == 0) {
    return execute("PRAGMA query_only = 1");
  }
  core::Status shared = connect(path.string(), SQLITE_OPEN_READONLY);
  if (shared.ok()) return shared;
  if (has_log(path)) return unreadable_log(path, shared.error());
  return connect(immutable_uri(path.string()), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

core::Result<Database> Database::open(const fs::path& path, Store::Mode mode) {
  ASSAY_TRY(check_path(path, mode));
  Database database;
  database.name_ = std::make_unique<std::string>(path.string());
  if (mode == Store::Mode::kRead) {
    ASSAY_TRY(database.connect_to_read(path));
  } else {
    const int create = mode == Store::Mode::kCreate ? SQLITE_OPEN_CREATE : 0;
    ASSAY_TRY(database.connect(path.string(), SQLITE_OPEN_READWRITE | create));
    if (sqlite3_db_readonly(database.handle_.get(), "main") != 0) {
      return core::Error{path.string() + ": the store may not be written"};
    }
  }
  ASSAY_TRY(database.check_size(path));
  return database;
}

// Refuses a file that was cut off, whose missing part SQLite would take for zeros.
core::Status Database::check_size(const fs::path& path) const {
  if (has_log(path)) return {};
  // The order matters, as another process may be making the file longer.
  const std::int64_t pages = ASSAY_TRY(number("PRAGMA page_count"));
  const std::int64_t page_bytes = ASSAY_TRY(number("PRAGMA page_size"));
  std::error_code unknown;
  const auto size = fs::file_size(path, unknown);
  if (unknown || has_log(path) || size >= static_cast<std::uint64_t>(pages * page_bytes)) return {};
  return core::Error{fmt::format("{}: {} (it has {} bytes of {})", *name_, advice(SQLITE_CORRUPT),
                                 size, pages * page_bytes)};
}

core::Status Database::execute(const std::string& sql) const {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return error_of(*name_, handle_.get());
}

// Two processes that make the same store at once would each wait for the other's lock. SQLite sees
// that and fails immediately, whatever sqlite3_busy_timeout() says, so this waits by itself.
core::Status Database::use_log() const {
  constexpr int kPauseMs = 10;
  int code = SQLITE_BUSY;
  for (int waited_ms = 0; waited_ms < kBusyMs; waited_ms += kPauseMs) {
    code = sqlite3_exec(handle_.get(), "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return {};
    if ((code & 0xFF) != SQLITE_BUSY) break;
    sqlite3_sleep(kPauseMs);
  }
  return error_of(*name_, handle_.get());
}

core::Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return error_of(*name_, handle_.get());
  return Statement(statement, *name_);
}

core::Result<std::int64_t> Database::number(std::string_view sql) const {
  Statement statement = ASSAY_TRY(prepare(sql));
  const bool found = ASSAY_TRY(statement.step());
  return found ? statement.integer(0) : 0;
}

core::Result<Transaction> Transaction::begin(const Database& database) {
  // IMMEDIATE waits for its turn now, rather than failing at the first write.
  ASSAY_TRY(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  if (database_ == nullptr) return;
  // This fails harmlessly where SQLite has rolled back by itself, as after a full disk.
  const core::Status undone = database_->execute("ROLLBACK");
  static_cast<void>(undone);
}

core::Status Transaction::commit() {
  ASSAY_TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

core::Result<Database> Database::from_bytes(const std::string& name, std::string_view bytes) {
  auto image = image_of_size(bytes.size());
  if (!image.ok()) return image.error().context(name);
  std::copy(bytes.begin(), bytes.end(), image.value().bytes.get());
  return from_image(name, std::move(image).value());
}

core::Result<Database> Database::unpack(const std::string& name, std::string_view packed) {
  auto image = unpacked(packed);
  if (!image.ok()) return image.error().context(name);
  return from_image(name, std::move(image).value());
}

core::Result<Database> Database::from_image(const std::string& name, SqliteImage image) {
  Database database;
  database.name_ = std::make_unique<std::string>(name);
  ASSAY_TRY(database.connect(":memory:", SQLITE_OPEN_READWRITE));
  const auto size = static_cast<sqlite3_int64>(image.size);
  // SQLite frees the bytes, also when this fails.
  const int code =
      sqlite3_deserialize(database.handle_.get(), "main", image.bytes.release(), size, size,
                          SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE);
  if (code != SQLITE_OK) {
    return core::Error{fmt::format("{}: cannot be opened in memory ({})", name,
                                   sqlite3_errmsg(database.handle_.get()))};
  }
  return database;
}

}  // namespace assay::store
