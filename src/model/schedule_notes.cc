#include "model/schedule_notes.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
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
    return fields(
        object, "",
        {{"generator", [&](Value value) { return text(value, "generator", notes.generator); }},
         {"source", [&](Value value) { return text(value, "source", notes.source); }},
         {"nccl_version",
          [&](Value value) { return text(value, "nccl_version", notes.nccl_version); }},
         {"tags", [&](Value value) { return read_tags(value, notes.tags); }},
         {"ranks", [&](Value value) { return read_ranks(value, notes); }},
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

  bool text(Value value, std::string_view field, std::string& target) {
    std::string_view view;
    if (value.get_string().get(view)) return wrong(field);
    target = view;
    return true;
  }

  template <class Number>
  bool number(Value value, std::string_view field, Number& target) {
    std::conditional_t<std::is_signed_v<Number>, std::int64_t, std::uint64_t> wide = 0;
    if (value.get(wide)) return wrong(field);
    target = static_cast<Number>(wide);
    return static_cast<decltype(wide)>(target) == wide || wrong(field);
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

  struct Field {
    std::string_view name;
    std::function<bool(Value)> read;
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
    const auto missing = std::find(seen.begin(), seen.end(), false);
    return missing == seen.end() || bad(wanted[static_cast<std::size_t>(missing - seen.begin())]);
  }

  bool read_tags(Value value, TagLayout& tags) {
    ondemand::object layout;
    if (value.get_object().get(layout)) return wrong("tags");
    return fields(
        layout, "tags.",
        {{"name", [&](Value field) { return text(field, "tags.name", tags.name); }},
         {"id_width", [&](Value field) { return number(field, "tags.id_width", tags.id_width); }},
         {"label_width",
          [&](Value field) { return number(field, "tags.label_width", tags.label_width); }},
         {"label_fields", [&](Value field) {
            return each(field, "tags.label_fields", [&](Value label) {
              return text(label, "tags.label_fields", tags.label_fields.emplace_back());
            });
          }}});
  }

  bool read_ranks(Value value, ScheduleNotes& notes) {
    return each(value, "ranks", [&](Value element) {
      ScheduleRank& rank = notes.ranks.emplace_back();
      ondemand::object object;
      if (element.get_object().get(object)) return wrong("ranks");
      return fields(
          object, "ranks.",
          {{"node", [&](Value field) { return text(field, "ranks.node", rank.node); }},
           {"process_id",
            [&](Value field) { return number(field, "ranks.process_id", rank.process_id); }},
           {"device", [&](Value field) { return number(field, "ranks.device", rank.device); }},
           {"clock", [&](Value field) { return number(field, "ranks.clock", rank.clock); }}});
    });
  }

  // Reads a name of NCCL's vocabulary.
  template <class Enum>
  bool name(Value value,
            std::string_view field,
            std::optional<Enum> (*find)(std::string_view),
            Enum& target) {
    std::string_view view;
    if (value.get_string().get(view)) return wrong(field);
    const std::optional<Enum> found = find(view);
    if (!found) return wrong(field);
    target = *found;
    return true;
  }

  bool operation_field(std::size_t column, Value value, ScheduleOperation& operation) {
    switch (column) {
      case 0:
        return name(value, "operations.function", &nccl_function, operation.function);
      case 1:
        return name(value, "operations.algorithm", &nccl_algorithm, operation.algorithm);
      case 2:
        return name(value, "operations.protocol", &nccl_protocol, operation.protocol);
      case 3:
        return text(value, "operations.parallelism", operation.parallelism);
      case 4:
        return text(value, "operations.communicator", operation.communicator);
      case 5:
        return number(value, "operations.sequence", operation.sequence);
      case 6:
        return number(value, "operations.bytes", operation.bytes);
      case 7:
        return number(value, "operations.num_ranks", operation.num_ranks);
      case 8:
        return number(value, "operations.num_channels", operation.num_channels);
      case 9:
        return number(value, "operations.label", operation.label);
      default:
        return wrong("operations: a row is too long");
    }
  }

  bool span_field(std::size_t column, Value value, OperationSpan& span) {
    switch (column) {
      case 0:
        return number(value, "spans_by_rank.operation", span.operation);
      case 1:
        return number(value, "spans_by_rank.first_op", span.first_op);
      case 2:
        return number(value, "spans_by_rank.num_ops", span.num_ops);
      case 3:
        return number(value, "spans_by_rank.measured_start_ns", span.measured_start_ns);
      case 4:
        return number(value, "spans_by_rank.measured_end_ns", span.measured_end_ns);
      default:
        return wrong("spans_by_rank: a row is too long");
    }
  }

  // Reads a row with exactly `columns` values.
  template <class Field>
  bool row(Value value, std::string_view field, std::size_t columns, const Field& read) {
    std::size_t column = 0;
    return each(value, field, [&](Value cell) { return read(column++, cell); }) &&
           (column == columns || wrong(field));
  }

  bool read_operations(Value value, ScheduleNotes& notes) {
    return each(value, "operations", [&](Value element) {
      ScheduleOperation& operation = notes.operations.emplace_back();
      return row(element, "operations", 10, [&](std::size_t column, Value cell) {
        return operation_field(column, cell, operation);
      });
    });
  }

  bool read_spans(Value value, ScheduleNotes& notes) {
    return each(value, "spans_by_rank", [&](Value spans) {
      std::vector<OperationSpan>& rank = notes.spans.emplace_back();
      return each(spans, "spans_by_rank", [&](Value element) {
        OperationSpan& span = rank.emplace_back();
        return row(element, "spans_by_rank", 5,
                   [&](std::size_t column, Value cell) { return span_field(column, cell, span); });
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
