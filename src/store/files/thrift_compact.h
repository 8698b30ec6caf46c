// Thrift's compact protocol, as far as Parquet's metadata needs it. It is written by hand because
// no maintained small reader is packaged; the specification is thrift-compact-protocol.md of Apache
// Thrift.
//
// After a failure a reader gives zeros and ends, so that callers check ok() where they finish a
// structure instead of after every number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::store {

enum class ThriftType : std::uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kInt16 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

struct ThriftField {
  int id = 0;
  ThriftType type = ThriftType::kStop;
};

class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return problem_.empty(); }

  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] std::size_t consumed() const { return at_; }

  // They give the fields of a structure:
  //   for (auto field = enter(); field.type != kStop; field = next(field))
  // Every field must be read or skipped before the next.
  ThriftField enter();
  ThriftField next(const ThriftField& previous);

  // These read a field, and fail when it has another type.
  std::int64_t integer(const ThriftField& field);
  bool boolean(const ThriftField& field);
  std::string_view binary(const ThriftField& field);
  // Gives the number of elements of `type` that follow.
  std::size_t list(const ThriftField& field, ThriftType type);
  // True if a structure follows, to be read with enter().
  bool structure(const ThriftField& field);

  void skip(const ThriftField& field) { skip(field.type); }

  void fail(std::string problem);

 private:
  void skip(ThriftType type);
  void skip_elements(ThriftType type);
  void skip_map();
  std::uint8_t byte();
  std::uint64_t varint();
  std::int64_t zigzag();
  std::string_view counted_bytes();
  std::string_view take(std::uint64_t count);
  bool expect(const ThriftField& field, ThriftType type);

  struct ListHeader {
    ThriftType type = ThriftType::kStop;
    std::size_t count = 0;
  };

  ListHeader list_header();

  std::string_view bytes_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string problem_;
};

class ThriftWriter {
 public:
  void begin();  // begins a structure: the message, or an element of a list
  void end();

  void integer(int id, std::int32_t value);
  void integer(int id, std::int64_t value);
  void boolean(int id, bool value);
  void binary(int id, std::string_view value);
  void begin(int id);  // begins a structure in a field
  void list(int id, ThriftType type, std::size_t count);

  void integer_element(std::int32_t value);
  void binary_element(std::string_view value);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void field(int id, ThriftType type);
  void varint(std::uint64_t value);
  void zigzag(std::int64_t value);

  std::string bytes_;
  std::string last_ids_;  // of the open structures, the innermost last; ids are below 128
};

}  // namespace assay::store
