// Rank 0's part, which leads all ranks through a cell.
#pragma once

#include <functional>

#include "allreduce/bench/protocol.h"
#include "allreduce/worker/rank.h"
#include "allreduce/worker/team.h"

namespace assay::allreduce {

class Leader {
 public:
  using Say = std::function<void(const WorkerMessage&)>;

  Leader(Team& team, Rank& rank, Say say) : team_(team), rank_(rank), say_(std::move(say)) {}

  // Joins the memories of the ranks. The error names the rank.
  core::Status connect();
  // Reports a result for each strategy.
  void run(const CellRequest& request);
  void quit();

  // Has all ranks carry out an order; returns their answers.
  std::vector<Answer> all(const Order& order);
  // Returns the worst answer, which stands for all, with its rank's number in the message.
  Answer worst(const std::vector<Answer>& answers) const;

 private:
  struct Arm {
    Strategy strategy;
    std::uint64_t checksum = 0;
    std::int64_t calls = 1;
    std::int64_t memory_bytes = 0;
  };

  core::Result<Arm> check(const CellRequest& request, Strategy strategy);
  core::Result<std::int64_t> calls_for(const CellRequest& request, Strategy strategy);
  core::Result<double> slowest(const Order& order);
  core::Status make_ready(const CellRequest& request, const Arm& arm);
  core::Status time(const CellRequest& request, const std::vector<Arm>& arms);
  void finish(const CellRequest& request, const Arm& arm, Measurement measurement);
  void fail(const CellRequest& request,
            Strategy strategy,
            Outcome outcome,
            const std::string& reason);
  [[nodiscard]] static Order order_for(const CellRequest& request,
                                       Order::Kind kind,
                                       Strategy strategy);

  Team& team_;
  Rank& rank_;
  Say say_;
};

}  // namespace assay::allreduce
