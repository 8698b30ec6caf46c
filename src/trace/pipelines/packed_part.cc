#include "trace/pipelines/packed_part.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace assay::trace {
namespace {

using collectives::RankRecording;
using core::Packer;
using core::Unpacker;
using path::RankWorks;

// Differences of neighbours are small. They may overflow where times are damaged, so they wrap.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// A position, or none.
void pack_position(std::uint32_t position, Packer& packer) {
  packer.add(position == path::kNone ? 0 : std::int64_t{position} + 1);
}

std::uint32_t unpack_position(std::size_t end, Unpacker& unpacker) {
  const auto position = unpacker.below<std::uint64_t>(end + 1);
  return position == 0 ? path::kNone : static_cast<std::uint32_t>(position - 1);
}

// Unpacks a list that has the number of its items before it.
template <class UnpackItem>
auto unpack_list(Unpacker& unpacker, const UnpackItem& unpack_item) {
  std::vector<decltype(unpack_item(unpacker))> items;
  for (std::size_t left = unpacker.count(); left > 0 && !unpacker.failed(); --left)
    items.push_back(unpack_item(unpacker));
  return items;
}

std::string unpack_text(Unpacker& unpacker) {
  return unpacker.text();
}

void pack(const model::Warnings& warnings, Packer& packer) {
  packer.add(warnings.all().size());
  for (const model::Warning& warning : warnings.all()) {
    packer.add(warning.reason);
    packer.add(warning.effect);
    packer.add(warning.example);
    packer.add(warning.count);
    packer.add(warning.gpu_ms);
  }
}

model::Warnings unpack_warnings(Unpacker& unpacker) {
  model::Warnings warnings;
  for (std::size_t left = unpacker.count(); left > 0 && !unpacker.failed(); --left) {
    const std::string reason = unpacker.text();
    const std::string effect = unpacker.text();
    const std::string example = unpacker.text();
    const auto count = unpacker.integer();
    warnings.add(reason, effect, example, count, unpacker.real());
  }
  return warnings;
}

void pack(const RankFacts& facts, Packer& packer) {
  packer.add(facts.rank);
  packer.add(facts.path);
  packer.add(facts.gpu_name);
  packer.add(facts.world_size);
  packer.add(facts.truncated);
  packer.add(facts.damage);
  packer.add(facts.counts_anything);
  packer.add(facts.leaked_kernels);
  packer.add(facts.outside_kernels);
  packer.add(facts.is_foreign);
  pack(facts.warnings, packer);
}

RankFacts unpack_facts(Unpacker& unpacker) {
  RankFacts facts;
  facts.rank = unpacker.integer<int>();
  facts.path = unpacker.text();
  facts.gpu_name = unpacker.text();
  facts.world_size = unpacker.integer<int>();
  facts.truncated = unpacker.integer() != 0;
  facts.damage = unpacker.text();
  facts.counts_anything = unpacker.integer() != 0;
  facts.leaked_kernels = unpacker.integer();
  facts.outside_kernels = unpacker.integer();
  facts.is_foreign = unpacker.integer() != 0;
  facts.warnings = unpack_warnings(unpacker);
  const bool is_rank = facts.rank >= 0 && facts.rank <= model::kHighestRank &&
                       facts.world_size >= 0 && facts.world_size <= model::kHighestRank + 1;
  if (!is_rank) unpacker.reject();
  return facts;
}

enum class CellKind : std::uint8_t { kEmpty, kBool, kInteger, kReal, kText, kEnd };

struct CellPacker {
  Packer& packer;

  void kind(CellKind value) const { packer.add(static_cast<int>(value)); }

  void operator()(std::monostate) const { kind(CellKind::kEmpty); }

  void operator()(bool value) const {
    kind(CellKind::kBool);
    packer.add(value);
  }

  void operator()(std::int64_t value) const {
    kind(CellKind::kInteger);
    packer.add(value);
  }

  void operator()(double value) const {
    kind(CellKind::kReal);
    packer.add(value);
  }

