// Questions as the C interface has them.
#pragma once

#include <assay/assay.h>

#include <vector>

#include "core/result.h"
#include "store/answers/column_query.h"

namespace assay::library {

using QuestionColumns = std::vector<store::QuestionColumn>;

// The columns refer to the caller's memory. Fails where the structure's size says that it lacks
// members, where they are null, or one has no name, has not
// either numbers or texts, or is given twice.
core::Result<QuestionColumns> question_columns(const assay_questions& questions);

}  // namespace assay::library
