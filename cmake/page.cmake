# The program of the HTML pages: what src/report/page bundles from npm's packages, as constants of
# C++. npm ci installs exactly what package-lock.json names into the build folder.
option(ASSAY_PAGE "Build the HTML pages into assay; needs node and npm" ON)

set(page_folder ${CMAKE_CURRENT_SOURCE_DIR}/report/page)
set(page_source ${CMAKE_CURRENT_BINARY_DIR}/page_program.cc)
if(ASSAY_PAGE)
  find_program(NODE node)
  find_program(NPM npm)
  if(NOT NODE OR NOT NPM)
    message(FATAL_ERROR "The HTML pages need node and npm: install nodejs and npm (./dev does), or "
                        "configure with -DASSAY_PAGE=OFF to build assay without pages.")
  endif()
  file(GLOB_RECURSE page_parts CONFIGURE_DEPENDS ${page_folder}/*.js ${page_folder}/*.css
                                                 ${page_folder}/*.mjs)
  set(page_modules ${CMAKE_BINARY_DIR}/npm)
  # What drives the browser of the tests is not needed without them.
  set(page_omitted $<$<NOT:$<BOOL:${ASSAY_TESTS}>>:--omit=dev>)
  add_custom_command(
    OUTPUT ${page_modules}/installed
    COMMAND ${CMAKE_COMMAND} -E make_directory ${page_modules}
    COMMAND ${CMAKE_COMMAND} -E copy ${page_folder}/package.json ${page_folder}/package-lock.json
            ${page_modules}
    COMMAND ${CMAKE_COMMAND} -E chdir ${page_modules} ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
            ${page_omitted}
    COMMAND ${CMAKE_COMMAND} -E touch ${page_modules}/installed
    DEPENDS ${page_folder}/package.json ${page_folder}/package-lock.json
    COMMAND_EXPAND_LISTS
    COMMENT "Installing the packages of the HTML pages")
  add_custom_command(
    OUTPUT ${page_source}
    COMMAND ${NODE} ${page_folder}/build.mjs ${page_modules}/node_modules ${page_source}
    DEPENDS ${page_modules}/installed ${page_parts}
    COMMENT "Bundling the HTML pages")
else()
  file(CONFIGURE OUTPUT ${page_source} CONTENT
"#include \"report/page_program.h\"
namespace assay::report {
const std::string_view kPageProgram;
const std::string_view kPageStyles;
}  // namespace assay::report
")
endif()
set_source_files_properties(${page_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_sources(assay_report PRIVATE ${page_source})
