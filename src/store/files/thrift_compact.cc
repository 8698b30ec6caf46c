#include "store/files/thrift_compact.h"

#include <utility>

namespace assay::store {
namespace {

constexpr int kMaxDepth = 32;

}  // namespace

void ThriftReader::fail(std::string problem) {
  if (ok()) problem_ = std::move(problem);
}

std::uint8_t ThriftReader::byte() {
  const std::string_view taken = take(1);
  return taken.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(taken[0]);
}

std::string_view ThriftReader::take(std::uint64_t count) {
  if (!ok()) return {};
  if (count > bytes_.size() - at_) {
    fail("its metadata ends too early");
    return {};
  }
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

std::uint64_t ThriftReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint64_t part = byte();
    value |= (part & 0x7F) << shift;
    if (part < 0x80) return value;
  }
  fail("its metadata holds a number of more than 64 bits");
  return 0;
}

std::int64_t ThriftReader::zigzag() {
  const std::uint64_t value = varint();
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

std::string_view ThriftReader::counted_bytes() {
  return take(varint());
}

ThriftField ThriftReader::enter() {
  if (++depth_ > kMaxDepth) fail("its metadata is nested too deeply");
  return next({});
}

ThriftField ThriftReader::next(const ThriftField& previous) {
  const std::uint8_t head = byte();
  if (!ok() || head == 0) {
    --depth_;
    return {};
  }
  const int kind = head & 0x0F;
  if (kind == 0 || kind > static_cast<int>(ThriftType::kStruct)) {
    fail("its metadata holds a field of an unknown type");
    return {};
  }
  const auto type = static_cast<ThriftType>(kind);
  const int step = head >> 4;
  if (step != 0) return {previous.id + step, type};
  return {static_cast<std::int16_t>(zigzag()), type};
}

bool ThriftReader::expect(const ThriftField& field, ThriftType type) {
  if (field.type != type) fail("its metadata holds a field of the wrong type");
  return ok();
}

std::int64_t ThriftReader::integer(const ThriftField& field) {
  if (field.type == ThriftType::kByte) return static_cast<std::int8_t>(byte());
  if (field.type < ThriftType::kInt16 || field.type > ThriftType::kInt64) {
    fail("its metadata holds a field of the wrong type");
    return 0;
  }
  return zigzag();
}

bool ThriftReader::boolean(const ThriftField& field) {
  if (field.type != ThriftType::kFalse) expect(field, ThriftType::kTrue);
  return field.type == ThriftType::kTrue;
}

std::string_view ThriftReader::binary(const ThriftField& field) {
  return expect(field, ThriftType::kBinary) ? counted_bytes() : std::string_view();
}

bool ThriftReader::structure(const ThriftField& field) {
  return expect(field, ThriftType::kStruct);
}

ThriftReader::ListHeader ThriftReader::list_header() {
  const std::uint8_t head = byte();
  std::uint64_t count = head >> 4;
  if (count == 15) count = varint();
  // Every element takes at least one byte.
  if (count > bytes_.size() - at_) fail("its metadata holds a list longer than the file");
  if (!ok()) return {};
  return {static_cast<ThriftType>(head & 0x0F), static_cast<std::size_t>(count)};
}

std::size_t ThriftReader::list(const ThriftField& field, ThriftType type) {
  if (!expect(field, ThriftType::kList)) return 0;
  const ListHeader header = list_header();
  if (header.count > 0 && header.type != type) {
    fail("its metadata holds a list of the wrong type");
    return 0;
  }
  return header.count;
}

void ThriftReader::skip_elements(ThriftType type) {
  // A boolean field is told by its type alone, but a boolean in a list is a byte of its own.
  if (type == ThriftType::kTrue || type == ThriftType::kFalse) {
    byte();
  } else {
    skip(type);
  }
}

void ThriftReader::skip_map() {
  const std::uint64_t count = varint();
  if (count == 0) return;
  const std::uint8_t types = byte();
  for (std::uint64_t i = 0; i < count && ok(); ++i) {
    skip_elements(static_cast<ThriftType>(types >> 4));
    skip_elements(static_cast<ThriftType>(types & 0x0F));
  }
}

void ThriftReader::skip(ThriftType type) {
  if (!ok()) return;
  switch (type) {
    case ThriftType::kTrue:
    case ThriftType::kFalse:
      return;
    case ThriftType::kByte:
      byte();
      return;
    case ThriftType::kInt16:
    case ThriftType::kInt32:
    case ThriftType::kInt64:
      varint();
      return;
    case ThriftType::kDouble:
      take(8);
      return;
    case ThriftType::kBinary:
      counted_bytes();
      return;
    case ThriftType::kStruct:
      for (auto field = enter(); field.type != ThriftType::kStop; field = next(field))
        skip(field.type);
      return;
    case ThriftType::kList:
    case ThriftType::kSet:
    case ThriftType::kMap:
      break;
    default:
      fail("its metadata holds a field of an unknown type");
      return;
  }
  if (++depth_ > kMaxDepth) fail("its metadata is nested too deeply");
  if (type == ThriftType::kMap) {
    skip_map();
  } else {
    const ListHeader header = list_header();
    for (std::size_t i = 0; i < header.count && ok(); ++i)
      skip_elements(header.type);
  }
  --depth_;
}

void ThriftWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void ThriftWriter::zigzag(std::int64_t value) {
  varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

void ThriftWriter::begin() {
  last_ids_ += '\0';
}

void ThriftWriter::end() {
  bytes_ += '\0';
  last_ids_.pop_back();
}

void ThriftWriter::field(int id, ThriftType type) {
  const int step = id - last_ids_.back();  // 1 to 15: the fields that we write have no wider gaps
  bytes_ += static_cast<char>((step << 4) | static_cast<int>(type));
  last_ids_.back() = static_cast<char>(id);
}

void ThriftWriter::integer(int id, std::int32_t value) {
  field(id, ThriftType::kInt32);
  zigzag(value);
}

void ThriftWriter::integer(int id, std::int64_t value) {
  field(id, ThriftType::kInt64);
  zigzag(value);
}

void ThriftWriter::boolean(int id, bool value) {
  field(id, value ? ThriftType::kTrue : ThriftType::kFalse);
}

void ThriftWriter::binary(int id, std::string_view value) {
  field(id, ThriftType::kBinary);
  binary_element(value);
}

void ThriftWriter::begin(int id) {
  field(id, ThriftType::kStruct);
  begin();
}

void ThriftWriter::list(int id, ThriftType type, std::size_t count) {
  field(id, ThriftType::kList);
  const auto kind = static_cast<int>(type);
  if (count < 15) {
    bytes_ += static_cast<char>((static_cast<int>(count) << 4) | kind);
  } else {
    bytes_ += static_cast<char>(0xF0 | kind);
    varint(count);
  }
}

void ThriftWriter::integer_element(std::int32_t value) {
  zigzag(value);
}

void ThriftWriter::binary_element(std::string_view value) {
  varint(value.size());
  bytes_ += value;
}

}  // namespace assay::store
