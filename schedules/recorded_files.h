// The files of schedules/configs/, built in.
#pragma once

#include <string_view>
#include <vector>

namespace zyfa::schedules {

struct RecordedFile {
  std::string_view name, text;
};
std::vector<RecordedFile> recorded_files();  // by name

}  // namespace zyfa::schedules
