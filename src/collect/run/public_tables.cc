#include "collect/run/public_tables.h"

#include <array>
#include <set>
#include <string_view>

#include "store/files/perf_file.h"

namespace assay::collect {
namespace {

namespace fs = std::filesystem;

struct SecondName {
  std::string_view table;
  const char* file;
};

constexpr std::array<SecondName, 2> kSecondNames = {
    {{"nccl_perf", "comm_perf.txt"}, {"custom_allreduce_perf", "custom_all_reduce.txt"}}};

std::vector<fs::path> files_of(const std::string& table, const fs::path& folder) {
  std::vector<fs::path> files = {folder / (table + ".txt")};
  for (const SecondName& second : kSecondNames) {
    if (second.table == table) files.push_back(folder / second.file);
  }
  return files;
}

}  // namespace

core::Result<std::vector<fs::path>> write_public_tables(const store::Store& store,
                                                        const fs::path& folder) {
  std::set<std::string> tables;
  for (const store::Content& content : ASSAY_TRY(store.list()))
    tables.insert(content.table);
  std::vector<fs::path> files;
  for (const std::string& table : tables) {
    const store::Frame frame =
        ASSAY_TRY(store.table({.table = table}, store::Store::Columns::kPublic));
    for (const fs::path& file : files_of(table, folder)) {
      ASSAY_TRY(store::write_perf_file(table, frame, {}, file));
      files.push_back(file);
    }
  }
  return files;
}

}  // namespace assay::collect
