// The few functions of CUDA's driver that timing needs, opened while the program runs. Names and
// signatures are those of NVIDIA's "CUDA Driver API" of CUDA 12 and 13; handles are pointers.
#pragma once

#include <cstddef>

#include "core/result.h"

namespace assay::collect::driver {

using Handle = void*;

struct Functions {
  int (*event_create)(Handle*, unsigned flags) = nullptr;
  int (*event_destroy)(Handle) = nullptr;
  int (*event_record)(Handle event, Handle stream) = nullptr;
  int (*event_elapsed_ms)(float*, Handle from, Handle to) = nullptr;
  int (*graph_create)(Handle*, unsigned flags) = nullptr;
  int (*graph_destroy)(Handle) = nullptr;
  int (*add_event)(Handle* node, Handle graph, const Handle*, std::size_t, Handle event) = nullptr;
  int (*add_child)(Handle* node, Handle graph, const Handle*, std::size_t, Handle child) = nullptr;
  int (*instantiate)(Handle*, Handle graph, unsigned long long flags) = nullptr;
  int (*launch)(Handle, Handle stream) = nullptr;
  int (*executable_destroy)(Handle) = nullptr;
  int (*stream_synchronize)(Handle) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
};

// Error: no driver, or one that lacks a function.
core::Result<const Functions*> functions();

core::Status status(const Functions& of, int code, const char* doing);

}  // namespace assay::collect::driver
