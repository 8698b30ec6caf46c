#include "model/schedule_notes.h"

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/files.h"
#include "core/text.h"

namespace assay::model {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// JSON by hand: a schedule has millions of spans, and a document in memory would be larger than
// the schedule.
class Json {
 public:
  explicit Json(std::FILE* file) : file_(file) {}

  Json& text(std::string_view raw) {
    if (buffer_.size() + raw.size() > kPieceBytes) flush();
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

  // "key": value, after what stands before it on the line.
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

  bool flush() {
    good_ = good_ && std::fwrite(buffer_.data(), 1, buffer_.size(), file_) == buffer_.size();
    buffer_.clear();
    return good_;
  }

 private:
  std::FILE* file_;
  std::string buffer_;
  bool good_ = true;
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

}  // namespace

std::filesystem::path notes_path(const std::filesystem::path& schedule) {
  return std::filesystem::path(schedule).replace_extension(".notes.json");
}

core::Status write_notes(const std::filesystem::path& path, const ScheduleNotes& notes) {
  const auto failure = [&] {
    return core::Error{fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno))};
  };
  return core::write_file_with(
      path,
      [&](const std::filesystem::path& temporary) -> core::Status {
        const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(temporary.c_str(), "wb"));
        if (!file) return failure();
        Json json(file.get());
        write_head(json, notes);
        write_ranks(json, notes);
        write_operations(json, notes);
        write_spans(json, notes);
        return json.flush() && std::fflush(file.get()) == 0 ? core::Status{} : failure();
      },
      core::Durability::kUnsynced);
}

}  // namespace assay::model
