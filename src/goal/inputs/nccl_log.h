// What NCCL's own log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING,COLL) says about the
// communicators: the only place where a stock NCCL tells its rings and trees.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "model/job.h"
#include "model/warnings.h"

namespace assay::goal {

struct LoggedRank {
  std::string host;
  std::int64_t process_id = 0;
  std::int32_t device = -1;
  std::int32_t local_rank = -1;                    // on its node; -1 if not logged
  std::vector<model::ChannelLinks> channels = {};  // this rank's own links, by channel
};

// "AllReduce: 67108864 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..23}", in the order of
// the log of the communicator's rank 0, which alone writes it.
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

struct NcclLog {
  std::vector<LoggedCommunicator> communicators = {};
  std::string nccl_version;
};

// Logs of any number of processes, mixed or one a file; lines of others are passed over.
core::Result<NcclLog> read_nccl_logs(const std::vector<std::filesystem::path>& files,
                                     model::Warnings& warnings);

// The node of each rank of a communicator: the host's name; where NCCL saw more nodes than hosts
// (NCCL_HOSTID), "host/0", "host/1", … by NCCL's numbering of the ranks of a node.
std::map<std::int32_t, std::string> logged_nodes(const LoggedCommunicator& communicator);

bool is_nccl_log(const std::filesystem::path& file);

// Gives every communicator of the job that has no channels those that the log knows by its name.
// Ranks that the log lacks are taken from a ring's other members, or counted in the warnings.
void add_topology(const NcclLog& log, model::Job& job);

}  // namespace assay::goal
