// What assay needs of MPI, in a library of its own (libassay_mpi.so): programs that open it while
// they run need no MPI otherwise. Functions return 0 or an error code of MPI, whose text
// `error_text` gives. A group is the first `ranks` ranks of the job.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::collect::mpi {

enum class Element : std::int32_t { kByte, kInt8, kFloat32 };

struct Functions {
  int (*start)(int* rank, int* size);
  void (*stop)();
  int (*local_rank)(int* rank);  // among the ranks of this host; all ranks call it
  void (*error_text)(int error, char* text, std::size_t bytes);
  // Of all ranks, from and to rank 0.
  int (*broadcast)(void* data, std::size_t bytes);
  int (*gather)(const void* own, void* all, std::size_t bytes);
  // Collective over the group; others must not call them.
  int (*barrier)(int ranks);
  int (*all_reduce)(const void* in, void* out, std::size_t count, Element element, int ranks);
  // Counts are those of one rank's part.
  int (*all_gather)(const void* in, void* out, std::size_t count, Element element, int ranks);
  int (*reduce_scatter)(const void* in, void* out, std::size_t count, Element element, int ranks);
  int (*all_to_all)(const void* in, void* out, std::size_t count, Element element, int ranks);
  // To the next rank and from the previous one.
  int (*shift)(const void* in, void* out, std::size_t count, Element element, int ranks);
};

inline constexpr const char* kLibrary = "libassay_mpi.so";
inline constexpr const char* kSymbol = "assay_mpi_functions";  // const Functions* ()

}  // namespace assay::collect::mpi
