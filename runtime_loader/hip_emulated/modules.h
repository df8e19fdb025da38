// Code objects: found in what a host program passes, checked against the device, decoded.
#pragma once

#include "generator/code_object.h"
#include "generator/decode.h"
#include "runtime_loader/hip_emulated/hip.h"
#include "runtime_loader/load_code.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace zyfa::hip_emulated {

struct Settings;

// A loaded code object, with one copy of its variables.
struct Module {
  Module(generator::CodeObject code_object, std::string file_name);
  Module(const Module&) = delete;

  std::string name;  // of the file, or "image"
  int device = 0;    // that was current when it was loaded: its functions run there alone
  generator::CodeObject object;
  runtime::LoadedCode loaded;
  std::vector<hipFunction_t> functions;  // of object.kernels
};

struct Function {
  std::shared_ptr<Module> module;
  const generator::KernelImage* image = nullptr;
  generator::DecodedKernel code;
  std::string lack;  // what keeps it from running: instructions that are not in the table; empty if nothing
};

struct LoadedModule {
  hipError_t error = hipSuccess;
  std::string problem;  // one line, unless hipSuccess
  std::shared_ptr<Module> module;
  std::vector<std::shared_ptr<const Function>> functions;  // of module->object.kernels
};

// Loads a code object, or that for the device out of a bundle of clang's. Refused are code objects for another
// processor than the device's or with other target features (hipErrorNoBinaryForGpu), and damaged ones
// (hipErrorInvalidImage).
LoadedModule load_module(std::span<const std::byte> file, const std::string& name, const Settings& settings);

// The same from memory; how long it is stands in its own headers.
LoadedModule load_module(const void* image, const Settings& settings);

}  // namespace zyfa::hip_emulated
