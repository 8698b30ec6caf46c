#include "model/schedule_notes.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/output_file.h"
#include "core/text.h"

namespace assay::model {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;

// JSON is written by hand, because a schedule has millions of spans, and a document in memory would
// be larger than the schedule.
class Json {
 public:
  explicit Json(const core::WritePiece& write) : write_(write) {}

  Json& text(std::string_view raw) {
    if (buffer_.size() + raw.size() > kPieceBytes) status_ = flush();
    buffer_ += raw;
    return *this;
  }

  Json& string(std::string_view value) {
    return text("\"").text(core::json_escaped(core::valid_utf8(value))).text("\"");
  }

  template <class Number>
  Json& number(Number value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    return text({digits, static_cast<std::size_t>(end - digits)});
  }

  // Writes `key`, which is the raw text up to the value, and the value.
  Json& field(std::string_view key, std::string_view value) { return text(key).string(value); }

  template <class Items, class Write>
  Json& list(const Items& items, std::string_view separator, const Write& write) {
    std::string_view between;
    for (const auto& item : items) {
      text(between);
      write(item);
      between = separator;
    }
    return *this;
  }

  // Writes the collected text, and returns the first failure of all pieces so far.
  core::Status flush() {
    if (status_.ok()) status_ = write_(buffer_);
    buffer_.clear();
    return status_;
  }

