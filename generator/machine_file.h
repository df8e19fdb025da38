// The machine's numbers as JSON: what zyfa-gen prints, and what a user with the hardware corrects.
#pragma once

#include "isa/machine.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace zyfa::generator {

// {"name": {"value": ..., "unit": ..., "confidence": ..., "source": ...}, ...} in the order of machine.def.
// Numbers that depend on the passes of a matrix instruction are lists of four, for 2, 4, 8 and 16 passes.
nlohmann::ordered_json to_json(const isa::Machine& machine);

// The numbers that differ from machine.def's, {"name": value, ...}; empty for the built-in machine.
nlohmann::ordered_json changed_values(const isa::Machine& machine);

// The machine of machine.def with the numbers of the file in place of its own. The file names any subset,
// each as a bare value or as to_json writes it. Throws Error that names file and key: unknown names, wrong
// types, other units.
isa::Machine load_machine(const std::filesystem::path& path);

// "nominal" (machine.def's), "optimistic", "pessimistic", or what load_machine makes of a file.
isa::Machine find_machine(const std::string& name_or_file);

}  // namespace zyfa::generator
