#include "core/temporary_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstring>
#include <utility>

namespace assay::core {
namespace {

// A signal handler may neither allocate nor lock, so the names stand in fixed slots. When more
// files are being written at once than there are slots, the rest are removed by their guards only.
struct Slot {
  enum class State { kFree, kFilling, kInUse };
  std::atomic<State> state{State::kFree};
  char path[PATH_MAX] = {};
};

constexpr std::size_t kSlots = 64;
constexpr std::size_t kNoSlot = kSlots;

constinit std::array<Slot, kSlots> g_slots;

std::size_t claim_slot(const char* path) {
  if (std::strlen(path) >= PATH_MAX) return kNoSlot;
  for (std::size_t i = 0; i < kSlots; ++i) {
    Slot& slot = g_slots[i];
    Slot::State expected = Slot::State::kFree;
    if (!slot.state.compare_exchange_strong(expected, Slot::State::kFilling)) continue;
    std::strncpy(slot.path, path, PATH_MAX - 1);
    slot.state = Slot::State::kInUse;
    return i;
  }
  return kNoSlot;
}

}  // namespace

TemporaryFile TemporaryFile::beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  const std::string name =
      fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), counter++);
  return TemporaryFile(path.parent_path() / name);
}

TemporaryFile::TemporaryFile(std::filesystem::path path)
    : path_(std::move(path)), slot_(claim_slot(path_.c_str())) {}

TemporaryFile::~TemporaryFile() {
  ::unlink(path_.c_str());
  if (slot_ != kNoSlot) g_slots[slot_].state = Slot::State::kFree;
}

void remove_temporary_files() {
  for (const Slot& slot : g_slots) {
    if (slot.state == Slot::State::kInUse) ::unlink(slot.path);
  }
}

}  // namespace assay::core