 private:
  const core::WritePiece& write_;
  std::string buffer_;
  core::Status status_ = {};
};

void write_head(Json& json, const ScheduleNotes& notes) {
  json.field("{\n\"generator\": ", notes.generator);
  json.field(",\n\"source\": ", notes.source);
  json.field(",\n\"nccl_version\": ", notes.nccl_version);
  json.field(",\n\"made_for\": ", notes.made_for);
  json.text(",\n\"time_unit_ns\": ").number(notes.time_unit_ns);
  if (notes.nic_gbps > 0) json.text(",\n\"nic_gbps\": ").number(notes.nic_gbps);
  json.field(",\n\"tags\": {\"name\": ", notes.tags.name);
  json.text(", \"id_width\": ").number(notes.tags.id_width);
  json.text(", \"label_width\": ").number(notes.tags.label_width);
  json.text(", \"label_fields\": [");
  json.list(notes.tags.label_fields, ", ", [&](const std::string& field) { json.string(field); });
  json.text("]}");
}

void write_ranks(Json& json, const ScheduleNotes& notes) {
  json.text(",\n\"ranks\": [\n");
  json.list(notes.ranks, ",\n", [&](const ScheduleRank& rank) {
    json.field("{\"node\": ", rank.node).text(", \"process_id\": ").number(rank.process_id);
    json.text(", \"device\": ").number(rank.device);
    json.text(", \"clock\": ").number(rank.clock).text("}");
  });
  json.text("]");
}

void write_operations(Json& json, const ScheduleNotes& notes) {
  json.text(
      ",\n\"operation_columns\": [\"function\", \"algorithm\", \"protocol\", \"parallelism\", "
      "\"communicator\", \"sequence\", \"bytes\", \"num_ranks\", \"num_channels\", \"label\"]"
      ",\n\"operations\": [\n");
  json.list(notes.operations, ",\n", [&](const ScheduleOperation& operation) {
    json.text("[\"").text(name_of(operation.function));
    json.text("\",\"").text(name_of(operation.algorithm));
    json.text("\",\"").text(name_of(operation.protocol));
    json.text("\",").string(operation.parallelism).text(",").string(operation.communicator);
    json.text(",").number(operation.sequence).text(",").number(operation.bytes);
    json.text(",").number(operation.num_ranks).text(",").number(operation.num_channels);
    json.text(",").number(operation.label).text("]");
  });
  json.text("]");
}

void write_spans(Json& json, const ScheduleNotes& notes) {
  json.text(
      ",\n\"span_columns\": [\"operation\", \"first_op\", \"num_ops\", \"measured_start_ns\", "
      "\"measured_end_ns\"],\n\"spans_by_rank\": [\n");
  json.list(notes.spans, ",\n", [&](const std::vector<OperationSpan>& spans) {
    json.text("[");
    json.list(spans, ",", [&](const OperationSpan& span) {
      json.text("[").number(span.operation).text(",").number(span.first_op);
      json.text(",").number(span.num_ops).text(",").number(span.measured_start_ns);
      json.text(",").number(span.measured_end_ns).text("]");
    });
    json.text("]");
  });
  json.text("]\n}\n");
}

namespace ondemand = simdjson::ondemand;

// Reads the document in the order in which it was written, and remembers the first invalid field.
class NotesReader {
 public:
  bool read(ondemand::document& document, ScheduleNotes& notes) {
    ondemand::object object;
    if (document.get_object().get(object)) return wrong("the document");
    return fields(object, "",
                  {{"generator", into(notes.generator)},
                   {"source", into(notes.source)},
                   {"nccl_version", into(notes.nccl_version)},
                   {"made_for", into(notes.made_for), Need::kOptional},
                   {"time_unit_ns", into(notes.time_unit_ns), Need::kOptional},
                   {"nic_gbps", into(notes.nic_gbps), Need::kOptional},
                   {"tags", [&](Value value) { return read_tags(value, notes.tags); }},
                   {"ranks", [&](Value value) { return read_ranks(value, notes.ranks); }},
                   {"operations", [&](Value value) { return read_operations(value, notes); }},
                   {"spans_by_rank", [&](Value value) { return read_spans(value, notes); }}});
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  using Value = simdjson::simdjson_result<ondemand::value>;

  bool wrong(std::string_view field) {
    if (problem_.empty()) problem_ = fmt::format("'{}' is missing or not as it should be", field);
    return false;
  }

  static bool get(Value value, std::string& target) {
    std::string_view view;
    if (value.get_string().get(view)) return false;
    target = view;
    return true;
  }

  static bool get(Value value, double& target) { return !value.get(target) && target > 0; }

  template <class Number>
  requires std::is_integral_v<Number>

  static bool get(Value value, Number& target) {
    std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t> wide = 0;
    if (value.get(wide)) return false;
    target = static_cast<Number>(wide);
    return static_cast<decltype(wide)>(target) == wide;
  }

  static bool get(Value value, NcclFunction& target) { return get(value, nccl_function, target); }

  static bool get(Value value, NcclAlgorithm& target) { return get(value, nccl_algorithm, target); }

  static bool get(Value value, NcclProtocol& target) { return get(value, nccl_protocol, target); }

  // Reads a name of NCCL's vocabulary.
  template <class Enum>
  static bool get(Value value, std::optional<Enum> (*find)(std::string_view), Enum& target) {
    std::string_view view;
    if (value.get_string().get(view)) return false;
    const std::optional<Enum> found = find(view);
    if (found) target = *found;
    return found.has_value();
  }

  template <class Target>
  static std::function<bool(Value)> into(Target& target) {
    return [&target](Value value) { return get(value, target); };
  }

  // Calls read(element) for each element.
  template <class Read>
  bool each(Value value, std::string_view field, const Read& read) {
    ondemand::array array;
    if (value.get_array().get(array)) return wrong(field);
    for (auto element : array) {
      if (element.error() || !read(element)) return wrong(field);
    }
    return true;
  }

  enum class Need { kRequired, kOptional };

  struct Field {
    std::string_view name;
    std::function<bool(Value)> read;
    Need need = Need::kRequired;  // kOptional: not in the files of earlier versions
  };

  // Reads the fields of an object, each once, in the order of the text, because looking them up by
  // name is undefined in damaged JSON. Errors name a field with `prefix` before it.
  bool fields(ondemand::object object, std::string_view prefix, const std::vector<Field>& wanted) {
    const auto bad = [&](const Field& field) {
      return wrong(fmt::format("{}{}", prefix, field.name));
    };
    std::vector<bool> seen(wanted.size());
    for (auto member : object) {
      std::string_view key;
      if (member.unescaped_key().get(key)) return wrong("the document");
      const auto field = std::find_if(wanted.begin(), wanted.end(),
                                      [&](const Field& known) { return known.name == key; });
      if (field == wanted.end()) continue;
      const auto index = static_cast<std::size_t>(field - wanted.begin());
      if (seen[index] || !field->read(member.value())) return bad(*field);
      seen[index] = true;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!seen[i] && wanted[i].need == Need::kRequired) return bad(wanted[i]);
    }
    return true;
  }

