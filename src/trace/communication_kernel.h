// The GPU kernels that move data between GPUs or wait for other GPUs, told by their names: those of
// NCCL and RCCL, the expert-parallel libraries, symmetric memory, and the all-reduces that serving
// engines bring along.
//
// To add one, add a line to kKernels in communication_kernel.cc; the first line that fits a name
// decides. All sheets and commands that tell communication from computation ask here.
#pragma once

#include <optional>
#include <string_view>

#include "trace/options.h"

namespace assay::trace {

// What NCCL's kernel of sends, receives and all-to-alls communicates: its name tells no more.
inline constexpr std::string_view kSendOrReceive = "sendrecv";

// What a kernel communicates: PyTorch's name of the collective where it is one ("allreduce"), else
// a word such as "dispatch", "combine", "notify" or "barrier", or "" where the kernel's name does
// not say it. std::nullopt: the kernel does not communicate. Mangled names are known as well. The
// public tool knows fewer names (kTraceLens).
std::optional<std::string_view> communication_of(std::string_view kernel_name,
                                                 Compat compat = Compat::kNone);

// Returns PyTorch's name of the floating-point type that a kernel of NCCL or RCCL reduces, told by
// the kernel's name; "" where that does not tell it.
std::string_view communicated_type(std::string_view kernel_name);

}  // namespace assay::trace
