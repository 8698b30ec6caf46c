// Reads NCCL's own log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING,COLL), the only place
// where a stock NCCL tells its rings and trees.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/byte_source.h"
#include "core/result.h"
#include "model/job.h"
#include "model/warnings.h"

namespace assay::goal {

struct LoggedRank {
  std::string host;
  std::int64_t process_id = 0;
  std::int32_t device = -1;
  std::int32_t local_rank = -1;                    // rank on its node; -1 if not logged
  std::vector<model::ChannelLinks> channels = {};  // links of this rank, by channel
};

// NCCL's choice for a call: "AllReduce: 67108864 Bytes -> Algo RING proto SIMPLE
// channel{Lo..Hi}={0..23}". Only rank 0 of the communicator logs choices; they are in the order of
// its log.
struct LoggedChoice {
  model::NcclFunction function = model::NcclFunction::kAllReduce;
  model::NcclAlgorithm algorithm = model::NcclAlgorithm::kNone;
  model::NcclProtocol protocol = model::NcclProtocol::kNone;
  std::uint64_t bytes = 0;
  std::uint32_t first_channel = 0;
  std::uint32_t last_channel = 0;
};

struct LoggedCommunicator {
  std::string name;  // commId, "0x6cbe2a2b243598bd"
  std::uint32_t num_ranks = 0;
  std::uint32_t num_nodes = 0;  // 0 if not logged
  std::uint64_t p2p_chunk_bytes = 0;
  std::map<std::int32_t, LoggedRank> ranks = {};
  std::vector<LoggedChoice> choices = {};
};

// A choice whose communicator the log does not tell: with TUNING alone, processes that are rank 0
// of several communicators do not say which one a line is about.
struct UntiedChoice {
  std::string host;
  std::int64_t process_id = 0;
  LoggedChoice choice;
};

struct NcclLog {
  std::vector<LoggedCommunicator> communicators = {};
  std::vector<UntiedChoice> untied = {};
  std::string nccl_version;
};

// Reads the logs of any number of processes, mixed or one per file. Ignores lines of other
// programs.
core::Result<NcclLog> read_nccl_logs(const std::vector<std::filesystem::path>& files,
                                     model::Warnings& warnings);

// The same for one log, which warnings call `name`.
core::Result<NcclLog> read_nccl_log(core::ByteSource& log,
                                    const std::string& name,
                                    model::Warnings& warnings);

// Returns the node of each rank of a communicator: the name of its host or, where NCCL saw more
// nodes than hosts (NCCL_HOSTID), "host/0", "host/1", … by NCCL's numbering of the ranks of a node.
std::map<std::int32_t, std::string> logged_nodes(const LoggedCommunicator& communicator);

// Returns the host of such a node. A host has one clock.
std::string host_of_node(const std::string& node);

bool is_nccl_log(const std::filesystem::path& file);

// Sets the channels of communicators that have none, where the log knows their name. Ranks that the
// log lacks are taken from the other members of a ring, or counted in the warnings.
void add_topology(const NcclLog& log, model::Job& job);

}  // namespace assay::goal
