# The libraries of DESIGN section 12 that are in use, each as one target.
find_package(Threads REQUIRED)
# hearth is one binary and hearth-init is static: no shared Boost.
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.81 REQUIRED COMPONENTS json)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(libseccomp REQUIRED)
find_package(LibArchive REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(fmt REQUIRED)
# spdlog and fmt as headers: Debian has neither as a static library.
add_library(hearth_logging INTERFACE)
target_compile_definitions(hearth_logging INTERFACE $<BUILD_INTERFACE:SPDLOG_FMT_EXTERNAL>)
target_link_libraries(hearth_logging INTERFACE fmt::fmt-header-only Threads::Threads)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
if(NOT HEARTH_FUZZ)  # there, only the fuzz targets are built
  find_package(doctest)
  find_package(rapidcheck)
  find_package(benchmark)
endif()

# Asio, with its macros in one place: they must be the same in every file.
add_library(hearth_asio INTERFACE)
target_compile_definitions(hearth_asio INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
target_link_libraries(hearth_asio INTERFACE Boost::headers Threads::Threads)
