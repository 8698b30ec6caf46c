# Compile units. Most of a small file's compile time is its headers', so the sources of one folder
# are compiled together, in the order of their names, up to a number of KiB of source a unit. Names
# in unnamed namespaces are therefore a folder's, not a file's.
set(ASSAY_UNIT_KIB 1000 CACHE STRING "KiB of source in one compile unit; 0 compiles every file alone")

# assay_units(TARGET): call it once the target has all its sources.
function(assay_units target)
  if(ASSAY_UNIT_KIB EQUAL 0)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(SORT sources)
  math(EXPR capacity "${ASSAY_UNIT_KIB} * 1024")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    if(NOT EXISTS ${source})
      continue() # made by the build
    endif()
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE name)
    string(REGEX REPLACE "[^A-Za-z0-9]" "_" name ${name})
    file(SIZE ${source} bytes)
    # A test takes longer to compile than what it tests.
    if(source MATCHES "_test\\.cc$")
      math(EXPR bytes "${bytes} * 4 / 3")
    endif()
    # Subfolders come between the files of a folder.
    if(NOT DEFINED part_${name})
      set(part_${name} 1)
      set(filled_${name} 0)
    endif()
    math(EXPR filled_${name} "${filled_${name}} + ${bytes}")
    if(filled_${name} GREATER capacity AND NOT filled_${name} EQUAL bytes)
      math(EXPR part_${name} "${part_${name}} + 1")
      set(filled_${name} ${bytes})
    endif()
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${name}_${part_${name}})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
