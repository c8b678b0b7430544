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
  if(HEARTH_SANITIZE AND sources)
    add_unsanitized_module(${name} "${sources}" "${arg_DEPENDS}" "${arg_LIBRARIES}")
  endif()
endfunction()

# The same library without sanitizers, built if a program of add_sandbox_program() needs it.
function(add_unsanitized_module name sources modules libraries)
  list(TRANSFORM modules APPEND _unsanitized)
  add_library(hearth_${name}_unsanitized STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(hearth_${name}_unsanitized PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(hearth_${name}_unsanitized PRIVATE -fno-sanitize=all)
  target_link_libraries(hearth_${name}_unsanitized PUBLIC ${modules} ${libraries})
endfunction()

# add_sandbox_program(NAME MODULE): a program that runs in a sandbox or makes its root. Static, as it
# must run in any root file system, even one without a libc. Never with sanitizers: their shadow memory
# does not fit into a sandbox's limits, and their check for leaks waits for threads that a pid namespace
# took with it. The units it is made of are tested with sanitizers.
function(add_sandbox_program name module)
  add_executable(${name} main.cpp)
  target_link_options(${name} PRIVATE -static -Wl,--gc-sections -Wl,--strip-all)
  if(HEARTH_SANITIZE)
    target_compile_options(${name} PRIVATE -fno-sanitize=all)
    target_link_options(${name} PRIVATE -fno-sanitize=all)
    target_link_libraries(${name} PRIVATE hearth_${module}_unsanitized)
  else()
    target_link_libraries(${name} PRIVATE hearth_${module})
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
  # The optimiser takes half of a test's compile time, and nothing waits for a test's own code.
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  doctest_discover_tests(${name} TEST_PREFIX "${name}/" PROPERTIES TIMEOUT ${arg_TIMEOUT} ${arg_PROPERTIES})
endfunction()
