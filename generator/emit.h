// The complete assembler file of a kernel: code with source lines, kernel descriptor, metadata.
#pragma once

#include "generator/builder.h"
#include "generator/plan.h"

#include <string>

namespace zyfa::generator {

std::string emit_assembly(const AttentionPlan& plan, const KernelBody& body);

}  // namespace zyfa::generator
