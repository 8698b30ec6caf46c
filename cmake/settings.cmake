# One interface target carries the language level and the warnings of our own code;
# third-party code never links it.
add_library(assay_settings INTERFACE)
target_compile_features(assay_settings INTERFACE cxx_std_20)
target_include_directories(assay_settings INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(
  assay_settings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
            -Wcast-align -Wextra-semi -Wimplicit-fallthrough -Wformat=2 -Wundef)
# Nothing replaces one of our functions in a library, so calls may be inlined as they are in a program.
target_compile_options(assay_settings INTERFACE -fno-semantic-interposition)
if(ASSAY_WERROR)
  target_compile_options(assay_settings INTERFACE -Werror)
endif()
if(ASSAY_SANITIZE)
  add_compile_options(-fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${ASSAY_SANITIZE})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  # Instrumented code confuses this warning of g++ 12, even in the standard library's <regex>.
  target_compile_options(assay_settings INTERFACE -Wno-maybe-uninitialized)
  # AddressSanitizer reports these anyway, and their checks at every access are a sixth of the compile
  # time. The fuzz targets have them.
  if(ASSAY_SANITIZE MATCHES "undefined" AND NOT ASSAY_FUZZ)
    add_compile_options(-fno-sanitize=null,object-size)
  endif()
endif()
if(ASSAY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
# Tests are many programs with symbols, which lld links in a fifth of the time.
find_program(ASSAY_LLD ld.lld)
if(ASSAY_LLD AND ASSAY_TESTS)
  add_link_options(-fuse-ld=lld)
endif()
find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these, ccache compiles everything that reads precompiled headers anew.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                                  ${ASSAY_CCACHE})
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
include(hardening)
