// https://arrow.apache.org/docs/format/CDataInterface.html; each structure owns what its
// private_data points to until whoever took it calls release.
#include "library/arrow_stream.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/text.h"

namespace assay::library {
namespace {

// Key-value pairs as the specification packs them.
class Metadata {
 public:
  void add(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    ++pairs_;
    add_text(key);
    add_text(value);
  }

  [[nodiscard]] std::string packed() const { return pairs_ == 0 ? "" : number(pairs_) + texts_; }

 private:
  static std::string number(std::int32_t value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }

  void add_text(std::string_view text) {
    texts_ += number(static_cast<std::int32_t>(text.size()));
    texts_ += text;
  }

  std::int32_t pairs_ = 0;
  std::string texts_;
};

std::string metadata_of(const model::Column& column) {
  Metadata metadata;
  metadata.add("unit", column.unit);
  if (column.better != model::Better::kNeither)
    metadata.add("better", column.better == model::Better::kLower ? "lower" : "higher");
  metadata.add("description", column.description);
  return metadata.packed();
}

std::string metadata_of(const Columns& columns) {
  Metadata metadata;
  metadata.add("name", columns.name);
  metadata.add("title", columns.title);
  metadata.add("notes", core::join(columns.notes, "\n"));
  return metadata.packed();
}

struct OwnedSchema {
  std::string name;
  std::string metadata;
  std::deque<ArrowSchema> children = {};  // which stay where they are
  std::vector<ArrowSchema*> child_pointers = {};
  ArrowSchema dictionary = {};
};

template <class Structure>
void release_parts(Structure& structure) {
  for (std::int64_t i = 0; i < structure.n_children; ++i) {
    if (structure.children[i]->release != nullptr)
      structure.children[i]->release(structure.children[i]);
  }
  if (structure.dictionary != nullptr && structure.dictionary->release != nullptr)
    structure.dictionary->release(structure.dictionary);
  structure.release = nullptr;
}

void release_schema(ArrowSchema* schema) {
  release_parts(*schema);
  delete static_cast<OwnedSchema*>(schema->private_data);
}

void fill(ArrowSchema& schema, const char* format, std::string name, std::string metadata) {
  auto owned = std::make_unique<OwnedSchema>(
      OwnedSchema{.name = std::move(name), .metadata = std::move(metadata)});
  schema = {.format = format,
            .name = owned->name.c_str(),
            .metadata = owned->metadata.empty() ? nullptr : owned->metadata.data(),
            .flags = ARROW_FLAG_NULLABLE,
            .n_children = 0,
            .children = nullptr,
            .dictionary = nullptr,
            .release = release_schema,
            .private_data = nullptr};
  schema.private_data = owned.release();
}

const char* format_of(const Values& values) {
  // Nothing, booleans, int64, float64, the codes of a dictionary.
  static constexpr std::array kFormats = {"n", "b", "l", "g", "i"};
  return kFormats[values.index()];
}

void fill(ArrowSchema& schema, const Column& column) {
  fill(schema, format_of(column.values), column.about.name, metadata_of(column.about));
  if (!std::holds_alternative<Texts>(column.values)) return;
  auto& owned = *static_cast<OwnedSchema*>(schema.private_data);
  fill(owned.dictionary, "u", "", "");
  schema.dictionary = &owned.dictionary;
}

void fill(ArrowSchema& schema, const Columns& columns) {
  fill(schema, "+s", "", metadata_of(columns));
  schema.flags = 0;
  auto& owned = *static_cast<OwnedSchema*>(schema.private_data);
  owned.child_pointers.reserve(columns.columns.size());
  for (const Column& column : columns.columns) {
    fill(owned.children.emplace_back(), column);
    owned.child_pointers.push_back(&owned.children.back());
    schema.children = owned.child_pointers.data();
    schema.n_children = static_cast<std::int64_t>(owned.child_pointers.size());
  }
}

struct OwnedArray {
  std::shared_ptr<const Columns> columns;
  std::array<const void*, 3> buffers = {};
  std::deque<ArrowArray> children = {};
  std::vector<ArrowArray*> child_pointers = {};
  ArrowArray dictionary = {};
};

void release_array(ArrowArray* array) {
  release_parts(*array);
  delete static_cast<OwnedArray*>(array->private_data);
}

OwnedArray& fill(ArrowArray& array,
                 const std::shared_ptr<const Columns>& columns,
                 std::int64_t length,
                 std::int64_t num_buffers) {
  auto owned = std::make_unique<OwnedArray>(OwnedArray{.columns = columns});
  array = {.length = length,
           .null_count = 0,
           .offset = 0,
           .n_buffers = num_buffers,
           .n_children = 0,
           .buffers = owned->buffers.data(),
           .children = nullptr,
           .dictionary = nullptr,
           .release = release_array,
           .private_data = owned.get()};
  return *owned.release();
}

const void* values_of(const Values& values) {
  return std::visit(
      [](const auto& of) -> const void* {
        using Of = std::decay_t<decltype(of)>;
        if constexpr (std::is_same_v<Of, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Of, Texts>) {
          return of.codes.data();
        } else {
          return of.data();
        }
      },
      values);
}

void fill_dictionary(ArrowArray& array,
                     const std::shared_ptr<const Columns>& columns,
                     const Texts& texts) {
  OwnedArray& owned = fill(array, columns, static_cast<std::int64_t>(texts.ends.size()) - 1, 3);
  owned.buffers = {nullptr, texts.ends.data(), texts.bytes.data()};
}

void fill(ArrowArray& array, const std::shared_ptr<const Columns>& columns, const Column& column) {
  const bool is_null = std::holds_alternative<std::monostate>(column.values);
  OwnedArray& owned = fill(array, columns, columns->num_rows, is_null ? 0 : 2);
  array.null_count = is_null ? columns->num_rows : column.present.zeros();
  owned.buffers = {column.present.zeros() == 0 ? nullptr : column.present.data(),
                   values_of(column.values), nullptr};
  if (const auto* texts = std::get_if<Texts>(&column.values)) {
    fill_dictionary(owned.dictionary, columns, *texts);
    array.dictionary = &owned.dictionary;
  }
}

void fill(ArrowArray& array, const std::shared_ptr<const Columns>& columns) {
  OwnedArray& owned = fill(array, columns, columns->num_rows, 1);
  owned.child_pointers.reserve(columns->columns.size());
  for (const Column& column : columns->columns) {
    fill(owned.children.emplace_back(), columns, column);
    owned.child_pointers.push_back(&owned.children.back());
    array.children = owned.child_pointers.data();
    array.n_children = static_cast<std::int64_t>(owned.child_pointers.size());
  }
}

struct Stream {
  std::shared_ptr<const Columns> columns;
  bool is_done = false;
};

Stream& stream_of(ArrowArrayStream* stream) {
  return *static_cast<Stream*>(stream->private_data);
}

// Fills the structure; where memory runs out, it is released and marked so.
template <class Structure, class... Content>
int filled(Structure* out, const Content&... content) {
  *out = {};
  try {
    fill(*out, content...);
    return 0;
  } catch (const std::bad_alloc&) {
    if (out->release != nullptr) out->release(out);
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return filled(out, *stream_of(stream).columns);
}

// A released array ends the stream.
int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  Stream& own = stream_of(stream);
  *out = {};
  if (std::exchange(own.is_done, true)) return 0;
  return filled(out, own.columns);
}

const char* last_error(ArrowArrayStream* /*stream*/) {
  return "there is not enough memory";
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<Stream*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void hand_out(std::shared_ptr<const Columns> columns, ArrowArrayStream& stream) {
  stream = {.get_schema = get_schema,
            .get_next = get_next,
            .get_last_error = last_error,
            .release = release_stream,
            .private_data = new Stream{std::move(columns)}};
}

}  // namespace assay::library
