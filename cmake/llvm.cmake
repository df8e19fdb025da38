# LLVM >= 20 (the first that knows gfx950) as its shared library, and LLD of the same version.
# Distributions install several versions side by side; the newest is taken unless LLVM_DIR says otherwise.
file(GLOB ZYFA_LLVM_PREFIXES /usr/lib/llvm-[2-9][0-9] /usr/lib64/llvm[2-9][0-9] /opt/homebrew/opt/llvm)
list(SORT ZYFA_LLVM_PREFIXES COMPARE NATURAL ORDER DESCENDING)
find_package(LLVM CONFIG REQUIRED HINTS ${ZYFA_LLVM_PREFIXES})
if(LLVM_VERSION_MAJOR LESS 20)
  message(FATAL_ERROR "LLVM ${LLVM_VERSION} in ${LLVM_DIR} does not know gfx950; zyfa needs LLVM 20 or newer")
endif()
find_package(LLD CONFIG REQUIRED HINTS ${LLVM_LIBRARY_DIR}/cmake/lld ${LLVM_DIR}/../lld NO_DEFAULT_PATH)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} from ${LLVM_DIR}")

add_library(zyfa_llvm INTERFACE)
target_include_directories(zyfa_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_options(zyfa_llvm INTERFACE -Wno-unused-parameter)
if(TARGET LLVM)
  target_link_libraries(zyfa_llvm INTERFACE LLVM)
else()
  message(FATAL_ERROR "LLVM in ${LLVM_DIR} was built without its shared library libLLVM; zyfa links that one")
endif()

add_library(zyfa_lld INTERFACE)
target_include_directories(zyfa_lld SYSTEM INTERFACE ${LLD_INCLUDE_DIRS})
target_link_libraries(zyfa_lld INTERFACE lldELF lldCommon zyfa_llvm)
