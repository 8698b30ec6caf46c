// Whether the notes beside a schedule fit it.
#pragma once

#include "goal/findings.h"
#include "model/schedule.h"
#include "model/schedule_notes.h"

namespace assay::goal {

void check_notes(const model::Schedule& schedule,
                 const model::ScheduleNotes& notes,
                 Findings& findings);

}  // namespace assay::goal
