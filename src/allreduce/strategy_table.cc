#include "allreduce/strategy_table.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

#include "core/text.h"

namespace assay::allreduce {
namespace {

// A table accepts any type number, so a type that cannot be summed counts as 2 bytes, as in the
// generated header.
std::int64_t element_bytes(DataType type) {
  return type == DataType::kFloat32 ? 4 : 2;
}

// Returns which of two is nearer to `wanted` by ratio, or the larger of two equally near. Both are
// at most 2^28, so products fit.
std::int64_t nearer(std::int64_t wanted, std::int64_t a, std::int64_t b) {
  const auto [low, high] = std::minmax({a, b});
  if (wanted <= low) return low;
  if (wanted >= high) return high;
  return wanted * wanted < low * high ? low : high;
}

// Returns the better match of two slices of one fusion.
const TableSlice& better(const TableSlice& a,
                         const TableSlice& b,
                         int world_size,
                         DataType data_type) {
  if (a.world_size != b.world_size) {
    return nearer(world_size, a.world_size, b.world_size) == a.world_size ? a : b;
  }
  if (a.data_type == data_type) return a;
  if (b.data_type == data_type) return b;
  return a.data_type <= b.data_type ? a : b;
}

const TableSlice* nearest_slice(const std::vector<TableSlice>& slices,
                                Fusion fusion,
                                int world_size,
                                DataType data_type) {
  const TableSlice* best = nullptr;
  for (const TableSlice& slice : slices) {
    if (slice.fusion != fusion || slice.rows.empty()) continue;
    best = best == nullptr ? &slice : &better(*best, slice, world_size, data_type);
  }
  return best;
}

const TableRow* nearest_row(const std::vector<TableRow>& rows, std::int64_t hidden_size) {
  const TableRow* best = &rows.front();
  for (const TableRow& row : rows) {
    if (nearer(hidden_size, best->hidden_size, row.hidden_size) == row.hidden_size) best = &row;
  }
  return best;
}

const TableSegment* segment_of(const std::vector<TableSegment>& segments, std::int64_t size_bytes) {
  const TableSegment* best = nullptr;
  for (const TableSegment& segment : segments) {
    if (segment.from_bytes <= size_bytes) best = &segment;
  }
  return best;
}

}  // namespace

std::int64_t message_bytes(std::int64_t num_tokens, std::int64_t hidden_size, DataType data_type) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t tokens = std::max<std::int64_t>(num_tokens, 1);
  const std::int64_t hidden = std::max<std::int64_t>(hidden_size, 1);
  const std::int64_t most_tokens = kMost / element_bytes(data_type) / hidden;
  return tokens > most_tokens ? kMost : tokens * hidden * element_bytes(data_type);
}

TableMatch StrategyTable::find(int world_size,
                               Fusion fusion,
                               DataType data_type,
                               std::int64_t hidden_size,
                               std::int64_t num_tokens) const {
  TableMatch match{.strategy = fallback,
                   .size_bytes = message_bytes(num_tokens, hidden_size, data_type)};
  match.slice = nearest_slice(slices, fusion, world_size, data_type);
  if (match.slice == nullptr) return match;
  match.is_extrapolated =
      match.slice->origin == Origin::kExtrapolated || match.slice->world_size != world_size;
  match.is_of_other_type = match.slice->data_type != data_type;
  match.row = nearest_row(match.slice->rows, hidden_size);
  match.is_beyond =
      match.row->measured_to_bytes != 0 && match.size_bytes > match.row->measured_to_bytes;
  match.segment = segment_of(match.row->segments, match.size_bytes);
  if (match.segment != nullptr) match.strategy = match.segment->strategy;
  return match;
}

namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "assay allreduce table";
constexpr std::int64_t kVersion = 3;
constexpr std::int64_t kOldestVersion = 1;
constexpr const char* kMeasuredTo = "measured_to_bytes";

