// libassay_mpi.so: implements core/mpi/functions.h with the MPI that it was built with.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "core/mpi/functions.h"

namespace assay::core::mpi {
namespace {

int g_rank = 0;
std::map<int, MPI_Comm> g_groups;

MPI_Datatype type_of(Element element) {
  switch (element) {
    case Element::kInt8:
      return MPI_INT8_T;
    case Element::kFloat32:
      return MPI_FLOAT;
    case Element::kByte:
      break;
  }
  return MPI_BYTE;
}

int start(int* rank, int* size) {
  int provided = 0;
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided)) {
    return error;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  *rank = g_rank;
  return MPI_Comm_size(MPI_COMM_WORLD, size);
}

void stop() {
  for (auto& [ranks, group] : g_groups)
    MPI_Comm_free(&group);
  g_groups.clear();
  MPI_Finalize();
}

int local_rank(int* rank) {
  MPI_Comm host = MPI_COMM_NULL;
  const int error =
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  if (error != 0) return error;
  MPI_Comm_rank(host, rank);
  return MPI_Comm_free(&host);
}

void error_text(int error, char* text, std::size_t bytes) {
  char whole[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(error, whole, &length);
  const std::size_t used = std::min(bytes - 1, static_cast<std::size_t>(length));
  std::memcpy(text, whole, used);
  text[used] = '\0';
}

// Only the ranks of the group create its communicator, at the first use.
MPI_Comm group_of(int ranks) {
  const auto known = g_groups.find(ranks);
  if (known != g_groups.end()) return known->second;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int range[1][3] = {{0, ranks - 1, 1}};
  MPI_Group_range_incl(all, 1, range, &some);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_create_group(MPI_COMM_WORLD, some, ranks, &made);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  return g_groups[ranks] = made;
}

int broadcast(void* data, std::size_t bytes) {
  return MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
}

int gather(const void* own, void* all, std::size_t bytes) {
  const int count = static_cast<int>(bytes);
  return MPI_Gather(own, count, MPI_BYTE, all, count, MPI_BYTE, 0, MPI_COMM_WORLD);
}

int barrier(int ranks) {
  return MPI_Barrier(group_of(ranks));
}

int all_reduce(const void* in, void* out, std::size_t count, Element element, int ranks) {
  return MPI_Allreduce(in, out, static_cast<int>(count), type_of(element), MPI_SUM,
                       group_of(ranks));
}

int all_gather(const void* in, void* out, std::size_t count, Element element, int ranks) {
  const MPI_Datatype type = type_of(element);
  const int part = static_cast<int>(count);
  return MPI_Allgather(in, part, type, out, part, type, group_of(ranks));
}

int reduce_scatter(const void* in, void* out, std::size_t count, Element element, int ranks) {
  return MPI_Reduce_scatter_block(in, out, static_cast<int>(count), type_of(element), MPI_SUM,
                                  group_of(ranks));
}

int all_to_all(const void* in, void* out, std::size_t count, Element element, int ranks) {
  const MPI_Datatype type = type_of(element);
  const int part = static_cast<int>(count);
  return MPI_Alltoall(in, part, type, out, part, type, group_of(ranks));
}

int send(const void* data, std::size_t bytes, int to, int tag) {
  return MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

int receive(void* data, std::size_t bytes, int from, int tag) {
  return MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
}

int arrived(int from, int tag, int* yes) {
  return MPI_Iprobe(from, tag, MPI_COMM_WORLD, yes, MPI_STATUS_IGNORE);
}

int shift(const void* in, void* out, std::size_t count, Element element, int ranks) {
  const MPI_Datatype type = type_of(element);
  const int whole = static_cast<int>(count);
  return MPI_Sendrecv(in, whole, type, (g_rank + 1) % ranks, 0, out, whole, type,
                      (g_rank + ranks - 1) % ranks, 0, group_of(ranks), MPI_STATUS_IGNORE);
}

constexpr Functions kFunctions = {start,      stop,    local_rank, error_text, broadcast,
                                  gather,     barrier, all_reduce, all_gather, reduce_scatter,
                                  all_to_all, send,    receive,    arrived,    shift};

}  // namespace
}  // namespace assay::core::mpi

extern "C" __attribute__((visibility("default"))) const assay::core::mpi::Functions*
assay_mpi_functions() {
  return &assay::core::mpi::kFunctions;
}
