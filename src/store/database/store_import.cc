#include "store/database/store_import.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/files.h"
#include "core/interrupt.h"
#include "core/text.h"
#include "store/database/collection_meta.h"
#include "store/database/store_key.h"
#include "store/database/store_schema.h"
#include "store/files/perf_file.h"

namespace assay::store {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kEndings{".parquet", ".txt", ".csv"};

// Recognises "gemm_perf.txt", and the all-reduce table of the public collector's introduction.
bool looks_like_table(const fs::path& path) {
  const std::string stem = path.stem().string();
  const bool perf = stem.size() > 5 && (stem.ends_with("_perf") || stem.ends_with("_perf_others"));
  const bool ending =
      std::find(kEndings.begin(), kEndings.end(), path.extension().string()) != kEndings.end();
  return ending && (perf || stem == "custom_all_reduce");
}

core::Status collect_files(const fs::path& folder, std::vector<fs::path>& files) {
  ASSAY_TRY(core::check_interrupt());
  const std::vector<fs::path> names = ASSAY_TRY(core::list_directory(folder));
  for (const fs::path& name : names) {
    const fs::path path = folder / name;
    if (core::is_folder(path)) {
      // Links are not followed, as they may lead in a circle.
      std::error_code code;
      if (!fs::is_symlink(path, code)) ASSAY_TRY(collect_files(path, files));
    } else if (looks_like_table(name)) {
      files.push_back(path);
    }
  }
  return {};
}

std::string hash_of(std::string_view content) {
  return fmt::format("fnv1a64:{:016x}:{}", stable_hash(content), content.size());
}

// The device of all rows, or "" if they differ.
std::string device_of(const Frame& frame) {
  const FrameColumn* column = frame.find("device");
  if (column == nullptr || column->size() == 0) return "";
  const auto* text = std::get_if<TextColumn>(&column->values);
  if (text == nullptr) return "";
  const std::set<std::uint32_t> codes(text->codes.begin(), text->codes.end());
  return codes.size() == 1 ? text->words[*codes.begin()] : "";
}

std::string why_without_rows(const model::Warnings& repairs) {
  std::vector<std::string> reasons;
  for (const model::Warning& one : repairs.all())
    reasons.push_back(one.sentence());
  if (reasons.empty()) return "a table without rows";
  return "no row can be used: " + core::join(reasons, "; ");
}

}  // namespace

core::Result<std::vector<fs::path>> find_perf_files(const fs::path& file_or_folder) {
  if (!core::is_folder(file_or_folder)) return std::vector<fs::path>{file_or_folder};
  std::vector<fs::path> files;
  ASSAY_TRY(collect_files(file_or_folder, files));
  if (!files.empty()) return files;
  return core::Error{fmt::format(
      "{}: no perf tables in this folder or below it (files *_perf.txt, .csv or .parquet)",
      file_or_folder.string())};
}

core::Result<Importer> Importer::into(Store& store) {
  Importer importer([&store] { return core::Result<Store*>(&store); });
  const std::vector<StoredRun> runs = ASSAY_TRY(store.runs());
  for (const StoredRun& stored : runs) {
    const auto& facts = stored.run.facts;
    const auto hash = facts.find("file_hash");
    const auto file = facts.find("file");
    if (hash == facts.end() || file == facts.end()) continue;
    importer.known_.emplace(hash->second, file->second);
  }
  return importer;
}

core::Result<ImportedFile> Importer::import(const fs::path& path) {
  ImportedFile result{.path = path};
  const auto fail = [&](const core::Error& error) {
    const bool named = error.message.find(path.string()) != std::string::npos;
    result.note = named ? error.message : error.context(path.string()).message;
    return result;
  };
  const auto content = core::read_file(path);
  if (!content.ok()) return fail(content.error());
  const std::string hash = hash_of(content.value());
  if (const auto known = known_.find(hash); known != known_.end()) {
    result.outcome = ImportedFile::Outcome::kKnown;
    result.note = known->second;
    return result;
  }
  const auto file = parse_perf_file(content.value(), path, result.repairs);
  ASSAY_TRY(core::check_interrupt());
  if (!file.ok()) return fail(file.error());
  const core::Status usable = check_rows(file.value().rows);
  if (!usable.ok()) return fail(usable.error());
  if (file.value().rows.num_rows() == 0) {
    result.outcome = ImportedFile::Outcome::kEmpty;
    result.table = file.value().table;
    result.note = path.string() + ": " + why_without_rows(result.repairs);
    return result;
  }
  Run run{.kind = "import",
          .started_at = utc_now(),
          .device = device_of(file.value().rows),
          .plan_hash = "",
          .facts = {}};
  const fs::path meta = path.parent_path() / kCollectionMetaName;
  if (core::is_regular_file(meta)) {
    const auto facts = read_collection_meta(meta, file.value().table);
    if (!facts.ok()) return fail(facts.error());
    run.facts = facts.value();
  }
  run.facts["file"] = path.string();
  run.facts["file_hash"] = hash;
  Store* store = ASSAY_TRY(open_());
  const auto known = ASSAY_TRY(store->append_file(run, file.value().table, file.value().rows));
  known_.emplace(hash, known.value_or(path.string()));
  if (known) {
    result.outcome = ImportedFile::Outcome::kKnown;
    result.note = *known;
    return result;
  }
  result.outcome = ImportedFile::Outcome::kImported;
  result.table = file.value().table;
  result.rows = static_cast<std::int64_t>(file.value().rows.num_rows());
  return result;
}

}  // namespace assay::store
