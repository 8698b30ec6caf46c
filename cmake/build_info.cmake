# What `assay --version` tells, given to src/cli/version.cc alone.
set(build_commit "")
find_package(Git QUIET)
if(Git_FOUND)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} rev-parse --short HEAD
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE git_commit ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE git_log ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(git_commit)
    set(build_commit " (${git_commit})")
    # The log grows with every commit and checkout: configure again then.
    cmake_path(ABSOLUTE_PATH git_log BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    if(EXISTS ${git_log})
      set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${git_log})
    endif()
  endif()
endif()

set(build_kind ${CMAKE_BUILD_TYPE})
if(ASSAY_SANITIZE)
  string(APPEND build_kind " with -fsanitize=${ASSAY_SANITIZE}")
endif()

# Its package file tells the version of the library's ABI.
pkg_get_variable(xlsxwriter_folder xlsxwriter includedir)
file(STRINGS ${xlsxwriter_folder}/xlsxwriter.h xlsxwriter_line REGEX "define LXW_VERSION ")
string(REGEX REPLACE ".*\"(.*)\"" "\\1" xlsxwriter_version "${xlsxwriter_line}")

set(build_libraries
    "CLI11 ${CLI11_VERSION}" "fmt ${fmt_VERSION}" "libxlsxwriter ${xlsxwriter_version}"
    "nlohmann-json ${nlohmann_json_VERSION}" "simdjson ${simdjson_VERSION}")
if(isal_FOUND)
  list(APPEND build_libraries "isa-l ${isal_VERSION}")
endif()
list(APPEND build_libraries "zlib ${ZLIB_VERSION_STRING}")
list(JOIN build_libraries ", " build_libraries)

set_source_files_properties(
  cli/version.cc
  PROPERTIES
    COMPILE_DEFINITIONS
    "ASSAY_VERSION=\"${PROJECT_VERSION}\";ASSAY_COMMIT=\"${build_commit}\";ASSAY_COMPILER=\"${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\";ASSAY_BUILD=\"${build_kind}\";ASSAY_LIBRARIES=\"${build_libraries}\""
)
