#include <sley/http/websocket.hpp>
