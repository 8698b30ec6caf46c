# Everything comes from the distribution's packages; `./dev` installs them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
find_package(Snappy REQUIRED)
pkg_check_modules(xlsxwriter REQUIRED IMPORTED_TARGET xlsxwriter)
# isa-l inflates 2.8 times as fast as zlib; zlib remains where isa-l is not packaged.
pkg_check_modules(isal IMPORTED_TARGET libisal)
