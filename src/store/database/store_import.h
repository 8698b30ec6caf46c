// Perf files into a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "store/database/store.h"

namespace assay::store {

// A file as it is; of a folder and those below it all files that look like perf tables, in the
// order of their paths. An error when there is none.
core::Result<std::vector<std::filesystem::path>> find_perf_files(
    const std::filesystem::path& file_or_folder);

struct ImportedFile {
  enum class Outcome { kImported, kKnown, kFailed };

  std::filesystem::path path;
  Outcome outcome = Outcome::kFailed;
  std::string table = {};
  std::int64_t rows = 0;
  model::Warnings repairs = {};
  std::string note = {};  // why it failed, or as which file it is known
};

class Importer {
 public:
  static core::Result<Importer> into(Store& store);

  // A bad file is an outcome; an error is one of the store, after which nothing more will fit in.
  core::Result<ImportedFile> import(const std::filesystem::path& path);

 private:
  explicit Importer(Store& store) : store_(&store) {}

  Store* store_;
  std::map<std::string, std::string> known_;  // hash of a file's content -> its path
};

}  // namespace assay::store
