// A store's file in memory, out of its zstd frame.
#include <fmt/core.h>
#include <zstd.h>

#include <memory>
#include <utility>

#include "store/database/store_database.h"
#include "store/database/store_state.h"

namespace assay::store {
namespace {

struct FreeBySqlite {
  void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
};

using SqliteBytes = std::unique_ptr<unsigned char, FreeBySqlite>;

struct Image {
  SqliteBytes bytes;
  std::size_t size = 0;
};

core::Result<Image> unpack(std::string_view packed) {
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size == 0) {
    return core::Error{"not a store packed by zstd"};
  }
  Image image{.bytes = SqliteBytes(static_cast<unsigned char*>(sqlite3_malloc64(size))),
              .size = static_cast<std::size_t>(size)};
  if (!image.bytes) return core::Error{fmt::format("{} bytes of memory cannot be had", size)};
  const std::size_t length =
      ZSTD_decompress(image.bytes.get(), image.size, packed.data(), packed.size());
  if (ZSTD_isError(length) != 0) {
    return core::Error{fmt::format("damaged (zstd: {})", ZSTD_getErrorName(length))};
  }
  if (length != image.size) return core::Error{"it unpacks to another size than it says"};
  return image;
}

}  // namespace

core::Result<Database> Database::unpack(const std::string& name, std::string_view packed) {
  auto image = store::unpack(packed);
  if (!image.ok()) return image.error().context(name);
  Database database;
  database.name_ = std::make_unique<std::string>(name);
  ASSAY_TRY(database.connect(":memory:", SQLITE_OPEN_READWRITE));
  const auto size = static_cast<sqlite3_int64>(image.value().size);
  // Frees the bytes also when it fails.
  const int code =
      sqlite3_deserialize(database.handle_.get(), "main", image.value().bytes.release(), size, size,
                          SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE);
  if (code != SQLITE_OK) {
    return core::Error{fmt::format("{}: cannot be opened in memory ({})", name,
                                   sqlite3_errmsg(database.handle_.get()))};
  }
  return database;
}

core::Result<Store> Store::unpack(const std::string& name, std::string_view packed) {
  Database database = ASSAY_TRY(Database::unpack(name, packed));
  ASSAY_TRY(prepare_schema(database, Mode::kRead));
  return Store(std::make_unique<State>(std::move(database)));
}

}  // namespace assay::store
