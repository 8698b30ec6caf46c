// The parts of a step have the same colours on every surface (M. Okabe and K. Ito, 2008).
#pragma once

#include "report/colors.h"

namespace assay::trace {

inline constexpr report::Color kComputationColor = report::color_of(0x0072b2);
inline constexpr report::Color kCommunicationColor = report::color_of(0xe69f00);
inline constexpr report::Color kCopyColor = report::color_of(0x009e73);
inline constexpr report::Color kIdleColor = report::color_of(0xbbbbbb);

}  // namespace assay::trace