// A JSON object and its place in the file: "slices[2].rows[0]", or "" for the whole file.
class Object {
 public:
  static core::Result<Object> open(const Json& json,
                                   const std::string& place,
                                   std::initializer_list<std::string_view> fields,
                                   std::initializer_list<std::string_view> optional = {}) {
    if (!json.is_object()) return problem(place, "is no JSON object");
    std::vector<std::string> known(fields.begin(), fields.end());
    known.insert(known.end(), optional.begin(), optional.end());
    for (const auto& item : json.items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
      return problem(place, fmt::format("has an unknown field \"{}\"; there are {}",
                                        core::valid_utf8(item.key()), core::join(known, ", ")));
    }
    for (const std::string_view field : fields) {
      if (!json.contains(field)) return problem(place, fmt::format("has no field \"{}\"", field));
    }
    return Object(json, place);
  }

  [[nodiscard]] core::Result<std::int64_t> number(const char* field,
                                                  std::int64_t least,
                                                  std::int64_t most) const {
    const Json& value = json_.at(field);
    const bool fits = value.is_number_unsigned()
                          ? value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                          : value.is_number_integer();
    if (fits && value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most) {
      return value.get<std::int64_t>();
    }
    return problem(place_of(field),
                   fmt::format("must be a whole number from {} to {}", least, most));
  }

  [[nodiscard]] core::Result<std::string> text(const char* field) const {
    const Json& value = json_.at(field);
    if (value.is_string()) return value.get<std::string>();
    return problem(place_of(field), "must be a text");
  }

  template <class Value>
  [[nodiscard]] core::Result<Value> named(const char* field,
                                          std::optional<Value> (*meaning)(std::string_view)) const {
    const std::string name = ASSAY_TRY(text(field));
    if (const auto value = meaning(name)) return *value;
    return problem(place_of(field),
                   fmt::format("is '{}', which is not known", core::valid_utf8(name)));
  }

  [[nodiscard]] bool has(const char* field) const { return json_.contains(field); }

  // Fails when the field is not a list or has fewer than `least` items.
  [[nodiscard]] core::Result<const Json*> list(const char* field, std::size_t least) const {
    const Json& value = json_.at(field);
    if (!value.is_array()) return problem(place_of(field), "must be a list");
    if (value.size() < least) return problem(place_of(field), "is empty");
    return &value;
  }

  [[nodiscard]] std::string place_of(const char* field) const {
    return place_.empty() ? field : place_ + "." + field;
  }

  static core::Error problem(const std::string& place, const std::string& what) {
    return core::Error{place.empty() ? what : place + " " + what};
  }

 private:
  Object(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  const Json& json_;
  std::string place_;
};

std::string element_of(const std::string& place, std::size_t index) {
  return fmt::format("{}[{}]", place, index);
}

core::Result<TableSegment> segment_from(const Json& json, const std::string& place) {
  const Object object = ASSAY_TRY(Object::open(json, place, {"from_bytes", "strategy"}));
  TableSegment segment;
  segment.from_bytes = ASSAY_TRY(object.number("from_bytes", 0, kMostTableBytes));
  segment.strategy = ASSAY_TRY(object.named("strategy", strategy_named));
  if (segment.strategy == Strategy::kAuto) {
    return Object::problem(object.place_of("strategy"), "is AUTO, which means to look here");
  }
  return segment;
}

std::optional<Origin> origin_named(std::string_view name) {
  const auto* found = std::find(kOriginNames.begin(), kOriginNames.end(), name);
  if (found == kOriginNames.end()) return std::nullopt;
  return static_cast<Origin>(found - kOriginNames.begin());
}

// Returns the origin, which only parts that were not measured name.
core::Result<Origin> origin_from(const Object& object, Origin other) {
  if (!object.has("origin")) return Origin::kMeasured;
  const Origin origin = ASSAY_TRY(object.named("origin", origin_named));
  if (origin == Origin::kMeasured || origin == other) return origin;
  return Object::problem(object.place_of("origin"), "does not belong here");
}

core::Result<TableRow> row_from(const Json& json, const std::string& place) {
  const Object object =
      ASSAY_TRY(Object::open(json, place, {"hidden_size", "segments"}, {"origin", kMeasuredTo}));
  TableRow row;
  row.hidden_size = ASSAY_TRY(object.number("hidden_size", 1, kMostTableHidden));
  row.origin = ASSAY_TRY(origin_from(object, Origin::kInterpolated));
  if (object.has(kMeasuredTo)) {
    row.measured_to_bytes = ASSAY_TRY(object.number(kMeasuredTo, 1, kMostTableBytes));
  }
  const Json& list = *ASSAY_TRY(object.list("segments", 1));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string here = element_of(object.place_of("segments"), i);
    const TableSegment segment = ASSAY_TRY(segment_from(list[i], here));
    if (i == 0 && segment.from_bytes != 0) return Object::problem(here, "must be from 0 bytes");
    if (i > 0 && segment.from_bytes <= row.segments.back().from_bytes) {
      return Object::problem(here, "must be from more bytes than the one before it");
    }
    row.segments.push_back(segment);
  }
  return row;
}

