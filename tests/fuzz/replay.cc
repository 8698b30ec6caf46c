// Replaces libFuzzer where it is not available: runs a fuzz target on every file of the corpus,
// then on mutations of them. Packed files are used both as they are and unpacked. The same corpus
// gives the same inputs on every machine.
//
// usage: LAYER_fuzz_replay TARGET MUTATIONS CORPUS_FOLDER
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "targets.h"

namespace {

// Mutations work on the head of a file, where a reader's faults show, and runs stay short.
constexpr std::size_t kMutatedBytes = 16384;

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string read_raw(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string read_unpacked(const std::filesystem::path& path) {
  std::string text;
  const gzFile file = gzopen(path.c_str(), "rb");
  char block[65536];
  int length = 0;
  while ((length = gzread(file, block, sizeof block)) > 0) {
    text.append(block, static_cast<std::size_t>(length));
  }
  gzclose(file);
  return text;
}

std::vector<std::string> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::string> corpus;
  for (const auto& path : files_below(folder)) {
    corpus.push_back(read_unpacked(path));
    std::string raw = read_raw(path);
    if (raw != corpus.back()) corpus.push_back(std::move(raw));
  }
  return corpus;
}

class Mutator {
 public:
  // Makes one to four edits: a byte changed, a piece removed, doubled or moved, or the end cut off.
  std::string mutate(std::string text) {
    for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits)
      edit(text);
    return text;
  }

  // Used because std::uniform_int_distribution differs between libraries.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

 private:
  void edit(std::string& text) {
    const std::size_t at = below(text.size());
    const std::size_t length = 1 + below(std::min<std::size_t>(64, text.size() - at));
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text[at] = "{}[]\",:0-e\\\n\x1f\xff"[below(14)];
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(below(text.size()), text.substr(at, length));
        break;
      case 4:
        text.replace(at, length, text.substr(below(text.size()), length));
        break;
      default:
        text.resize(at);
        break;
    }
  }

  std::mt19937_64 random_{1};  // fixed seed, so that a failure can be repeated
};

FuzzTarget* find_target(std::string_view name) {
  for (const NamedFuzzTarget& target : fuzz_targets())
    if (target.name == name) return target.run;
  return nullptr;
}

void feed(FuzzTarget* target, const std::string& input) {
  target(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  FuzzTarget* const target = argc == 4 ? find_target(argv[1]) : nullptr;
  if (target == nullptr) {
    std::cerr << "usage: " << argv[0] << " TARGET MUTATIONS CORPUS_FOLDER\n";
    return 2;
  }
  const std::vector<std::string> corpus = read_corpus(argv[3]);
  if (corpus.empty()) {
    std::cerr << argv[3] << " holds no file\n";
    return 2;
  }
  for (const std::string& input : corpus)
    feed(target, input);
  Mutator mutator;
  const long runs = std::strtol(argv[2], nullptr, 10);
  for (long run = 0; run < runs; ++run) {
    const std::string& seed = corpus[mutator.below(corpus.size())];
    feed(target, mutator.mutate(seed.substr(0, kMutatedBytes)));
  }
  std::cout << corpus.size() << " files and " << runs << " mutations fed\n";
  return 0;
}
