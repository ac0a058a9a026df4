"""The shapes of requests and replies, once: the server and the client read and write them, OpenAPI documents them."""

from celosia.core.extras import require

require("pydantic", extra="guard")