  void operator()(const std::string& value) const {
    kind(CellKind::kText);
    packer.add(value);
  }
};

void pack(const std::vector<model::Cell>& cells, Packer& packer) {
  packer.add(cells.size());
  for (const model::Cell& cell : cells)
    std::visit(CellPacker{packer}, cell);
}

model::Cell unpack_cell(Unpacker& unpacker) {
  switch (static_cast<CellKind>(unpacker.below(static_cast<std::size_t>(CellKind::kEnd)))) {
    case CellKind::kBool:
      return unpacker.integer() != 0;
    case CellKind::kInteger:
      return unpacker.integer();
    case CellKind::kReal:
      return unpacker.real();
    case CellKind::kText:
      return unpacker.text();
    default:
      return {};
  }
}

void pack(const std::vector<std::string>& texts, Packer& packer) {
  packer.add(texts.size());
  for (const std::string& text : texts)
    packer.add(text);
}

// Of a table's looks only what the JSON of reports has, too: nothing else is read of these tables.
void pack(const model::Table& table, Packer& packer) {
  packer.add(table.name);
  packer.add(table.title);
  packer.add(table.columns.size());
  for (const model::Column& column : table.columns) {
    packer.add(column.name);
    packer.add(column.unit);
    packer.add(static_cast<int>(column.better));
    packer.add(column.description);
  }
  pack(table.cells, packer);
  packer.add(table.style.visibility == model::Visibility::kHidden);
  pack(table.style.color_scales, packer);
  packer.add(table.style.excel_table);
  pack(table.notes, packer);
}

model::Column unpack_column(Unpacker& unpacker) {
  model::Column column;
  column.name = unpacker.text();
  column.unit = unpacker.text();
  column.better = static_cast<model::Better>(unpacker.below(3));
  column.description = unpacker.text();
  return column;
}

model::Table unpack_table(Unpacker& unpacker) {
  model::Table table;
  table.name = unpacker.text();
  table.title = unpacker.text();
  table.columns = unpack_list(unpacker, unpack_column);
  table.cells = unpack_list(unpacker, unpack_cell);
  const bool is_hidden = unpacker.integer() != 0;
  table.style.visibility = is_hidden ? model::Visibility::kHidden : model::Visibility::kVisible;
  table.style.color_scales = unpack_list(unpacker, unpack_text);
  table.style.excel_table = unpacker.integer() != 0;
  table.notes = unpack_list(unpacker, unpack_text);
  const bool fits =
      table.columns.empty() ? table.cells.empty() : table.cells.size() % table.columns.size() == 0;
  if (!fits) unpacker.reject();
  return table;
}

void pack(const model::Book& book, Packer& packer) {
  packer.add(book.title);
  packer.add(book.tables.size());
  for (const model::Table& table : book.tables)
    pack(table, packer);
}

model::Book unpack_book(Unpacker& unpacker) {
  model::Book book;
  book.title = unpacker.text();
  book.tables = unpack_list(unpacker, unpack_table);
  return book;
}

void pack(const collectives::Catalog& catalog, Packer& packer) {
  packer.add(catalog.size());
  for (collectives::MetadataId id = 0; id < catalog.size(); ++id) {
    const collectives::Metadata& metadata = catalog[id];
    for (const model::TextId text : {metadata.name, metadata.dtype, metadata.group_name,
                                     metadata.group_ranks, metadata.in_split, metadata.out_split})
      packer.add(catalog.text(text));
    packer.add(metadata.in_elements);
    packer.add(metadata.out_elements);
    packer.add(metadata.group_size);
  }
}

// Entries are distinct and in the order of their ids, so that interning them makes the same ids.
void unpack_catalog(Unpacker& unpacker, collectives::Catalog& catalog) {
  const std::size_t count = unpacker.count();
  for (std::size_t id = 0; id < count && !unpacker.failed(); ++id) {
    collectives::Metadata metadata;
    for (auto text : {&collectives::Metadata::name, &collectives::Metadata::dtype,
                      &collectives::Metadata::group_name, &collectives::Metadata::group_ranks,
                      &collectives::Metadata::in_split, &collectives::Metadata::out_split})
      metadata.*text = catalog.text_id(unpacker.text());
    metadata.in_elements = unpacker.integer();
    metadata.out_elements = unpacker.integer();
    metadata.group_size = unpacker.integer<std::int32_t>();
    if (!unpacker.failed() && catalog.intern(metadata) != id) unpacker.reject();
  }
}

void pack(const RankRecording& recording, Packer& packer) {
  packer.add(recording.compat == Compat::kTraceLens);
  packer.add(recording.rank);
  packer.add(recording.world_size);
  packer.add(recording.devices_listed);
  packer.add(recording.device);
  packer.add(recording.time.origin_ns);
  packer.add(recording.time.units_per_us);
  packer.add(recording.overlap_percent);
  pack(recording.catalog, packer);
  packer.add(recording.events.size());
  std::int64_t before_ns = 0;
  for (const collectives::Event& event : recording.events) {
    packer.add(event.start);
    packer.add(event.end);
    packer.add(event.duration_us);
    packer.add(difference(event.start_ns, std::exchange(before_ns, event.start_ns)));
    packer.add(event.metadata);
    packer.add(event.stream);
    packer.add(event.channels);
    packer.add(event.threads);
    packer.add(event.peer_rank);
  }
}

RankRecording unpack_recording(Unpacker& unpacker) {
  const Compat compat = unpacker.integer() != 0 ? Compat::kTraceLens : Compat::kNone;
  RankRecording recording{
      .compat = compat, .time = {}, .catalog = collectives::Catalog(compat, 0), .events = {}};
  recording.rank = unpacker.integer<int>();
  recording.world_size = unpacker.integer<int>();
  recording.devices_listed = unpacker.integer<int>();
  recording.device = unpacker.integer<int>();
  recording.time.origin_ns = unpacker.integer();
  recording.time.units_per_us = unpacker.real();
  recording.overlap_percent = unpacker.real();
  unpack_catalog(unpacker, recording.catalog);
  const std::size_t count = unpacker.count();
  recording.events.reserve(count);
  std::int64_t before_ns = 0;
  for (std::size_t i = 0; i < count && !unpacker.failed(); ++i) {
    collectives::Event event;
    event.start = unpacker.real();
    event.end = unpacker.real();
    event.duration_us = unpacker.real();
    event.start_ns = before_ns = sum(before_ns, unpacker.integer());
    event.metadata = unpacker.below<collectives::MetadataId>(recording.catalog.size());
    event.stream = unpacker.integer<std::int32_t>();
    event.channels = unpacker.integer<std::uint32_t>();
    event.threads = unpacker.integer<std::uint32_t>();
    event.peer_rank = unpacker.integer<std::int32_t>();
    recording.events.push_back(event);
  }
  return recording;
}

void pack(const path::Work& work, const path::Work& before, Packer& packer) {
  const bool is_launch_known = work.launched_ns != path::kUnknownTime;
  packer.add(difference(work.start_ns, before.start_ns));
  packer.add(difference(work.end_ns, work.start_ns));
  packer.add(is_launch_known);
  if (is_launch_known) packer.add(difference(work.start_ns, work.launched_ns));
  packer.add(work.kernel);
  packer.add(work.lane);
  packer.add(difference(work.event, before.event));
  pack_position(work.join, packer);
  packer.add(static_cast<int>(work.kind));
}

path::Work unpack_work(const RankWorks& of,
                       const path::Work& before,
                       std::size_t events,
                       Unpacker& unpacker) {
  path::Work work;
  work.start_ns = sum(before.start_ns, unpacker.integer());
  work.end_ns = sum(work.start_ns, unpacker.integer());
  const bool is_launch_known = unpacker.integer() != 0;
  if (is_launch_known) work.launched_ns = difference(work.start_ns, unpacker.integer());
  work.kernel = unpacker.below<std::uint32_t>(of.kernels.size());
  work.lane = unpacker.below<std::uint32_t>(of.lanes.size());
  work.event = static_cast<std::uint32_t>(sum(before.event, unpacker.integer()));
  work.join = unpack_position(events, unpacker);
  work.kind = static_cast<GpuWork>(unpacker.below(3));
  return work;
}

void pack(const RankWorks& works, Packer& packer) {
  packer.add(works.rank);
  packer.add(works.kernels.size());
  for (const RankWorks::LocalKernel& kernel : works.kernels) {
    packer.add(kernel.name);
    packer.add(kernel.category);
    packer.add(kernel.operator_name);
    packer.add(kernel.blocks);
    packer.add(kernel.threads);
    pack_position(kernel.collective, packer);
  }
  packer.add(works.lanes.size());
  for (const path::Lane& lane : works.lanes) {
    packer.add(lane.device);
    packer.add(lane.stream);
  }
  packer.add(works.steps.size());
  for (const path::RankStep& step : works.steps) {
    packer.add(step.number);
    packer.add(step.window.start);
    packer.add(step.window.end);
    packer.add(step.work_end);
    packer.add(step.period_ns);
  }
  packer.add(works.waits.size());
  for (const RankWorks::Called& wait : works.waits) {
    packer.add(wait.waiting_ns);
    packer.add(wait.recording_ns);
    packer.add(wait.stream);
    packer.add(wait.other_stream);
  }
  packer.add(works.works.size());
  const path::Work none{};
  const path::Work* before = &none;
  for (const path::Work& work : works.works) {
    pack(work, *before, packer);
    before = &work;
  }
}

path::Lane unpack_lane(Unpacker& unpacker) {
  path::Lane lane;
  lane.device = unpacker.integer<std::int32_t>();
  lane.stream = unpacker.integer<std::int32_t>();
  return lane;
}

path::RankStep unpack_step(Unpacker& unpacker) {
  path::RankStep step;
  step.number = unpacker.integer();
  step.window.start = unpacker.integer();
  step.window.end = unpacker.integer();
  step.work_end = unpacker.integer();
  step.period_ns = unpacker.integer();
  return step;
}

RankWorks::Called unpack_wait(Unpacker& unpacker) {
  RankWorks::Called wait;
  wait.waiting_ns = unpacker.integer();
  wait.recording_ns = unpacker.integer();
  wait.stream = unpacker.integer<std::int32_t>();
  wait.other_stream = unpacker.integer<std::int32_t>();
  return wait;
}

RankWorks::LocalKernel unpack_kernel(std::size_t events, Unpacker& unpacker) {
  RankWorks::LocalKernel kernel;
  kernel.name = unpacker.text();
  kernel.category = unpacker.text();
  kernel.operator_name = unpacker.text();
  kernel.blocks = unpacker.integer<std::uint32_t>();
  kernel.threads = unpacker.integer<std::uint32_t>();
  kernel.collective = unpack_position(events, unpacker);
  return kernel;
}

// `events` is the number of the rank's events of communication.
RankWorks unpack_works(std::size_t events, Unpacker& unpacker) {
  RankWorks works;
  works.rank = unpacker.integer<int>();
  works.kernels =
      unpack_list(unpacker, [events](Unpacker& from) { return unpack_kernel(events, from); });
  works.lanes = unpack_list(unpacker, unpack_lane);
  works.steps = unpack_list(unpacker, unpack_step);
  works.waits = unpack_list(unpacker, unpack_wait);
  const std::size_t count = unpacker.count();
  works.works.reserve(count);
  path::Work before;
  for (std::size_t i = 0; i < count && !unpacker.failed(); ++i) {
    before = unpack_work(works, before, events, unpacker);
    works.works.push_back(before);
  }
  return works;
}

}  // namespace

void pack(const RankPart& part, Packer& packer) {
  pack(part.facts, packer);
  pack(part.timelines, packer);
  pack(part.overview, packer);
  packer.add(part.communication.has_value());
  if (part.communication) pack(*part.communication, packer);
  packer.add(part.works.has_value());
  if (part.works) pack(*part.works, packer);
}

core::Result<RankPart> unpack_part(Unpacker& unpacker) {
  RankPart part{.facts = unpack_facts(unpacker)};
  part.timelines = unpack_book(unpacker);
  part.overview = unpack_list(unpacker, unpack_cell);
  if (unpacker.integer() != 0) part.communication = unpack_recording(unpacker);
  const std::size_t events = part.communication ? part.communication->events.size() : 0;
  if (unpacker.integer() != 0) part.works = unpack_works(events, unpacker);
  const bool is_one_rank = (!part.communication || part.communication->rank == part.facts.rank) &&
                           (!part.works || part.works->rank == part.facts.rank);
  if (unpacker.failed() || !is_one_rank) return core::Error{"damaged bytes from another process"};
  return part;
}

}  // namespace assay::trace
