#include "trace/reader/event_cutter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#  include <emmintrin.h>
#endif

namespace assay::trace {
namespace {

struct BlockMasks {
  std::uint64_t quotes = 0;
  std::uint64_t backslashes = 0;
  std::uint64_t brackets = 0;
};

#if defined(__SSE2__)

std::uint64_t equal_mask(__m128i bytes, char wanted) {
  const int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted)));
  return static_cast<std::uint32_t>(mask);
}

BlockMasks classify(const char* block) {
  BlockMasks masks;
  for (unsigned part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * part));
    // Setting bit 5 maps '[' to '{' and ']' to '}'.
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    masks.quotes |= equal_mask(bytes, '"') << (16 * part);
    masks.backslashes |= equal_mask(bytes, '\\') << (16 * part);
    masks.brackets |= (equal_mask(folded, '{') | equal_mask(folded, '}')) << (16 * part);
  }
  return masks;
}

#else

BlockMasks classify(const char* block) {
  BlockMasks masks;
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    const char c = block[i];
    if (c == '"') masks.quotes |= bit;
    if (c == '\\') masks.backslashes |= bit;
    if (c == '{' || c == '}' || c == '[' || c == ']') masks.brackets |= bit;
  }
  return masks;
}

#endif

// Returns a word whose bit i is the parity of the bits 0…i.
std::uint64_t prefix_xor(std::uint64_t bits) {
  for (unsigned shift = 1; shift < 64; shift *= 2)
    bits ^= bits << shift;
  return bits;
}

// Returns the bits that follow an odd run of backslashes. A loop is fast enough, since backslashes
// are rare in traces.
std::uint64_t escaped_bits(std::uint64_t backslashes, bool& carry) {
  std::uint64_t escaped = carry ? 1 : 0;
  carry = false;
  std::uint64_t pending = backslashes & ~escaped;
  while (pending != 0) {
    const int i = __builtin_ctzll(pending);
    pending &= pending - 1;
    if (i == 63) {
      carry = true;
    } else {
      escaped |= std::uint64_t{2} << i;
      pending &= ~(std::uint64_t{2} << i);
    }
  }
  return escaped;
}

// Finds the brackets and braces outside strings, 64 bytes at a time.
class StructureScan {
 public:
  static constexpr std::size_t kBlockBytes = 64;

  // Returns a word whose bit i is set when block[i] is one of {}[] outside a string. Blocks must be
  // given in order.
  std::uint64_t brackets(const char* block);

 private:
  std::uint64_t inside_string_ = 0;  // all ones when the next block starts inside a string
  bool escaped_ = false;             // the next byte follows an odd run of backslashes
};

std::uint64_t StructureScan::brackets(const char* block) {
  const BlockMasks masks = classify(block);
  std::uint64_t quotes = masks.quotes;
  if (masks.backslashes != 0 || escaped_) quotes &= ~escaped_bits(masks.backslashes, escaped_);
  const std::uint64_t inside = prefix_xor(quotes) ^ inside_string_;
  inside_string_ = (inside >> 63) != 0 ? ~std::uint64_t{0} : 0;
  return masks.brackets & ~inside;
}

constexpr std::size_t kPadding = 128;  // more than simdjson requires; also fills the last block
constexpr std::size_t kLongestEvent = std::size_t{1} << 28;
constexpr std::size_t kFront = 1;  // room for the '[' that a consumer may write before a batch

// Returns whether `text`, which ends in '[', ends with the start of the member "traceEvents".
bool opens_trace_events(std::string_view text) {
  constexpr std::string_view kKey = "\"traceEvents\"";
  const auto skip_space = [&] {
    while (!text.empty() && std::strchr(" \t\r\n", text.back()) != nullptr)
      text.remove_suffix(1);
  };
  text.remove_suffix(1);
  skip_space();
  if (text.empty() || text.back() != ':') return false;
  text.remove_suffix(1);
  skip_space();
  return text.ends_with(kKey);
}

