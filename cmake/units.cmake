# Compile units. Most of a small file's compile time is its headers', so the sources of one folder
# are compiled together, in the order of their names, up to a number of KiB of source a unit. Names
# in unnamed namespaces are therefore a folder's, not a file's.
set(ASSAY_UNIT_KIB 1000 CACHE STRING "KiB of source in one compile unit; 0 compiles every file alone")

# Folders whose files still have equal names: each file is a unit there.
set(ASSAY_SINGLE_FOLDERS
    sweep sweep/presets trace/compare)

# assay_units(TARGET): call it once the target has all its sources.
function(assay_units target)
  if(ASSAY_UNIT_KIB EQUAL 0)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(SORT sources)
  math(EXPR capacity "${ASSAY_UNIT_KIB} * 1024")
  set(folder "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    if(NOT EXISTS ${source})
      continue() # made by the build
    endif()
    cmake_path(GET source PARENT_PATH parent)
    file(SIZE ${source} bytes)
    math(EXPR filled "${filled} + ${bytes}")
    cmake_path(RELATIVE_PATH parent BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src OUTPUT_VARIABLE inside)
    if(inside IN_LIST ASSAY_SINGLE_FOLDERS)
      continue()
    endif()
    if(NOT parent STREQUAL folder)
      set(folder ${parent})
      cmake_path(RELATIVE_PATH parent BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE name)
      string(REGEX REPLACE "[^A-Za-z0-9]" "_" name ${name})
      set(part 1)
      set(filled ${bytes})
    elseif(filled GREATER capacity)
      math(EXPR part "${part} + 1")
      set(filled ${bytes})
    endif()
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${name}_${part})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
