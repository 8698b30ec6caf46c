# What every program and library of ours is compiled and linked with, so that a bug in a reader of
# foreign files stays a crash. tools/check_binaries.py proves it on what is installed.
# Debug information and __FILE__ name files relative to the source tree: a binary does not tell where
# it was built.
set(prefix_map -ffile-prefix-map=${CMAKE_BINARY_DIR}/=build/ -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
list(JOIN prefix_map , prefix_map_of_cuda)
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${prefix_map}>"
                    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${prefix_map_of_cuda}>")

# In front of the flags that CMake adds for shared libraries, so that -fPIC prevails there.
string(PREPEND CMAKE_C_FLAGS "-fPIE ")
string(PREPEND CMAKE_CXX_FLAGS "-fPIE ")
string(PREPEND CMAKE_EXE_LINKER_FLAGS "-pie ")
# All symbols are bound before main, then their table is read-only.
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)

# A sanitizer finds more than these two, and they would hide overruns from it. _FORTIFY_SOURCE
# needs the optimiser.
if(NOT ASSAY_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>"
                      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fstack-protector-strong,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2>")
endif()