  // Reads a list with a value for each target; errors name the target.
  template <class... Targets>
  bool row(Value value,
           std::string_view field,
           const std::array<std::string_view, sizeof...(Targets)>& names,
           Targets&... targets) {
    std::size_t column = 0;
    const auto read = [&](Value cell) {
      std::size_t target = 0;
      const bool known = ((target++ == column && get(cell, targets)) || ...);
      if (!known && column < names.size()) wrong(fmt::format("{}.{}", field, names[column]));
      ++column;
      return known;
    };
    return each(value, field, read) && (column == names.size() || wrong(field));
  }

  bool read_tags(Value value, TagLayout& tags) {
    ondemand::object object;
    if (value.get_object().get(object)) return wrong("tags");
    const auto read_labels = [&](Value labels) {
      return each(labels, "tags.label_fields",
                  [&](Value label) { return get(label, tags.label_fields.emplace_back()); });
    };
    return fields(object, "tags.",
                  {{"name", into(tags.name)},
                   {"id_width", into(tags.id_width)},
                   {"label_width", into(tags.label_width)},
                   {"label_fields", read_labels}});
  }

  bool read_ranks(Value value, std::vector<ScheduleRank>& ranks) {
    return each(value, "ranks", [&](Value element) {
      ScheduleRank& rank = ranks.emplace_back();
      ondemand::object object;
      if (element.get_object().get(object)) return wrong("ranks");
      return fields(object, "ranks.",
                    {{"node", into(rank.node)},
                     {"process_id", into(rank.process_id)},
                     {"device", into(rank.device)},
                     {"clock", into(rank.clock)}});
    });
  }

  bool read_operations(Value value, ScheduleNotes& notes) {
    return each(value, "operations", [&](Value element) {
      ScheduleOperation& operation = notes.operations.emplace_back();
      return row(element, "operations",
                 {"function", "algorithm", "protocol", "parallelism", "communicator", "sequence",
                  "bytes", "num_ranks", "num_channels", "label"},
                 operation.function, operation.algorithm, operation.protocol, operation.parallelism,
                 operation.communicator, operation.sequence, operation.bytes, operation.num_ranks,
                 operation.num_channels, operation.label);
    });
  }

  bool read_spans(Value value, ScheduleNotes& notes) {
    return each(value, "spans_by_rank", [&](Value spans) {
      std::vector<OperationSpan>& rank = notes.spans.emplace_back();
      return each(spans, "spans_by_rank", [&](Value element) {
        OperationSpan& span = rank.emplace_back();
        return row(element, "spans_by_rank",
                   {"operation", "first_op", "num_ops", "measured_start_ns", "measured_end_ns"},
                   span.operation, span.first_op, span.num_ops, span.measured_start_ns,
                   span.measured_end_ns);
      });
    });
  }

  std::string problem_;
};

}  // namespace

std::filesystem::path notes_path(const std::filesystem::path& schedule) {
  return std::filesystem::path(schedule).replace_extension(".notes.json");
}

core::Status write_notes(const std::filesystem::path& path, const ScheduleNotes& notes) {
  return core::write_file_in_pieces(
      path,
      [&](const core::WritePiece& write) {
        Json json(write);
        write_head(json, notes);
        write_ranks(json, notes);
        write_operations(json, notes);
        write_spans(json, notes);
        return json.flush();
      },
      core::Durability::kUnsynced);
}

core::Result<ScheduleNotes> read_notes(const std::filesystem::path& path) {
  return parse_notes(ASSAY_TRY(core::read_file(path)), path.string());
}

core::Result<std::optional<ScheduleNotes>> read_notes_beside(
    const std::filesystem::path& schedule) {
  const std::filesystem::path path = notes_path(schedule);
  if (!core::is_regular_file(path)) return std::optional<ScheduleNotes>();
  return std::optional<ScheduleNotes>(ASSAY_TRY(read_notes(path)));
}

core::Result<ScheduleNotes> parse_notes(std::string content, const std::string& name) {
  const auto failed = [&](std::string_view what) {
    return core::Error{fmt::format("{}: {}", name, what)};
  };
  content.reserve(content.size() + simdjson::SIMDJSON_PADDING);
  ondemand::parser parser;
  ondemand::document document;
  const simdjson::error_code code = parser.iterate(content).get(document);
  if (code)
    return failed(fmt::format("not the notes of a schedule: {}", simdjson::error_message(code)));
  ScheduleNotes notes;
  NotesReader reader;
  if (!reader.read(document, notes)) {
    return failed(fmt::format("not the notes of a schedule: {}", reader.problem()));
  }
  return notes;
}

}  // namespace assay::model
