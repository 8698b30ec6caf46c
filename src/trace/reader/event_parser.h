// Parses batches of events with simdjson and hands on each event.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "model/warnings.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/raw_event.h"

namespace assay::trace {

// Receives an event, its position in traceEvents, and its JSON text, repaired where it was invalid.
// All of these are gone after the call.
using OnEvent =
    std::function<void(const RawEvent& event, std::uint32_t uid, std::string_view text)>;

class EventParser {
 public:
  EventParser(OnEvent on_event, model::Warnings& warnings);
  ~EventParser();

  void parse(const EventBatch& batch);

  [[nodiscard]] std::uint64_t event_count() const { return next_uid_; }

 private:
  struct Simdjson;

  // Parses a batch as one document. Returns how many events it parsed before the first invalid one.
  std::size_t parse_together(const EventBatch& batch);
  void parse_alone(std::string_view event);
  bool repair_and_parse(std::string_view event);

  OnEvent on_event_;
  model::Warnings& warnings_;
  std::uint32_t next_uid_ = 0;
  std::unique_ptr<Simdjson> simdjson_;
};

}  // namespace assay::trace