// Returns whether there is only white space, perhaps after a byte order mark. An array that follows
// is the whole document.
bool is_blank(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

class Cutter {
 public:
  Cutter(core::ByteSource& source,
         const std::function<void(const EventBatch&)>& consume,
         std::size_t chunk_bytes)
      : source_(source),
        consume_(consume),
        chunk_bytes_(chunk_bytes),
        buffer_(kFront + 2 * chunk_bytes + kPadding) {}

  CutDocument run() {
    while (fill()) {
      scan_whole_blocks();
      hand_over();
    }
    scan_last_block();
    hand_over();
    finish();
    return std::move(document_);
  }

 private:
  // Appends one chunk of text. Returns false at the end of the text.
  bool fill() {
    if (size_ > kLongestEvent) {
      if (document_.found_events) {
        document_.read_error =
            "more than 256 MB without the end of an event: a quote or a bracket is missing";
      }
      return false;
    }
    if (buffer_.size() < size_ + chunk_bytes_ + kPadding) buffer_.resize(2 * buffer_.size());
    auto got = source_.read(buffer_.data() + size_, chunk_bytes_);
    if (!got.ok()) {
      document_.read_error = got.error().message;
      return false;
    }
    size_ += got.value();
    document_.text_bytes += got.value();
    return got.value() > 0;
  }

  void scan_whole_blocks() {
    while (size_ - scanned_ >= StructureScan::kBlockBytes)
      scan_block(~std::uint64_t{0});
  }

  void scan_last_block() {
    const std::size_t left = size_ - scanned_;
    if (left == 0) return;
    std::memset(buffer_.data() + size_, ' ', StructureScan::kBlockBytes - left);
    scan_block((std::uint64_t{1} << left) - 1);
    scanned_ = size_;
  }

  void scan_block(std::uint64_t valid) {
    std::uint64_t bits = scan_.brackets(buffer_.data() + scanned_) & valid;
    for (; bits != 0; bits &= bits - 1) {
      on_bracket(scanned_ + static_cast<std::size_t>(__builtin_ctzll(bits)));
    }
    scanned_ += StructureScan::kBlockBytes;
  }

  void on_bracket(std::size_t at) {
    const char c = buffer_[at];
    if (c == '{' || c == '[') {
      on_open(at);
    } else if (in_events_) {
      on_close_in_events(at);
    } else {
      --depth_;
    }
  }

  void on_open(std::size_t at) {
    if (follows_a_comma_in_an_object(at)) {
      // The previous event was never closed, or the array of events was closed too early.
      ++document_.misplaced_brackets;
      depth_ = events_depth_;
      in_events_ = true;
    }
    if (in_events_ && depth_ == events_depth_) event_begin_ = at;
    ++depth_;
    if (!in_events_ && buffer_[at] == '[' && depth_ <= 2) maybe_enter_events(at);
  }

  // Returns whether the bracket is a '{' right after a comma, directly in an event or in the
  // document. Such an object lacks a key, so it must be an event.
  [[nodiscard]] bool follows_a_comma_in_an_object(std::size_t at) const {
    if (!document_.found_events || buffer_[at] != '{') return false;
    const bool in_event = in_events_ && depth_ == events_depth_ + 1 && buffer_[event_begin_] == '{';
    const bool in_document = !in_events_ && depth_ == events_depth_ - 1;
    if (!in_event && !in_document) return false;
    const std::size_t container = in_event ? event_begin_ : rest_begin_;
    std::size_t before = at - 1;
    while (before > container && static_cast<unsigned char>(buffer_[before]) <= ' ')
      --before;
    return buffer_[before] == ',';
  }

  void on_close_in_events(std::size_t at) {
    const bool curly = buffer_[at] == '}';
    if (depth_ == events_depth_) {
      if (curly) {
        ++document_.misplaced_brackets;
      } else {
        --depth_;
        leave_events(at);
      }
      return;
    }
    --depth_;
    if (depth_ > events_depth_) return;
    const bool opened_curly = buffer_[event_begin_] == '{';
    if (curly && opened_curly) {
      events_.push_back({to_offset(event_begin_), to_offset(at + 1)});
    } else if (curly || opened_curly) {
      ++document_.misplaced_brackets;
    }
  }

  // The buffer stays far below 4 GB because of kLongestEvent.
  static std::uint32_t to_offset(std::size_t at) { return static_cast<std::uint32_t>(at); }

  void maybe_enter_events(std::size_t at) {
    const std::string_view before(buffer_.data() + rest_begin_, at + 1 - rest_begin_);
    const bool bare_array = depth_ == 1 && is_blank(before.substr(0, before.size() - 1));
    if (!bare_array && !opens_trace_events(before)) return;
    document_.rest += before;
    document_.found_events = true;
    in_events_ = true;
    events_depth_ = depth_;
  }

  void leave_events(std::size_t at) {
    in_events_ = false;
    rest_begin_ = at;
  }

  // Gives the events found so far to the consumer and removes them from the buffer.
  void hand_over() {
    std::size_t keep_from = in_events_ ? scanned_ : rest_begin_;
    if (in_events_ && depth_ > events_depth_) keep_from = event_begin_;
    if (!events_.empty()) {
      const std::size_t begin = events_.front().begin;
      const std::size_t end = events_.back().end;
      for (EventBatch::Range& range : events_) {
        range.begin -= to_offset(begin);
        range.end -= to_offset(begin);
      }
      consume_and_restore(begin, end);
      events_.clear();
    }
    drop_before(keep_from);
  }

  // Calls the consumer, which may write one byte before the batch and kPadding bytes after it, and
  // restores those bytes.
  void consume_and_restore(std::size_t begin, std::size_t end) {
    char before = buffer_[begin - 1];
    char after[kPadding];
    std::memcpy(after, buffer_.data() + end, kPadding);
    consume_({buffer_.data() + begin, end - begin, events_});
    buffer_[begin - 1] = before;
    std::memcpy(buffer_.data() + end, after, kPadding);
  }

  void drop_before(std::size_t keep_from) {
    const std::size_t shift = keep_from - kFront;
    if (shift == 0) return;
    std::memmove(buffer_.data() + kFront, buffer_.data() + keep_from, size_ - keep_from);
    size_ -= shift;
    scanned_ -= shift;
    event_begin_ -= std::min(event_begin_, shift);
    rest_begin_ -= std::min(rest_begin_, shift);
  }

  void finish() {
    document_.truncated = depth_ > 0;
    if (!in_events_) {
      document_.rest.append(buffer_.data() + rest_begin_, size_ - rest_begin_);
    } else {
      document_.rest += events_depth_ == 2 ? "]}" : "]";
    }
  }

  core::ByteSource& source_;
  const std::function<void(const EventBatch&)>& consume_;
  std::size_t chunk_bytes_;
  CutDocument document_;
  StructureScan scan_;
  std::vector<char> buffer_;
  std::vector<EventBatch::Range> events_;
  std::size_t size_ = kFront;     // end of the text in buffer_
  std::size_t scanned_ = kFront;  // the brackets before this have been handled
  std::size_t rest_begin_ = kFront;
  std::size_t event_begin_ = kFront;
  std::int64_t depth_ = 0;
  std::int64_t events_depth_ = 0;
  bool in_events_ = false;
};

}  // namespace

CutDocument cut_events(core::ByteSource& source,
                       const std::function<void(const EventBatch&)>& consume,
                       std::size_t chunk_bytes) {
  return Cutter(source, consume, chunk_bytes).run();
}

core::Status check_content(const CutDocument& cut, const std::string& name) {
  if (cut.found_events) return {};
  if (!cut.read_error.empty()) return core::Error{cut.read_error};
  if (cut.text_bytes == 0) return core::Error{fmt::format("'{}' is empty", name)};
  return core::Error{
      fmt::format("'{}' is not a PyTorch profiler trace: it has no array \"traceEvents\"", name)};
}

}  // namespace assay::trace
