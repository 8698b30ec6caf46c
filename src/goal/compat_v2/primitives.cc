#include "goal/compat_v2/primitives.h"

#include <algorithm>
#include <tuple>

namespace assay::goal::compat_v2 {
namespace {

using model::NcclProtocol;

constexpr std::uint64_t kGrainBytes = 16;
// A slice has at least this part of what it may have.
constexpr std::uint64_t kLeastSlicePart = 32;
constexpr std::uint64_t kLlGrainBytes = 8;
// NVLink as the generator sees it: 150 GB/s, half of it charged to each side.
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
