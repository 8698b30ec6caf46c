// Makes schedules of known shape in memory, for tests and benchmarks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/schedule.h"
#include "model/schedule_writer.h"

namespace assay::simulate::testing {

// Returns the bytes of a schedule whose ranks `fill` makes, one after another.
inline std::vector<char> schedule_bytes(
    std::uint32_t num_ranks,
    const std::function<void(std::uint32_t rank, model::RankBuilder&)>& fill) {
  std::vector<model::RankImage> images;
  model::RankBuilder builder;
  for (std::uint32_t rank = 0; rank < num_ranks; ++rank) {
    fill(rank, builder);
    images.push_back(builder.finish());
  }
  return model::binary_schedule(images);
}

inline model::Schedule make_schedule(
    std::uint32_t num_ranks,
    const std::function<void(std::uint32_t rank, model::RankBuilder&)>& fill) {
  return model::Schedule::from_bytes(schedule_bytes(num_ranks, fill), "made in memory").value();
}

struct Ring {
  std::uint32_t num_ranks = 2;
  std::uint32_t steps = 1;  // messages per rank; 2 (num_ranks - 1) for an all-reduce
  std::uint64_t bytes = 1;
  std::uint32_t channels = 1;  // each on a CPU of its own; all on NIC 0
  std::uint64_t calc_ns = 0;   // work between a receive and the next send; 0: no such operation
  std::uint32_t rounds = 1;    // messages of a channel, one after another
};

// Each rank sends to the next rank, in every step, what it received in the step before. All
// messages of a channel have the same tag.
inline void fill_ring(const Ring& ring, std::uint32_t rank, model::RankBuilder& builder) {
  const std::uint32_t next = (rank + 1) % ring.num_ranks;
  const std::uint32_t previous = (rank + ring.num_ranks - 1) % ring.num_ranks;
  for (std::uint32_t channel = 0; channel < ring.channels; ++channel) {
    const model::Place place{.cpu = static_cast<std::uint8_t>(channel)};
    std::uint32_t last = UINT32_MAX;
    for (std::uint32_t step = 0; step < ring.steps * ring.rounds; ++step) {
      const std::uint32_t send = builder.send(ring.bytes, next, channel, place);
      const std::uint32_t receive = builder.receive(ring.bytes, previous, channel, place);
      if (last != UINT32_MAX) {
        builder.require_finish(send, last);
        builder.require_finish(receive, last);
      }
      last = receive;
      if (ring.calc_ns == 0) continue;
      last = builder.calc(ring.calc_ns, place);
      builder.require_finish(last, receive);
    }
  }
}

// A binomial tree from rank 0: in round k every rank below 2^k sends to the rank 2^k above it.
inline void fill_tree(std::uint32_t num_ranks,
                      std::uint64_t bytes,
                      std::uint32_t rank,
                      model::RankBuilder& builder) {
  std::uint32_t round = 1;
  std::uint32_t receive = UINT32_MAX;
  if (rank > 0) {
    while (round * 2 <= rank)
      round *= 2;
    receive = builder.receive(bytes, rank - round, 0, {});
    round *= 2;
  }
  for (; rank + round < num_ranks; round *= 2) {
    const std::uint32_t send = builder.send(bytes, rank + round, 0, {});
    if (receive != UINT32_MAX) builder.require_finish(send, receive);
  }
}

// Every rank sends to the rank 2^k after it in round k; the next round waits for both the send and
// the receive.
inline void fill_dissemination(std::uint32_t num_ranks,
                               std::uint64_t bytes,
                               std::uint32_t rank,
                               model::RankBuilder& builder) {
  std::uint32_t last_send = UINT32_MAX;
  std::uint32_t last_receive = UINT32_MAX;
  for (std::uint32_t step = 1; step < num_ranks; step *= 2) {
    const std::uint32_t send = builder.send(bytes, (rank + step) % num_ranks, step, {});
    const std::uint32_t receive =
        builder.receive(bytes, (rank + num_ranks - step) % num_ranks, step, {});
    if (last_send != UINT32_MAX) {
      for (const std::uint32_t op : {send, receive}) {
        builder.require_finish(op, last_send);
        builder.require_finish(op, last_receive);
      }
    }
    last_send = send;
    last_receive = receive;
  }
}

// Every rank sends to all others, nearest first, and receives from all; nothing waits for anything.
inline void fill_all_to_all(std::uint32_t num_ranks,
                            std::uint64_t bytes,
                            std::uint32_t rank,
                            model::RankBuilder& builder) {
  for (std::uint32_t step = 1; step < num_ranks; ++step) {
    builder.send(bytes, (rank + step) % num_ranks, 0, {});
    builder.receive(bytes, (rank + num_ranks - step) % num_ranks, 0, {});
  }
}

inline model::Schedule ring(const Ring& shape) {
  return make_schedule(shape.num_ranks, [&](std::uint32_t rank, model::RankBuilder& builder) {
    fill_ring(shape, rank, builder);
  });
}

inline model::Schedule tree(std::uint32_t num_ranks, std::uint64_t bytes) {
  return make_schedule(num_ranks, [&](std::uint32_t rank, model::RankBuilder& builder) {
    fill_tree(num_ranks, bytes, rank, builder);
  });
}

inline model::Schedule dissemination(std::uint32_t num_ranks, std::uint64_t bytes) {
  return make_schedule(num_ranks, [&](std::uint32_t rank, model::RankBuilder& builder) {
    fill_dissemination(num_ranks, bytes, rank, builder);
  });
}

inline model::Schedule all_to_all(std::uint32_t num_ranks, std::uint64_t bytes) {
  return make_schedule(num_ranks, [&](std::uint32_t rank, model::RankBuilder& builder) {
    fill_all_to_all(num_ranks, bytes, rank, builder);
  });
}

}  // namespace assay::simulate::testing
