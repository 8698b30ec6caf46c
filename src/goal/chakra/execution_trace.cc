#include "goal/chakra/execution_trace.h"

#include <fmt/core.h>

#include <utility>

#include "goal/chakra/wire.h"

namespace assay::goal {
namespace {

// Field numbers of the schema.
enum NodeField : std::uint32_t {
  kId = 1,
  kName = 2,
  kType = 3,
  kDataDeps = 5,
  kStart = 6,
  kDuration = 7,
  kInputs = 8,
  kAttribute = 10,
};

constexpr std::uint32_t kAttributeName = 1;
constexpr std::uint32_t kInt32Value = 7;
constexpr std::uint32_t kInt64Value = 9;
constexpr std::uint32_t kSint32Value = 15;
constexpr std::uint32_t kSint64Value = 17;
constexpr std::uint32_t kBoolValue = 27;
constexpr std::uint32_t kStringValue = 29;
constexpr std::uint32_t kInputValues = 1;
constexpr std::uint64_t kLongestUs = 1ULL << 50;  // so that nanoseconds fit
constexpr const char* kVersion = "0.0.4";

struct Attribute {
  std::string_view name;
  std::uint64_t number = 0;
  std::string_view text;
};

// Attributes come as whatever type their writer chose.
std::optional<Attribute> parse_attribute(std::string_view bytes) {
  WireReader reader(bytes);
  Attribute attribute;
  while (const std::optional<WireField> field = reader.next()) {
    if (field->number == kAttributeName) {
      attribute.name = field->bytes;
    } else if (field->number == kSint32Value || field->number == kSint64Value) {
      attribute.number = static_cast<std::uint64_t>(from_zigzag(field->value));
    } else if (field->number == kStringValue) {
      attribute.text = field->bytes;
    } else if (field->kind != WireKind::kBytes) {
      attribute.number = field->value;
    }
  }
  if (reader.is_damaged()) return std::nullopt;
  return attribute;
}

class NodeParser {
 public:
  // std::nullopt: no node.
  std::optional<ChakraNode> parse(std::string_view bytes) {
    WireReader reader(bytes);
    while (const std::optional<WireField> field = reader.next()) {
      if (!take(*field)) return std::nullopt;
    }
    if (reader.is_damaged()) return std::nullopt;
    return std::move(node_);
  }

 private:
  bool take(const WireField& field) {
    switch (field.number) {
      case kId:
        node_.id = field.value;
        return field.kind == WireKind::kVarint;
      case kName:
        node_.name = field.bytes;
        return true;
      case kType:
        node_.type = static_cast<ChakraType>(field.value);
        return field.value <= static_cast<std::uint64_t>(ChakraType::kCollective);
      case kDataDeps:
        return take_dependencies(field);
      case kStart:
        node_.start_us = field.value;
        return field.value <= kLongestUs;
      case kDuration:
        node_.duration_us = field.value;
        return field.value <= kLongestUs;
      case kInputs:
        return take_inputs(field.bytes);
      case kAttribute:
        return take_attribute(field.bytes);
      default:
        return true;
    }
  }

  // Packed, or one by one.
  bool take_dependencies(const WireField& field) {
    if (field.kind == WireKind::kVarint) {
      node_.data_deps.push_back(field.value);
      return true;
    }
    WireReader packed(field.bytes);
    while (!packed.at_end()) {
      const std::optional<std::uint64_t> id = packed.varint();
      if (!id) return false;
      node_.data_deps.push_back(*id);
    }
    return field.kind == WireKind::kBytes;
  }

  bool take_inputs(std::string_view bytes) {
    WireReader inputs(bytes);
    while (const std::optional<WireField> field = inputs.next()) {
      if (field->number == kInputValues) node_.values = field->bytes;
    }
    return !inputs.is_damaged();
  }

