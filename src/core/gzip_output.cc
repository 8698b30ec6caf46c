#include "core/gzip_output.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#if ASSAY_HAVE_ISAL
#  include <isa-l/igzip_lib.h>
#else
#  include <zlib.h>
#endif

#include "core/check.h"

namespace assay::core {
namespace {

constexpr std::size_t kOutputBytes = 1 << 18;

}  // namespace

// Level 1: a trace shrinks to a tenth, and higher levels take several times as long for a little
// less.
#if ASSAY_HAVE_ISAL

class GzipOutput::Deflater {
 public:
  Deflater() : workspace_(ISAL_DEF_LVL1_DEFAULT), output_(kOutputBytes) {
    isal_deflate_init(&stream_);
    stream_.gzip_flag = IGZIP_GZIP;
    stream_.level = 1;
    stream_.level_buf = workspace_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(workspace_.size());
  }

  void give(std::string_view input) {
    // isa-l's interface takes non-const pointers but does not write to its input.
    stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<std::uint32_t>(input.size());
  }

  // Returns compressed bytes; fewer than the buffer holds when all input is taken.
  std::string_view run(bool last) {
    stream_.end_of_stream = last ? 1 : 0;
    stream_.flush = NO_FLUSH;
    stream_.next_out = output_.data();
    stream_.avail_out = static_cast<std::uint32_t>(output_.size());
    ASSAY_CHECK(isal_deflate(&stream_) == COMP_OK, "isa-l refuses its own parameters");
    return {reinterpret_cast<const char*>(output_.data()), output_.size() - stream_.avail_out};
  }

  [[nodiscard]] bool is_full() const { return stream_.avail_out == 0; }

 private:
  isal_zstream stream_{};
  std::vector<std::uint8_t> workspace_;
  std::vector<std::uint8_t> output_;
};

#else

class GzipOutput::Deflater {
 public:
  Deflater() : output_(kOutputBytes) {
    constexpr int kGzip = 16 + MAX_WBITS;
    constexpr int kMemoryLevel = 8;
    ASSAY_CHECK(
        deflateInit2(&stream_, 1, Z_DEFLATED, kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK,
        "zlib refuses its own parameters");
  }

  ~Deflater() { deflateEnd(&stream_); }

  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  void give(std::string_view input) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = static_cast<uInt>(input.size());
  }

  std::string_view run(bool last) {
    stream_.next_out = output_.data();
    stream_.avail_out = static_cast<uInt>(output_.size());
    deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
    return {reinterpret_cast<const char*>(output_.data()), output_.size() - stream_.avail_out};
  }

  [[nodiscard]] bool is_full() const { return stream_.avail_out == 0; }

 private:
  z_stream stream_{};
  std::vector<Bytef> output_;
};

#endif

GzipOutput::GzipOutput(Sink sink)
    : sink_(std::move(sink)), deflater_(std::make_unique<Deflater>()) {}

GzipOutput::~GzipOutput() = default;

Status GzipOutput::write(std::string_view bytes) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
  while (!bytes.empty()) {
    deflater_->give(bytes.substr(0, kMostAtOnce));
    bytes.remove_prefix(std::min(bytes.size(), kMostAtOnce));
    ASSAY_TRY(drain(false));
  }
  return {};
}

Status GzipOutput::finish() {
  deflater_->give({});
  return drain(true);
}

Status GzipOutput::drain(bool last) {
  do {
    const std::string_view compressed = deflater_->run(last);
    if (!compressed.empty()) ASSAY_TRY(sink_(compressed));
  } while (deflater_->is_full());
  return {};
}

}  // namespace assay::core
