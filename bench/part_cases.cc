#include <simdjson.h>

#include <memory>

#include "cases.h"
#include "core/byte_source.h"
#include "trace/pipelines/reduce.h"
#include "trace/reader/event_cutter.h"
#include "trace/reader/reader.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kGigabyteMb = 1000;

// Returns the CPU seconds of `work`.
template <class WorkToTime>
core::Result<double> timed(const WorkToTime& work) {
  const double start = cpu_seconds();
  ASSAY_TRY(work());
  return cpu_seconds() - start;
}

core::Result<trace::ReducedRun> reduce(const fs::path& input, const trace::Keep& keep) {
  core::Progress silent("", core::Progress::Show::kNever);
  const fs::path inputs[] = {input};
  const trace::Request defaults;
  return trace::reduce_files(inputs, defaults, keep, silent);
}

// Covers reading, analysis and tables; writes no file.
core::Result<Usage> individual_tables(Inputs& inputs) {
  const fs::path path = ASSAY_TRY(inputs.trace(60));
  return measure_work([&] {
    return timed([&]() -> core::Status {
      const trace::ReducedRun run = ASSAY_TRY(reduce(path, {.individual = true}));
      return {};
    });
  });
}

core::Result<Usage> collective_tables(Inputs& inputs) {
  const fs::path path = ASSAY_TRY(inputs.many_collectives("ctas_default"));
  return measure_work([&]() -> core::Result<double> {
    const trace::ReducedRun run = ASSAY_TRY(reduce(path, {.communication = true}));
    return timed([&]() -> core::Status {
      const trace::CollectiveBook book = trace::collective_book(run);
      return {};
    });
  });
}

core::Result<Usage> read_collectives(Inputs& inputs) {
  const fs::path path = ASSAY_TRY(inputs.many_collectives("ctas_default"));
  return measure_work([&] {
    return timed([&]() -> core::Status {
      const trace::ReducedRun run = ASSAY_TRY(reduce(path, {.communication = true}));
      const trace::CollectiveBook book = trace::collective_book(run);
      return {};
    });
  });
}

core::Result<Usage> read_whole(const fs::path& path) {
  return measure_work([&] {
    return timed([&]() -> core::Status {
      const model::Trace trace = ASSAY_TRY(trace::read_trace(path));
      return {};
    });
  });
}

core::Result<Usage> read_gigabyte(Inputs& inputs) {
  return read_whole(ASSAY_TRY(inputs.trace(kGigabyteMb)));
}

core::Result<Usage> read_compressed_gigabyte(Inputs& inputs) {
  return read_whole(ASSAY_TRY(inputs.compressed_trace(kGigabyteMb)));
}

core::Result<Usage> read_bytes(const fs::path& path) {
  return measure_work([&] {
    return timed([&]() -> core::Status {
      const std::unique_ptr<core::ByteSource> source = ASSAY_TRY(core::open_bytes(path));
      std::vector<char> buffer(1 << 20);
      while (ASSAY_TRY(source->read(buffer.data(), buffer.size())) > 0) {
      }
      return {};
    });
  });
}

core::Result<Usage> read_plain_bytes(Inputs& inputs) {
  return read_bytes(ASSAY_TRY(inputs.trace(kGigabyteMb)));
}

core::Result<Usage> inflate_bytes(Inputs& inputs) {
  return read_bytes(ASSAY_TRY(inputs.compressed_trace(kGigabyteMb)));
}

// Cuts the gigabyte into events and passes each batch, in brackets, to `consume`.
template <class Consume>
core::Result<Usage> cut_gigabyte(Inputs& inputs, const Consume& consume) {
  const fs::path path = ASSAY_TRY(inputs.trace(kGigabyteMb));
  return measure_work([&] {
    return timed([&]() -> core::Status {
      const std::unique_ptr<core::ByteSource> source = ASSAY_TRY(core::open_bytes(path));
      bool sound = true;
      const trace::CutDocument document =
          trace::cut_events(*source, [&](const trace::EventBatch& batch) {
            batch.text[-1] = '[';
            batch.text[batch.size] = ']';
            sound = consume(batch.text - 1, batch.size + 2) && sound;
          });
      if (!sound || !document.found_events) return core::Error{"the scan failed"};
      return {};
    });
  });
}

core::Result<Usage> cut_only(Inputs& inputs) {
  return cut_gigabyte(inputs, [](const char*, std::size_t) { return true; });
}

// Runs simdjson's first stage, which finds every token and checks that the text is UTF-8.
core::Result<Usage> cut_and_index(Inputs& inputs) {
  simdjson::ondemand::parser parser;
  return cut_gigabyte(inputs, [&](const char* text, std::size_t size) {
    return parser.iterate(text, size, size + simdjson::SIMDJSON_PADDING).error() ==
           simdjson::SUCCESS;
  });
}

core::Result<Usage> cut_and_parse_all(Inputs& inputs) {
  simdjson::dom::parser parser;
  return cut_gigabyte(inputs, [&](const char* text, std::size_t size) {
    return parser.parse(text, size, /*realloc_if_needed=*/false).error() == simdjson::SUCCESS;
  });
}

}  // namespace

std::vector<Case> part_cases() {
  return {
      {"individual report, 60 MB, reading+analysis", individual_tables, Target{0.3, 150}, 60},
      {"collectives, 9000 x 8 ranks, reading+tables", read_collectives, Target{1.0}},
      {"  collectives: tables alone", collective_tables},
      {"reading 1 GB", read_gigabyte, Target{3.0, 400}, kGigabyteMb},
      {"reading 1 GB from gzip", read_compressed_gigabyte, std::nullopt, kGigabyteMb},
      {"  1 GB: read() alone", read_plain_bytes, std::nullopt, kGigabyteMb},
      {"  1 GB: inflating alone", inflate_bytes, std::nullopt, kGigabyteMb},
      {"  1 GB: cutting into events", cut_only, std::nullopt, kGigabyteMb},
      {"  1 GB: cutting, simdjson token index", cut_and_index, std::nullopt, kGigabyteMb},
      {"  1 GB: cutting, simdjson parsing everything", cut_and_parse_all, std::nullopt,
       kGigabyteMb},
  };
}

}  // namespace assay::bench
