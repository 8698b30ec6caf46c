#include "core/output_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "core/interrupt.h"

namespace assay::core {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryStart = ".assay-";
constexpr std::string_view kTemporaryEnd = ".tmp";
constexpr std::size_t kRandomDigits = 16;
constexpr mode_t kFileMode = 0666;
constexpr mode_t kPermissions = 0777;
constexpr int kMostLinks = 40;
constexpr int kMostTries = 100;
constexpr std::chrono::milliseconds kBetweenLooksForAReader{50};

Error cannot_write(const fs::path& path, int error) {
  return Error{fmt::format("cannot write '{}': {}", path.string(), std::strerror(error)), true};
}

// Closes a descriptor at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int number() const { return number_; }

  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

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

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::string temporary_name() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return fmt::format("{}{:016x}{}", kTemporaryStart, number, kTemporaryEnd);
}

// Removes the file or folder if it is one of ours and no living process holds its lock.
void remove_if_left_behind(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return;
  if (status.st_uid != ::geteuid() || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// Looks once at each folder, because folders may have many files and get many more.
void remove_left_behind(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (is_temporary_name(entry->d_name)) remove_if_left_behind(folder / entry->d_name);
  }
}

// Where the content of an output goes in the end.
struct Destination {
  fs::path path;
  bool in_place = false;            // it is no regular file
  std::optional<mode_t> mode = {};  // of a file that exists
};

// Links into /proc are the process's own open files, as /dev/stdout is: they have no other name.
bool is_open_file(const fs::path& path) {
  return path.string().starts_with("/proc/") || path.string().starts_with("/dev/fd/");
}

// Follows links, the last of which may lead to a file that does not exist yet.
Result<Destination> find_destination(const fs::path& path) {
  fs::path target = path;
  for (int links = 0; links < kMostLinks; ++links) {
    if (is_open_file(target)) return Destination{.path = path, .in_place = true};
    struct stat status = {};
    if (::lstat(target.c_str(), &status) != 0) {
      if (errno == ENOENT) return Destination{.path = target};
      return cannot_write(path, errno);
    }
    if (S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
    if (S_ISREG(status.st_mode)) {
      if (::access(target.c_str(), W_OK) != 0) return cannot_write(path, errno);
      return Destination{.path = target, .mode = status.st_mode & kPermissions};
    }
    if (!S_ISLNK(status.st_mode)) return Destination{.path = target, .in_place = true};
    std::error_code code;
    const fs::path next = fs::read_symlink(target, code);
    if (code) return cannot_write(path, code.value());
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return cannot_write(path, ELOOP);
}

// Waits for a FIFO's reader, as the shell does, but heeds Ctrl-C.
Result<int> open_in_place(const fs::path& path) {
  for (;;) {
    const int file = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) {
      ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK);
      return file;
    }
    const int error = errno;
    std::error_code code;
    if (error != ENXIO || fs::status(path, code).type() != fs::file_type::fifo)
      return cannot_write(path, error);
    ASSAY_TRY(check_interrupt());
    std::this_thread::sleep_for(kBetweenLooksForAReader);
  }
}

Status write_all(int file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return cannot_write(path, errno);
    ASSAY_TRY(check_interrupt());
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

// Some network file systems tell only when a file is closed that their disk is full. The descriptor
// itself stays open.
Status check_close(int file, const fs::path& path) {
  const int copy = ::dup(file);
  if (copy < 0 || ::close(copy) != 0) return cannot_write(path, errno);
  return {};
}

Status copy_in_place(const fs::path& from, const fs::path& to) {
  const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (source.number() < 0) return cannot_write(to, errno);
  const Descriptor target(ASSAY_TRY(open_in_place(to)));
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const ssize_t count = ::read(source.number(), buffer.data(), buffer.size());
    if (count == 0) return {};
    if (count < 0 && errno != EINTR) return cannot_write(to, errno);
    if (count > 0)
      ASSAY_TRY(write_all(target.number(), {buffer.data(), static_cast<std::size_t>(count)}, to));
  }
}

Status sync(const fs::path& file_or_folder, const fs::path& path) {
  const Descriptor opened(::open(file_or_folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.number() < 0 || ::fsync(opened.number()) != 0) return cannot_write(path, errno);
  return {};
}

// Devices and FIFOs may lie where no file can be made, as in /dev.
Result<TemporaryFile> temporary_for_in_place(const fs::path& path) {
  std::error_code code;
  const fs::path folder = fs::temp_directory_path(code);
  if (code) {
    return Error{fmt::format("cannot write '{}': the folder for temporary files (TMPDIR): {}",
                             path.string(), code.message())};
  }
  auto temporary = TemporaryFile::beside(folder / "output");
  if (temporary.ok()) return temporary;
  return temporary.error().context(fmt::format("cannot write '{}'", path.string()));
}

// Whether this process holds the lock of what it has just made: another process may have taken it
// for something left behind, and have removed it, before it was locked.
bool is_locked(int descriptor) {
  struct stat status = {};
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  return locked && ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

bool is_temporary_name(std::string_view name) {
  return name.size() == kTemporaryStart.size() + kRandomDigits + kTemporaryEnd.size() &&
         name.starts_with(kTemporaryStart) && name.ends_with(kTemporaryEnd) &&
         name.find_first_not_of("0123456789abcdef", kTemporaryStart.size()) ==
             name.size() - kTemporaryEnd.size();
}

Result<TemporaryFile> TemporaryFile::beside(const fs::path& path) {
  remove_left_behind(folder_of(path));
  for (int tries = 0; tries < kMostTries; ++tries) {
    const fs::path name = path.parent_path() / temporary_name();
    Descriptor file(
        ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (file.number() < 0 && errno == EEXIST) continue;
    if (file.number() < 0) return cannot_write(path, errno);
    if (is_locked(file.number())) return TemporaryFile(name, file.release());
  }
  return cannot_write(path, EBUSY);
}

TemporaryFile::TemporaryFile(fs::path path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), slot_(claim_slot(path_.c_str())) {}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      slot_(std::exchange(other.slot_, kNoSlot)) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (slot_ != kNoSlot) g_slots[slot_].state = Slot::State::kFree;
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<TemporaryFolder> TemporaryFolder::beside(const fs::path& path) {
  remove_left_behind(folder_of(path));
  for (int tries = 0; tries < kMostTries; ++tries) {
    const fs::path name = path.parent_path() / temporary_name();
    if (::mkdir(name.c_str(), kPermissions) != 0) {
      if (errno == EEXIST) continue;
      return cannot_write(path, errno);
    }
    Descriptor folder(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder.number() < 0) {
      const int error = errno;
      ::rmdir(name.c_str());
      return cannot_write(path, error);
    }
    if (is_locked(folder.number())) return TemporaryFolder(name, folder.release());
  }
  return cannot_write(path, EBUSY);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

namespace {

Status place(const fs::path& whole,
             const fs::path& path,
             const Destination& destination,
             Durability durability) {
  if (destination.in_place) return copy_in_place(whole, destination.path);
  if (destination.mode && ::chmod(whole.c_str(), *destination.mode) != 0)
    return cannot_write(path, errno);
  if (durability != Durability::kUnsynced) ASSAY_TRY(sync(whole, path));
  if (::rename(whole.c_str(), destination.path.c_str()) != 0) return cannot_write(path, errno);
  return durability == Durability::kLasting ? sync(folder_of(destination.path), path) : Status{};
}

Status write_and_place(const fs::path& path,
                       const std::function<Status(const TemporaryFile&)>& write,
                       Durability durability) {
  ASSAY_TRY(check_interrupt());
  const Destination destination = ASSAY_TRY(find_destination(path));
  TemporaryFile temporary =
      ASSAY_TRY(destination.in_place ? temporary_for_in_place(path)
                                     : TemporaryFile::beside(destination.path));
  ASSAY_TRY(write(temporary));
  ASSAY_TRY(check_interrupt());
  ASSAY_TRY(place(temporary.path(), path, destination, durability));
  if (!destination.in_place) temporary.release();
  return {};
}

}  // namespace

Status place_file(const fs::path& whole, const fs::path& path, Durability durability) {
  return place(whole, path, ASSAY_TRY(find_destination(path)), durability);
}

Status remove_file(const fs::path& path) {
  const Destination destination = ASSAY_TRY(find_destination(path));
  if (destination.in_place || ::unlink(destination.path.c_str()) == 0 || errno == ENOENT) return {};
  return Error{fmt::format("cannot remove '{}': {}", path.string(), std::strerror(errno))};
}

// A link cannot be locked, so it gets its temporary name in a folder, which can.
Status replace_link(const fs::path& link, const fs::path& target) {
  std::error_code error;
  const fs::file_type type = fs::symlink_status(link, error).type();
  if (type != fs::file_type::not_found && type != fs::file_type::symlink)
    return cannot_write(link, EEXIST);
  const TemporaryFolder folder = ASSAY_TRY(TemporaryFolder::beside(link));
  const fs::path temporary = folder.path() / "link";
  if (::symlink(target.c_str(), temporary.c_str()) != 0 ||
      ::rename(temporary.c_str(), link.c_str()) != 0)
    return cannot_write(link, errno);
  return {};
}

Status write_file_with(const fs::path& path,
                       const std::function<Status(const fs::path&)>& write,
                       Durability durability) {
  return write_and_place(
      path, [&](const TemporaryFile& file) { return write(file.path()); }, durability);
}

// Errors name `path`, which the user knows, not the temporary file.
Status write_file_in_pieces(const fs::path& path,
                            const std::function<Status(const WritePiece&)>& content,
                            Durability durability) {
  return write_and_place(
      path,
      [&](const TemporaryFile& file) -> Status {
        ASSAY_TRY(content(
            [&](std::string_view piece) { return write_all(file.descriptor(), piece, path); }));
        return check_close(file.descriptor(), path);
      },
      durability);
}

Status write_file(const fs::path& path, std::string_view content, Durability durability) {
  return write_file_in_pieces(
      path, [&](const WritePiece& write) { return write(content); }, durability);
}

void remove_left_behind_below(const fs::path& folder, int levels) {
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    std::error_code unknown;
    if (it->symlink_status(unknown).type() != fs::file_type::directory) continue;
    remove_left_behind(it->path());
    if (levels > 1) remove_left_behind_below(it->path(), levels - 1);
  }
}

void remove_temporary_files() {
  for (const Slot& slot : g_slots) {
    if (slot.state == Slot::State::kInUse) ::unlink(slot.path);
  }
}

}  // namespace assay::core
