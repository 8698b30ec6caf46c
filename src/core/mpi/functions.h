// The functions of MPI that assay uses, in a library of their own (libassay_mpi.so). Programs open
// it while they run, so that they do not need MPI otherwise. The functions return 0 or an error
// code of MPI; `error_text` returns its text. A group consists of the first `ranks` ranks of the
// job.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::core::mpi {

enum class Element : std::int32_t { kByte, kInt8, kFloat32 };

struct Functions {
  int (*start)(int* rank, int* size);
  void (*stop)();
  int (*local_rank)(int* rank);  // the rank among those of this host; all ranks must call it
  void (*error_text)(int error, char* text, std::size_t bytes);
  // All ranks must call them. Rank 0 sends the broadcast and receives what is gathered.
  int (*broadcast)(void* data, std::size_t bytes);
  int (*gather)(const void* own, void* all, std::size_t bytes);
  // All ranks of the group must call them, and no others.
  int (*barrier)(int ranks);
  int (*all_reduce)(const void* in, void* out, std::size_t count, Element element, int ranks);
  // Counts are those of one rank's part.
  int (*all_gather)(const void* in, void* out, std::size_t count, Element element, int ranks);
  int (*reduce_scatter)(const void* in, void* out, std::size_t count, Element element, int ranks);
  int (*all_to_all)(const void* in, void* out, std::size_t count, Element element, int ranks);
  // Sends to one rank, or takes from one rank what it sent with this tag. Both return when the data
  // are on their way, and until then use the processor. `arrived` tells whether there is something
  // to take, without waiting.
  int (*send)(const void* data, std::size_t bytes, int to, int tag);
  int (*receive)(void* data, std::size_t bytes, int from, int tag);
  int (*arrived)(int from, int tag, int* yes);
  // Sends to the next rank and receives from the previous one.
  int (*shift)(const void* in, void* out, std::size_t count, Element element, int ranks);
};

inline constexpr const char* kLibrary = "libassay_mpi.so";
inline constexpr const char* kSymbol = "assay_mpi_functions";  // const Functions* ()

}  // namespace assay::core::mpi