core::Result<TableSlice> slice_from(const Json& json, const std::string& place) {
  const Object object =
      ASSAY_TRY(Object::open(json, place, {"world_size", "fusion", "data_type", "rows"},
                             {"origin", "from_world_size", "link_limit_us_per_mib"}));
  TableSlice slice;
  slice.origin = ASSAY_TRY(origin_from(object, Origin::kExtrapolated));
  if (object.has("from_world_size")) {
    slice.from_world_size =
        static_cast<int>(ASSAY_TRY(object.number("from_world_size", 1, kMostTableRanks)));
  }
  slice.world_size = static_cast<int>(ASSAY_TRY(object.number("world_size", 1, kMostTableRanks)));
  slice.fusion = ASSAY_TRY(object.named("fusion", fusion_named));
  slice.data_type = ASSAY_TRY(object.named("data_type", summed_type_named));
  const Json& list = *ASSAY_TRY(object.list("rows", 1));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string here = element_of(object.place_of("rows"), i);
    TableRow row = ASSAY_TRY(row_from(list[i], here));
    if (i > 0 && row.hidden_size <= slice.rows.back().hidden_size) {
      return Object::problem(here, "must have a larger hidden_size than the one before it");
    }
    slice.rows.push_back(std::move(row));
  }
  return slice;
}

bool same_key(const TableSlice& a, const TableSlice& b) {
  return a.world_size == b.world_size && a.fusion == b.fusion && a.data_type == b.data_type;
}

core::Status check_format(const Object& object) {
  if (ASSAY_TRY(object.text("format")) != kFormat) {
    return Object::problem("format", fmt::format("is not \"{}\"", kFormat));
  }
  if (object.number("version", kOldestVersion, kVersion).ok()) return {};
  return Object::problem("version", fmt::format("is none of {} to {}, which this assay reads",
                                                kOldestVersion, kVersion));
}

core::Result<std::vector<TableSlice>> slices_from(const Json& list) {
  std::vector<TableSlice> slices;
  slices.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string here = element_of("slices", i);
    TableSlice slice = ASSAY_TRY(slice_from(list[i], here));
    const auto same = [&](const TableSlice& other) { return same_key(slice, other); };
    if (std::any_of(slices.begin(), slices.end(), same)) {
      return Object::problem(here, "has world_size, fusion and data_type of one before it");
    }
    slices.push_back(std::move(slice));
  }
  return slices;
}

core::Result<StrategyTable> table_from(const Json& json) {
  const Object object = ASSAY_TRY(Object::open(
      json, "", {"format", "version", "sm_version", "launch", "fallback", "provenance", "slices"}));
  if (const auto status = check_format(object); !status.ok()) return status.error();
  StrategyTable table;
  table.sm_version = static_cast<int>(ASSAY_TRY(object.number("sm_version", 1, 100000)));
  table.launch = ASSAY_TRY(object.named("launch", launch_named));
  table.fallback = ASSAY_TRY(object.named("fallback", strategy_named));
  if (table.fallback == Strategy::kAuto) return Object::problem("fallback", "is AUTO");
  table.provenance = ASSAY_TRY(object.text("provenance"));
  table.slices = ASSAY_TRY(slices_from(*ASSAY_TRY(object.list("slices", 0))));
  return table;
}

std::string origin_json(Origin origin) {
  if (origin == Origin::kMeasured) return "";
  return fmt::format("\"origin\": \"{}\", ", kOriginNames.at(static_cast<std::size_t>(origin)));
}

