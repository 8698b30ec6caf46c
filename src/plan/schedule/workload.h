// What clients ask of an engine: requests with their lengths, and how they come.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"

namespace assay::plan {

// What options and files say may be so many at most. Products of these and of GPUs stay within 64
// bits, far above what any model or cluster takes.
inline constexpr std::int64_t kMostTokens = 100'000'000;  // of a prompt, an answer or a step
inline constexpr std::int64_t kMostRequests = 1'000'000;  // in flight, or of a run

struct Request {
  double arrival_ms = 0;  // not read in a closed loop
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  // The pieces of its prompt that others may share, in Workload::pieces; none by default.
  std::size_t first_piece = 0;
  std::size_t pieces = 0;
};

// Names of pieces of prompts are below this.
inline constexpr std::uint64_t kPieceNames = std::uint64_t{1} << 63;

// A request that is a turn of a conversation: its prompt is all that was said before and what is
// new, and it comes when the one before it has been answered and the user has thought.
struct Turn {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::int64_t number = 1;  // in its conversation, from 1
  // Turns of one client follow each other, and go to the same instance, whose cache has them.
  std::size_t client = 0;
  std::size_t next = kNone;       // the request that follows when this one has ended
  bool follows = false;           // another request; else it comes at its arrival_ms
  double delay_ms = 0;            // from the end of the request that it follows
  std::size_t answer_pieces = 0;  // of its prompt and its answer together, behind its prompt's
};

struct Workload {
  std::vector<Request> requests = {};  // by arrival
  // Requests in flight in a closed loop, as serving benchmarks with a greatest concurrency have
  // it: the first ones arrive at once, each other one when one ends. 0: by their arrival times.
  std::int64_t concurrency = 0;
  // Names of pieces of prompts, piece_tokens long each: two prompts whose first n names are equal
  // have n · piece_tokens equal tokens, whose cache they can share. Request traces name theirs by
  // hashes.
  std::vector<std::uint64_t> pieces = {};
  std::int64_t piece_tokens = 0;

  // One for each request, or none where all come by themselves.
  std::vector<Turn> turns = {};

  [[nodiscard]] bool follows(std::size_t request) const {
    return !turns.empty() && turns[request].follows;
  }

  // By whom requests are shared among equal instances: each by itself, or a client's together.
  [[nodiscard]] std::size_t client_of(std::size_t request) const {
    return turns.empty() ? request : turns[request].client;
  }

  [[nodiscard]] std::span<const std::uint64_t> pieces_of(const Request& request) const {
    return std::span(pieces).subspan(request.first_piece, request.pieces);
  }
};

// How long prompts or outputs are.
struct Lengths {
  enum class Kind : std::uint8_t {
    kFixed,      // tokens
    kUniform,    // in [ratio · tokens, tokens], which benchmarks call random-range-ratio
    kLognormal,  // with the mean `tokens` and the deviation ratio · tokens
  };
  Kind kind = Kind::kFixed;
  double tokens = 0;
  double ratio = 0;
  std::int64_t most = 0;  // longer ones are cut; 0: none is
};

// How requests come.
struct Arrivals {
  enum class Kind : std::uint8_t {
    kClosedLoop,  // `concurrency` in flight
    kGamma,       // gamma distributed gaps; a burstiness of 1 is a Poisson process
    kConstant,    // equal gaps
  };
  Kind kind = Kind::kClosedLoop;
  std::int64_t concurrency = 1;
  double per_second = 0;
  double burstiness = 1;  // the shape of the gamma distribution: below 1 in bursts, above 1 evenly
};

struct WorkloadSpec {
  std::int64_t requests = 0;
  Lengths prompt;
  Lengths output;
  Arrivals arrivals;
  // The first tokens of every prompt that are one of `prefixes` texts, taken in turn. Prompts are
  // at least this long.
  std::int64_t prefix_tokens = 0;
  std::int64_t prefixes = 1;
  std::uint64_t seed = 0;
};

class Random;

// The shortest length of those that are drawn between a share of `tokens` and them, and their mean.
double least_tokens(double tokens, double share);
double mean_tokens(double tokens, double share);

std::int64_t draw_tokens(const Lengths& lengths, Random& random);

// What is wrong with them; `of` names them.
core::Status check_lengths(const Lengths& lengths, const char* of);

// The same spec gives the same requests on every machine.
core::Result<Workload> make_workload(const WorkloadSpec& spec);

// What is wrong with a workload: no requests, lengths below 1, arrivals out of order, names of
// pieces that are not there or too large, turns that follow nothing.
core::Status check_workload(const Workload& workload);

}  // namespace assay::plan
