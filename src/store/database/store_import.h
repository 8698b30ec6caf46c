// Takes perf files into a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "store/database/store.h"

namespace assay::store {

// Gives a file as it is, and for a folder all files in it and below it that look like perf tables,
// in the order of their paths. A folder without any is an error.
core::Result<std::vector<std::filesystem::path>> find_perf_files(
    const std::filesystem::path& file_or_folder);

struct ImportedFile {
  enum class Outcome { kImported, kKnown, kEmpty, kFailed };  // kEmpty: no usable row

  std::filesystem::path path;
  Outcome outcome = Outcome::kFailed;
  std::string table = {};
  std::int64_t rows = 0;
  model::Warnings repairs = {};
  std::string note = {};  // why it failed or is empty, or the file that had the same content
};

class Importer {
 public:
  using OpenStore = std::function<core::Result<Store*>()>;

  static core::Result<Importer> into(Store& store);

  // Imports into a store that does not exist yet: `open` makes it for the first file that can be
  // read, so that files which cannot be read leave no empty store.
  static Importer into_new(OpenStore open) { return Importer(std::move(open)); }

  // A bad file is an outcome. An error is one of the store, into which nothing more can be written.
  core::Result<ImportedFile> import(const std::filesystem::path& path);

 private:
  explicit Importer(OpenStore open) : open_(std::move(open)) {}

  OpenStore open_;
  std::map<std::string, std::string> known_;  // hash of a file's content -> its path
};

}  // namespace assay::store