  bool take_attribute(std::string_view bytes) {
    const std::optional<Attribute> attribute = parse_attribute(bytes);
    if (!attribute) return false;
    const std::string_view name = attribute->name;
    const auto narrow = static_cast<std::uint32_t>(attribute->number);
    if (name == "is_cpu_op") node_.is_on_cpu = attribute->number != 0;
    if (name == "comm_size") node_.bytes = attribute->number;
    if (name == "comm_src") node_.source = narrow;
    if (name == "comm_dst") node_.destination = narrow;
    if (name == "comm_tag") node_.tag = narrow;
    if (name == "pg_name")
      node_.group = attribute->text.empty() ? fmt::format("{}", attribute->number)
                                            : std::string(attribute->text);
    if (name != "comm_type") return true;
    node_.collective = static_cast<ChakraCollective>(attribute->number);
    return attribute->number <= static_cast<std::uint64_t>(ChakraCollective::kBarrier);
  }

  ChakraNode node_;
};

void write_attribute(WireWriter& node,
                     std::string_view name,
                     std::uint32_t field,
                     std::uint64_t value) {
  WireWriter attribute;
  attribute.bytes(kAttributeName, name);
  attribute.number(field, value);
  node.bytes(kAttribute, attribute.message());
}

void write_text_attribute(WireWriter& node, std::string_view name, std::string_view value) {
  WireWriter attribute;
  attribute.bytes(kAttributeName, name);
  attribute.bytes(kStringValue, value);
  node.bytes(kAttribute, attribute.message());
}

// The types are those that Chakra's own feeder reads, which looks at no others.
void write_attributes(WireWriter& message, const ChakraNode& node) {
  write_attribute(message, "is_cpu_op", kBoolValue, node.is_on_cpu ? 1 : 0);
  if (node.type == ChakraType::kCollective) {
    write_attribute(message, "comm_type", kInt64Value, static_cast<std::uint64_t>(node.collective));
    if (!node.group.empty()) write_text_attribute(message, "pg_name", node.group);
  }
  const bool is_message = node.type == ChakraType::kSend || node.type == ChakraType::kReceive;
  if (is_message || node.type == ChakraType::kCollective)
    write_attribute(message, "comm_size", kInt64Value, node.bytes);
  if (!is_message) return;
  write_attribute(message, "comm_src", kInt32Value, node.source.value_or(0));
  write_attribute(message, "comm_dst", kInt32Value, node.destination.value_or(0));
  write_attribute(message, "comm_tag", kInt32Value, node.tag);
}

std::string node_message(const ChakraNode& node) {
  WireWriter message;
  message.number(kId, node.id);
  message.bytes(kName, node.name);
  message.number(kType, static_cast<std::uint64_t>(node.type));
  if (!node.data_deps.empty()) {
    WireWriter packed;
    for (const std::uint64_t id : node.data_deps)
      packed.varint(id);
    message.bytes(kDataDeps, packed.message());
  }
  if (node.duration_us > 0) message.number(kDuration, node.duration_us);
  write_attributes(message, node);
  return message.message();
}

}  // namespace

core::Result<std::vector<ChakraNode>> parse_execution_trace(std::string_view bytes,
                                                            const std::string& name) {
  WireReader reader(bytes);
  std::vector<ChakraNode> nodes;
  for (std::size_t place = 0; !reader.at_end(); ++place) {
    const std::optional<std::uint64_t> length = reader.varint();
    const std::optional<std::string_view> message = length ? reader.take(*length) : std::nullopt;
    if (!message)
      return core::Error{fmt::format("{}: cut or damaged behind message {}", name, place)};
    if (place == 0) continue;  // about the file
    std::optional<ChakraNode> node = NodeParser().parse(*message);
    if (!node)
      return core::Error{
          fmt::format("{}: message {} is no node of an execution trace", name, place)};
    nodes.push_back(std::move(*node));
  }
  return nodes;
}

std::string execution_trace(const std::vector<ChakraNode>& nodes) {
  WireWriter metadata;
  metadata.bytes(1, kVersion);
  WireWriter file;
  file.varint(metadata.message().size());
  std::string bytes = file.message() + metadata.message();
  for (const ChakraNode& node : nodes) {
    const std::string message = node_message(node);
    WireWriter length;
    length.varint(message.size());
    bytes += length.message();
    bytes += message;
  }
  return bytes;
}

}  // namespace assay::goal
