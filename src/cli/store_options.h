// The options that commands on stores share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "model/table.h"
#include "store/database/store_export.h"

namespace assay::cli {

inline const Choices<store::FileFormat> kPerfFormats{{"csv", store::FileFormat::kCsv},
                                                     {"parquet", store::FileFormat::kParquet}};
inline const Choices<store::Labels> kLabelNames{{"new", store::Labels::kNew},
                                                {"old", store::Labels::kOld}};
inline const Choices<store::FileNames> kFileNames{{"public", store::FileNames::kPublic},
                                                  {"readme", store::FileNames::kReadme}};

// Returns a text such as "the store to read, or the name of a shipped database: h200_sxm".
std::string store_help(const std::string& what);

// Returns the names of the shipped databases, which completion offers for a store or a system.
std::vector<std::string> shipped_words();

// Returns the names of the tables that are known, which completion offers.
std::vector<std::string> table_words();

// Declares STORE, for store::open_to_read(), as a required argument.
Option* add_store_option(App& app, std::filesystem::path& store);

// Fails for the name of a shipped database, because nothing may be written into it. A file with
// that name must be given as a path.
core::Status refuse_shipped_output(const std::filesystem::path& store);

// Declares --framework, --framework-version, --device-name, --l2 and --points.
void add_rows_options(App& app, store::Selection& rows);

// Declares --l2.
Option* add_l2_option(App& app, std::optional<model::L2State>& l2);

model::Table written_table(const std::vector<store::WrittenFile>& written);

model::Table left_out_table(const std::string& title, const std::vector<store::LeftOut>& left_out);

// `note` stands below the notes of the table itself; empty for none.
model::Table power_table(const std::vector<store::PowerFit>& power, const std::string& note);

}  // namespace assay::cli
