// The complete assembler file of a kernel: code with source lines, kernel descriptor, metadata.
#pragma once

#include "generator/builder.h"
#include "generator/kernargs.h"
#include "generator/plan.h"
#include "generator/quantise.h"

#include <string>

namespace zyfa::generator {

// What is to be known of any kernel beside its code.
struct KernelFrame {
  std::string symbol;
  std::string about;  // one line for the reader of the text
  int lds_bytes = 0;
  int kernarg_bytes = 0;
  std::span<const KernargField> arguments;
  int workgroup_size = 64;  // work-items
  int code_object_version = 5;
  bool fp16_overflow = false;  // MODE.FP16_OVFL at the start
};

std::string emit_assembly(const KernelFrame& frame, const KernelBody& body);
std::string emit_assembly(const AttentionPlan& plan, const KernelBody& body);
std::string emit_assembly(const QuantisePlan& plan, const KernelBody& body);

}  // namespace zyfa::generator
