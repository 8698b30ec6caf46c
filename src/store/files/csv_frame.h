// Frames as comma-separated text: a line of names, then a line a row. Much faster than
// core/csv.h, which makes a string of every field.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "model/warnings.h"
#include "store/files/frame.h"

namespace assay::store {

struct CsvFrameOptions {
  // Columns that stay text even where every field reads as a number: version "2.20" is not 2.2.
  std::vector<std::string> text_columns = {};
  // Of a text that has no line of names.
  std::vector<std::string> header = {};
};

// A column is whole numbers if all its fields are, else doubles if all are, else text; an empty
// field is a missing value. Fields may be quoted as in RFC 4180.
//
// Counted in `warnings`: a last line that breaks off (dropped), a last line without its end
// (kept), names repeated between rows (dropped), as joined files have them. Errors, with the line:
// another number of fields than names, a quote never closed, a name used twice, no names.
core::Result<Frame> read_csv_frame(std::string_view text,
                                   model::Warnings& warnings,
                                   const CsvFrameOptions& options = {});

// Doubles in the shortest form that reads back as the same number, with a point or exponent.
std::string write_csv_frame(const Frame& frame);

}  // namespace assay::store