std::string row_json(const TableRow& row) {
  std::string segments;
  for (const TableSegment& segment : row.segments) {
    segments +=
        fmt::format("{}{{\"from_bytes\": {}, \"strategy\": \"{}\"}}", segments.empty() ? "" : ", ",
                    segment.from_bytes, name_of(segment.strategy));
  }
  std::string origin = origin_json(row.origin);
  if (row.measured_to_bytes != 0)
    origin += fmt::format("\"{}\": {}, ", kMeasuredTo, row.measured_to_bytes);
  return fmt::format("        {{\"hidden_size\": {}, {}\"segments\": [{}]}}", row.hidden_size,
                     origin, segments);
}

bool chooses(const TableSlice& slice, Strategy strategy) {
  return std::any_of(slice.rows.begin(), slice.rows.end(), [&](const TableRow& row) {
    return std::any_of(row.segments.begin(), row.segments.end(),
                       [&](const TableSegment& one) { return one.strategy == strategy; });
  });
}

std::string limits_json(const TableSlice& slice, int sm_version) {
  constexpr std::int64_t kMib = std::int64_t{1} << 20;
  std::vector<std::string> limits;
  for (const StrategySpec& spec : kStrategies) {
    if (!chooses(slice, spec.strategy)) continue;
    limits.push_back(fmt::format("\"{}\": {:.3f}", spec.name,
                                 link_limit_us(spec.strategy, slice.world_size, kMib, sm_version)));
  }
  return fmt::format("\"link_limit_us_per_mib\": {{{}}}, ", core::join(limits, ", "));
}

std::string slice_json(const TableSlice& slice, int sm_version) {
  std::vector<std::string> rows;
  for (const TableRow& row : slice.rows)
    rows.push_back(row_json(row));
  std::string origin = origin_json(slice.origin);
  if (slice.from_world_size != 0) {
    origin += fmt::format("\"from_world_size\": {}, ", slice.from_world_size);
  }
  const bool has_limit = slice.origin == Origin::kExtrapolated && link_bytes_per_us(sm_version) > 0;
  if (has_limit) origin += limits_json(slice, sm_version);
  return fmt::format(
      "    {{\"world_size\": {}, \"fusion\": \"{}\", \"data_type\": \"{}\", {}\"rows\": "
      "[\n{}\n    ]}}",
      slice.world_size, name_of(slice.fusion), name_of(slice.data_type), origin,
      core::join(rows, ",\n"));
}

}  // namespace

// Writes each row on one line so that two tables can be compared by eye and by diff.
std::string table_json(const StrategyTable& table) {
  std::vector<std::string> slices;
  for (const TableSlice& slice : table.slices)
    slices.push_back(slice_json(slice, table.sm_version));
  return fmt::format(
      "{{\n  \"format\": \"{}\",\n  \"version\": {},\n  \"sm_version\": {},\n  \"launch\": "
      "\"{}\",\n"
      "  \"fallback\": \"{}\",\n  \"provenance\": \"{}\",\n  \"slices\": [{}{}\n  ]\n}}\n",
      kFormat, kVersion, table.sm_version, name_of(table.launch), name_of(table.fallback),
      core::json_escaped(core::valid_utf8(table.provenance)), slices.empty() ? "" : "\n",
      core::join(slices, ",\n"));
}

namespace {

// `position` counts the bytes up to the one that the parser does not take, which is among them.
core::Error no_json(std::string_view name, std::string_view json, std::size_t position) {
  const std::string_view before = json.substr(0, std::max<std::size_t>(position, 1) - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  return core::Error{fmt::format("'{}' is no JSON from line {}, column {} on", name, line, column)};
}

core::Result<Json> parsed_json(std::string_view json, std::string_view name) {
  try {
    return Json::parse(json);
  } catch (const Json::parse_error& error) {
    return no_json(name, json, error.byte);
  } catch (const Json::exception&) {
    return core::Error{fmt::format("'{}' has a number that is too large", name)};
  }
}

}  // namespace

core::Result<StrategyTable> table_from_json(std::string_view json, std::string_view name) {
  const Json parsed = ASSAY_TRY(parsed_json(json, name));
  auto table = table_from(parsed);
  if (!table.ok()) return core::Error{fmt::format("'{}': {}", name, table.error().message)};
  return table;
}

}  // namespace assay::allreduce
