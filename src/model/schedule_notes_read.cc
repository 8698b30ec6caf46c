#include <fmt/core.h>
#include <simdjson.h>

#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "core/files.h"
#include "model/schedule_notes.h"

namespace assay::model {
namespace {

namespace ondemand = simdjson::ondemand;

// Reads the document in the order in which it was written; remembers the first field that is not
// what it should be.
class NotesReader {
 public:
  bool read(ondemand::document& document, ScheduleNotes& notes) {
    ondemand::object object;
    if (document.get_object().get(object)) return wrong("the document");
    return text(object["generator"], "generator", notes.generator) &&
           text(object["source"], "source", notes.source) &&
           text(object["nccl_version"], "nccl_version", notes.nccl_version) &&
           read_tags(object, notes.tags) && read_ranks(object, notes) &&
           read_operations(object, notes) && read_spans(object, notes);
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

  bool read_tags(ondemand::object& object, TagLayout& tags) {
    ondemand::object layout;
    if (object["tags"].get_object().get(layout)) return wrong("tags");
    return text(layout["name"], "tags.name", tags.name) &&
           number(layout["id_width"], "tags.id_width", tags.id_width) &&
           number(layout["label_width"], "tags.label_width", tags.label_width) &&
           each(layout["label_fields"], "tags.label_fields", [&](Value value) {
             return text(value, "tags.label_fields", tags.label_fields.emplace_back());
           });
  }

  bool read_ranks(ondemand::object& object, ScheduleNotes& notes) {
    return each(object["ranks"], "ranks", [&](Value value) {
      ScheduleRank& rank = notes.ranks.emplace_back();
      return text(value["node"], "ranks.node", rank.node) &&
             number(value["process_id"], "ranks.process_id", rank.process_id) &&
             number(value["device"], "ranks.device", rank.device) &&
             number(value["clock"], "ranks.clock", rank.clock);
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

  bool read_operations(ondemand::object& object, ScheduleNotes& notes) {
    return each(object["operations"], "operations", [&](Value value) {
      ScheduleOperation& operation = notes.operations.emplace_back();
      return row(value, "operations", 10, [&](std::size_t column, Value cell) {
        return operation_field(column, cell, operation);
      });
    });
  }

  bool read_spans(ondemand::object& object, ScheduleNotes& notes) {
    return each(object["spans_by_rank"], "spans_by_rank", [&](Value spans) {
      std::vector<OperationSpan>& rank = notes.spans.emplace_back();
      return each(spans, "spans_by_rank", [&](Value value) {
        OperationSpan& span = rank.emplace_back();
        return row(value, "spans_by_rank", 5,
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
