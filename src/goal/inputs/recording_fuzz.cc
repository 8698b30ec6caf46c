// libFuzzer target: any bytes are a recording of assay's recorder, and none may crash, hang or
// leak.
#include <cstdint>
#include <string>
#include <vector>

#include "goal/inputs/join_processes.h"
#include "goal/inputs/recording.h"
#include "model/recording_file.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer gives the name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  // The inputs lack most of block 0, which is zeros: they are a header and the blocks behind it.
  namespace rec = model::recording;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.size() > sizeof(rec::Header)) {
    bytes.insert(sizeof(rec::Header), rec::kBlockBytes - sizeof(rec::Header), '\0');
  }
  const auto file = rec::File::parse(std::move(bytes), "fuzz.rec");
  if (!file.ok()) return 0;
  goal::join_processes(goal::recordings_of(goal::sort_records(file.value(), "fuzz.rec")));
  return 0;
}
