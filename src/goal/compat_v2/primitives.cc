#include "goal/compat_v2/primitives.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

namespace assay::goal::compat_v2 {
namespace {

// Returns a number in [0, 1) that depends on nothing but its arguments (splitmix64).
double uniform(std::uint64_t seed, std::uint64_t draw) {
  std::uint64_t x = seed + (draw + 1) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  x ^= x >> 31U;
  return static_cast<double>(x >> 11U) * 0x1p-53;
}

// Returns a normally distributed number (Box and Muller's transform).
double gauss(std::uint64_t seed, std::uint64_t draw) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(seed, draw)));
  return radius * std::cos(2 * std::numbers::pi * uniform(~seed, draw));
}

double at_point(const CostCurve::Point& point, const CostChoice& choice, std::uint64_t draw) {
  if (choice.kind == CostChoice::Kind::kMean || point.sorted_ns.empty()) return point.mean_ns;
  const double quantile =
      choice.kind == CostChoice::Kind::kSample ? uniform(choice.seed, draw) : choice.quantile;
  const auto size = static_cast<double>(point.sorted_ns.size());
  const auto index = static_cast<std::size_t>(std::clamp(quantile * size, 0.0, size - 1));
  return point.sorted_ns[index];
}

double between(const CostCurve::Point& low,
               const CostCurve::Point& high,
               double bytes,
               const CostChoice& choice,
               std::uint64_t draw) {
  const double slope = (high.mean_ns - low.mean_ns) / (high.bytes - low.bytes);
  const double mean = slope * (bytes - low.bytes) + low.mean_ns;
  constexpr double kNoise = 0.01;
  if (choice.kind != CostChoice::Kind::kSample) return mean;
  return mean + mean * kNoise * gauss(choice.seed, draw);
}

}  // namespace

std::uint64_t duration_ns(const CostCurve& curve,
                          const CostChoice& choice,
                          std::uint64_t bytes,
                          std::uint64_t draw) {
  const auto& points = curve.points();
  if (points.empty()) return 0;
  const auto size = static_cast<double>(bytes);
  const auto above =
      std::lower_bound(points.begin(), points.end(), size,
                       [](const CostCurve::Point& point, double x) { return point.bytes < x; });
  double duration = 0;
  if (above == points.end()) {
    duration = at_point(points.back(), choice, draw);
  } else if (above == points.begin() || above->bytes == size) {
    duration = at_point(*above, choice, draw);
  } else {
    duration = between(*(above - 1), *above, size, choice, draw);
  }
  // The generator rounds towards zero.
  return static_cast<std::uint64_t>(std::max(duration, 0.0));
}

namespace {

using model::NcclProtocol;

constexpr std::uint64_t kGrainBytes = 16;
// A slice has at least this fraction of its largest size.
constexpr std::uint64_t kLeastSlicePart = 32;
constexpr std::uint64_t kLlGrainBytes = 8;
// The generator's figure for NVLink is 150 GB/s, and it charges half of a transfer to each side.
constexpr std::uint64_t kIntraNodeBytesPerNs = 300;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

Ends GraphWriter::Fork::join() {
  const std::uint32_t end = writer_.graph_.calc(0, place_);
  for (std::size_t i = base_; i < writer_.open_.size(); ++i)
    writer_.graph_.require_finish(end, writer_.open_[i]);
  writer_.open_.resize(base_);
  return {start_, end};
}

Ends GraphWriter::calc(std::uint64_t duration_ns) {
  const std::uint32_t op = graph_.calc(duration_ns, place_);
  return {op, op};
}

Ends GraphWriter::receive(const Link& link, std::uint64_t bytes) {
  const std::uint32_t op = graph_.receive(link.same_node ? 0 : bytes, link.peer, tag(link), place_);
  if (!link.same_node) return {op, op};
  const std::uint32_t transfer = graph_.calc(bytes / kIntraNodeBytesPerNs, place_);
  graph_.require_finish(transfer, op);
  return {op, transfer};
}

Ends GraphWriter::send(const Link& link, std::uint64_t bytes) {
  const std::uint32_t op = graph_.send(link.same_node ? 0 : bytes, link.peer, tag(link), place_);
  if (!link.same_node) return {op, op};
  const std::uint32_t transfer = graph_.calc(bytes / kIntraNodeBytesPerNs, place_);
  graph_.require_finish(transfer, op);
  return {op, transfer};
}

Ends GraphWriter::atom(const Primitive& primitive, std::uint64_t bytes, NcclProtocol protocol) {
  ++num_atoms_;
  Ends chain;
  bool started = false;
  const auto append = [&](const Ends& part) {
    if (started) graph_.require_finish(part.first, chain.last);
    chain = {started ? chain.first : part.first, part.last};
    started = true;
  };
  if (primitive.from != nullptr) append(receive(*primitive.from, bytes));
  if (primitive.reduce || primitive.copy) {
    std::uint64_t duration_ns = 0;
    if (primitive.reduce) duration_ns += durations_.reduce_ns(protocol, bytes);
    if (primitive.copy) duration_ns += durations_.copy_ns(protocol, bytes);
    append(calc(duration_ns));
  }
  if (primitive.to != nullptr) append(send(*primitive.to, bytes));
  return chain;
}

Ends GraphWriter::slices(const Primitive& primitive, std::uint64_t bytes, const Slicing& slicing) {
  const std::uint64_t even = divide_up(bytes, kGrainBytes * slicing.slices_per_chunk) * kGrainBytes;
  const std::uint64_t slice = std::max(even, slicing.slice_bytes / kLeastSlicePart);
  Fork fork(*this);
  std::uint64_t offset = 0;
  for (std::uint64_t n = 0; n < slicing.slices_per_chunk && offset < bytes; ++n) {
    const std::uint64_t size = std::min(slice, bytes - offset);
    fork.add(atom(primitive, size, slicing.protocol));
    offset += size;
  }
  return fork.join();
}

Ends GraphWriter::pieces(const Primitive& primitive, std::uint64_t bytes, const Slicing& slicing) {
  const std::uint64_t piece = slicing.slice_bytes;
  if (piece == 0 || bytes / piece <= 1) return atom(primitive, bytes, slicing.protocol);
  Fork fork(*this);
  for (std::uint64_t offset = 0; offset < bytes; offset += piece)
    fork.add(atom(primitive, std::min(piece, bytes - offset), slicing.protocol));
  return fork.join();
}

Ends GraphWriter::primitive(const Primitive& primitive,
                            std::uint64_t bytes,
                            const Slicing& slicing) {
  if (slicing.protocol != NcclProtocol::kSimple) {
    return atom(primitive, divide_up(bytes, kLlGrainBytes) * kLlGrainBytes, slicing.protocol);
  }
  if (slicing.slices_per_chunk == 0) return pieces(primitive, bytes, slicing);
  Slicing with_default = slicing;
  if (with_default.slice_bytes == 0) with_default.slice_bytes = bytes;
  return slices(primitive, bytes, with_default);
}

MostMessages GraphWriter::most_messages() const {
  MostMessages most;
  const auto look = [&](const Numbers& numbers, bool sends) {
    for (const auto& [key, count] : numbers) {
      const auto peer = static_cast<std::uint32_t>(key >> 32U);
      const auto context = static_cast<std::uint32_t>(key);
      const std::uint64_t messages = count;
      if (std::tuple(messages, sends, peer, context) >
          std::tuple(most.count, most.sends, most.peer, most.context)) {
        most = {messages, peer, context, sends};
      }
    }
  };
  look(sends_, true);
  look(receives_, false);
  return most;
}

}  // namespace assay::goal::compat_v2
