// A recording in, a schedule with its notes out: what `assay goal generate` does.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "goal/generate.h"
#include "goal/input.h"
#include "goal/scale.h"
#include "goal/window.h"
#include "model/table.h"

namespace assay::goal {

enum class ScheduleFormat { kText, kBinary };

// How text is laid out: one file, or a file a rank as the public generator's workers write them.
enum class TextFiles { kOne, kParts, kOneAndParts };

// kV2: the graph of the public generator, of which goal/compat_v2/compat_v2.h tells.
enum class Compat { kNone, kV2 };

struct FilesRequest {
  std::filesystem::path input;
  std::filesystem::path output;  // a folder; made when missing
  InputOptions input_options;
  GenerateOptions generate;
  Compat compat = Compat::kNone;  // kV2 takes streams, threads and "decimal:I/C" of `generate`
  Costs costs;
  Window window;
  ScaleOptions scale;
  ScheduleFormat format = ScheduleFormat::kText;
  TextFiles text_files = TextFiles::kOne;
  std::string generator;  // the program's name and version, for the notes
};

struct FilesResult {
  model::Book summary;
  model::Warnings warnings;
  std::vector<std::filesystem::path> written;
};

// Writes OUTPUT/output.goal or output.bin and output.notes.json, or rank_<N>.goal. Files appear
// only when the schedule is whole and proven.
core::Result<FilesResult> generate_files(const FilesRequest& request);

}  // namespace assay::goal
