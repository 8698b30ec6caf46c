// The format that the JSON writer and its reader share:
//
//   {"format":"assay-book","version":1,"title":"…","tables":[
//     {"name":"…","title":"…","notes":["…"],
//      "style":{"visibility":"visible|hidden","color_scales":["…"],"excel_table":false},
//      "columns":[{"name":"…","unit":"…","better":"lower|higher|neither","description":"…"}],
//      "rows":[[1,2.0,"text",true,null]]}]}
//
// Numbers with a point or an exponent are doubles, others are integers; NaN, infinities and empty
// cells are null. A reader accepts keys in any order and ignores unknown ones.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/table.h"

namespace assay::report::json_format {

inline constexpr std::string_view kName = "assay-book";
inline constexpr std::int64_t kVersion = 1;

constexpr std::string_view name_of(model::Better better) {
  switch (better) {
    case model::Better::kLower:
      return "lower";
    case model::Better::kHigher:
      return "higher";
    case model::Better::kNeither:
      break;
  }
  return "neither";
}

constexpr std::string_view name_of(model::Visibility visibility) {
  return visibility == model::Visibility::kHidden ? "hidden" : "visible";
}

}  // namespace assay::report::json_format
