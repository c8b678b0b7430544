# add_module(NAME [DEPENDS module...] [LIBRARIES library...])
#
# One folder of src/ is one library, hearth_NAME, of all its .cpp files but main.cpp; *_test.cpp beside
# them become the program test_NAME, one CTest entry per TEST_CASE. DEPENDS lists the modules whose
# headers it may include: scripts/check-layers reads the same line, so the layers hold in the linker and
# in `make lint`. Which headers are installed, src/CMakeLists.txt says.
function(add_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_(test|bench)|/main)\\.cpp$")
  list(TRANSFORM arg_DEPENDS PREPEND hearth_)

  if(sources)
    add_library(hearth_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(hearth_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(hearth_${name} ${scope} $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>)
  target_compile_features(hearth_${name} ${scope} cxx_std_20)
  target_link_libraries(hearth_${name} ${scope} ${arg_DEPENDS} ${arg_LIBRARIES})
  if(tests AND doctest_FOUND)
    add_doctest(test_${name} SOURCES ${tests} LIBRARIES hearth_${name})
  endif()
endfunction()

# A program of TEST_CASEs, each an entry of CTest of its own, with a limit on its time.
include(/usr/lib/cmake/doctest/doctest.cmake OPTIONAL)
function(add_doctest name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBRARIES;PROPERTIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} hearth_test_support)
  doctest_discover_tests(${name} TEST_PREFIX "${name}/" PROPERTIES TIMEOUT ${arg_TIMEOUT} ${arg_PROPERTIES})
endfunction()
