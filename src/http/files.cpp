#include <sley/http/files.hpp>
