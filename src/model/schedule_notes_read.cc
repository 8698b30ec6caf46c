#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/files.h"
#include "model/schedule_notes.h"

namespace assay::model {
namespace {

namespace ondemand = simdjson::ondemand;

// Reads the document and remembers the first field that is not what it should be.
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

  // Reads the fields of an object, each once, in the order of the text: looking them up by name is
  // undefined in damaged JSON. Errors name a field with `prefix` before it.
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

  // A name of NCCL's vocabulary.
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

  // A row with exactly `columns` values.
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
