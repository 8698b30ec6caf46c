# Headers of the standard library, fmt and GoogleTest are more than half of what a small unit reads.
# Developers' builds compile them once. What they spare a source of including, ./dev lint still
# asks for: it reads every source alone.
option(ASSAY_PRECOMPILE "Precompile the headers that most sources include" OFF)

# precompiled_headers(NAME LIBRARY HEADER...): the common headers and those of LIBRARY.
function(precompiled_headers name library)
  if(NOT ASSAY_PRECOMPILE)
    return()
  endif()
  set(source ${CMAKE_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE assay_settings ${library})
  target_precompile_headers(
    ${name} PRIVATE <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem>
    <fstream> <functional> <limits> <map> <memory> <optional> <set> <span> <string> <string_view>
    <tuple> <unordered_map> <utility> <variant> <vector> <fmt/format.h> ${ARGN})
endfunction()

# use_precompiled_headers(TARGET NAME): TARGET must be compiled with the same options as NAME.
function(use_precompiled_headers target name)
  if(ASSAY_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
