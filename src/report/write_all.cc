#include "report/book.h"

namespace assay::report {
namespace {

// Not replace_extension(): a stem such as "run.2024" has no extension to lose.
std::filesystem::path with_suffix(std::filesystem::path stem, const char* suffix) {
  stem += suffix;
  return stem;
}

}  // namespace

core::Status write_all(const model::Book& book, const std::filesystem::path& stem) {
  ASSAY_TRY(write_xlsx(book, with_suffix(stem, ".xlsx")));
  ASSAY_TRY(write_json(book, with_suffix(stem, ".json")));
  return write_csv_folder(book, with_suffix(stem, "_csvs"));
}

}  // namespace assay::report
