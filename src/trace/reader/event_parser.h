// Parses batches of events with simdjson and hands them to a TraceBuilder.
#pragma once

#include <cstdint>
#include <memory>

#include "model/warnings.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/trace_builder.h"

namespace assay::trace {

class EventParser {
 public:
  EventParser(TraceBuilder& builder, model::Warnings& warnings);
  ~EventParser();

  void parse(const EventBatch& batch);

  [[nodiscard]] std::uint64_t event_count() const { return next_uid_; }

 private:
  struct Simdjson;

  // Parses a batch as one document. Returns how many events it parsed before the first invalid one.
  std::size_t parse_together(const EventBatch& batch);
  void parse_alone(std::string_view event);
  bool repair_and_parse(std::string_view event);

  TraceBuilder& builder_;
  model::Warnings& warnings_;
  std::uint32_t next_uid_ = 0;
  std::unique_ptr<Simdjson> simdjson_;
};

}  // namespace assay::trace
