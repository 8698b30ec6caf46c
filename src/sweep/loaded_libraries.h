// Finds the NCCL or RCCL that the processes of a run really loaded, and compares it with the one
// that was asked for.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/facts.h"
#include "sweep/environment_check.h"
#include "sweep/library_file.h"

namespace assay::sweep {

struct MappedFile {
  std::string path;   // as the process sees it
  std::string range;  // its name in /proc/<pid>/map_files
  bool deleted = false;
};

struct CommunicationLibraries {
  std::vector<MappedFile> libraries;  // libnccl.so*, librccl.so*
  std::vector<std::string> plugins;   // paths: libnccl-net.so, libnccl-tuner-x.so
  bool torch_for_gpus = false;        // libtorch_cuda.so or libtorch_hip.so
};

// File names that count as a library or a plugin in addition to the usual ones.
struct ExtraNames {
  std::set<std::string, std::less<>> libraries;
  std::set<std::string, std::less<>> plugins;
};

// `maps` is the content of /proc/<pid>/maps; see proc(5).
CommunicationLibraries communication_libraries(std::string_view maps, const ExtraNames& extra);

class LoadedLibraries {
 public:
  // `root` is the folder that holds proc/. If `expected` is empty, any library will do.
  LoadedLibraries(std::filesystem::path root, const std::filesystem::path& expected);

  // Forgets the last run, but not the texts that were read from files.
  void begin_run();

  enum class Communicates { kUnknown, kYes };

  // Returns kYes if the process has loaded a library for collectives, or a PyTorch that contains
  // one.
  Communicates look(pid_t process);

  // Looks for plugins in one process, and in another one at each call. Plugins are loaded with the
  // first communicator, long after the library.
  void look_for_plugins();

  // Looks for them in all processes.
  void look_for_all_plugins();

  // Adds the files that variables such as NCCL_NET_PLUGIN tell the process to use as plugins.
  void add_plugin_names(const Environment& environment);

  [[nodiscard]] model::Facts facts() const;
  [[nodiscard]] std::vector<std::string> warnings() const;

  // Returns those of the variables that none of the libraries reads. Returns none where a library's
  // texts are not known, or where a plugin may read them.
  [[nodiscard]] std::vector<std::string> not_read(const Variables& variables) const;

 private:
  struct Library {
    FileIdentity identity;  // all zeros if the file cannot be reached
    LibraryText text;
    bool expected = false;
    bool deleted = false;
    std::size_t processes = 0;
  };

  // Returns std::nullopt if the process has ended or belongs to another user.
  std::optional<CommunicationLibraries> read_maps(pid_t process) const;
  bool add_plugins_of(pid_t process);  // returns whether it could be asked
  void add_library(pid_t process, const MappedFile& file);
  bool is_expected(pid_t process, const std::string& path, const FileIdentity& identity) const;
  std::string names() const;
  void add_missing(std::vector<std::string>& warnings) const;

  std::filesystem::path root_;
  std::filesystem::path expected_;
  LibraryTexts texts_;
  ExtraNames extra_;
  std::map<std::string, Library> libraries_;  // by the path that processes see
  std::set<std::string> plugins_;
  std::set<pid_t> processes_;  // the live processes that have a library
  pid_t asked_for_plugins_ = 0;
  bool torch_without_library_ = false;
};

}  // namespace assay::sweep
