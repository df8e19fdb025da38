// What strict mode found, as zyfa-run reports it.
#pragma once

#include "isa/emulator/emulator.h"

#include <nlohmann/json.hpp>

namespace zyfa::runtime {

// One line each, to stdout.
void print_findings(const emulator::Result& result);

// An array of rule, message, workgroup, at and, where two instructions are concerned, other.
nlohmann::ordered_json findings_json(const emulator::Result& result);

}  // namespace zyfa::runtime
