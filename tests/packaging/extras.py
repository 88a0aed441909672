"""
The extras of the project, which module needs which, and the smallest use of each.
"""

import re
import tomllib

from tests.packaging.environments import ROOT

SOURCE = ROOT / "src"

# Extras that bring tools and no module of the package: there is nothing to import.
TOOLS = {
    "bench": "draws the figures of `make bench`; nothing of the package imports it",
    "docs": "the tools of `make site`; nothing of the package imports them",
    "e2e": "the browser of `make e2e`; nothing of the package imports it",
    "lint": "the tools of `make check`; nothing of the package imports them",
    "mutation": "the tool of `make mutate`; nothing of the package imports it",
    "release": "the tools of `make package` and of a release; nothing of the package imports them",
    "wagtail-example": "what the example in Wagtail needs; `make wagtail-test` runs in an environment with it",
    "web": "what the web chat of the examples needs; nothing of the package imports it",
    "test": "what `make test` needs; that suite runs in an environment with it",
}

_ASKED = """
from nr_agent_core.domain.model_dialogue import ModelMessage, ModelRequest
from nr_agent_core.testing import ScriptedModel
question = ModelRequest("", (ModelMessage("user", "Hello?"),))
"""

_REFUSED = """
from nr_agent_core import ProviderError
try:
    model.complete(question)
    raise SystemExit("there is no server, and it answered")
except ProviderError as error:
    assert error.failure_class.retryable, error
"""

# The smallest use of an extra. It succeeds with the extra; without it, it says which extra is missing.
USES = {
    "anthropic": _ASKED
    + """
from nr_agent_core.adapters.anthropic import AnthropicModel
model = AnthropicModel("a-model", api_key="a-key", base_url="http://127.0.0.1:9")
"""
    + _REFUSED,
    "cli": """
import pathlib, sys
from nr_agent_core.cli import main
pathlib.Path("chat.json").write_text('[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]')
sys.exit(main(["audit", "chat.json", "--format", "table", "--write-tools", "save"]))
""",
    "crypto": """
from nr_agent_core.adapters.aes_gcm_cipher import AesGcmCipher
ring = AesGcmCipher({"first": bytes(range(32))}, current="first")
assert ring.open(ring.seal(b"content", b"place"), b"place") == b"content"
""",
    "engine": """
import os
from nr_agent_core import Chat, Reader
from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.testing import ScriptedModel
store = PostgresStore(os.environ["DSN"], schema=os.environ["SCHEMA"])
queue = ProcrastinateRunQueue(store)
queue.install()
chat = Chat(store=store, model=ScriptedModel("Hi."), queue=queue)
assert chat.send("Hello", Reader("anna"), queued=True).status.value == "queued"
chat.close()
""",
    "mcp": """
import pathlib, sys
from nr_agent_core.adapters.mcp import McpServers, StdioServer
pathlib.Path("server.py").write_text('''
from mcp.server import MCPServer
server = MCPServer("notes", log_level="ERROR")
@server.tool()
def add_note(text: str) -> str:
    \"\"\"Add a note.\"\"\"
    return "Noted."
server.run("stdio")
''')
with McpServers([StdioServer(name="notes", command=sys.executable, arguments=["-I", "server.py"])]) as servers:
    assert [tool.name for tool in servers.tools()] == ["mcp_notes_add_note"], servers.reports()
""",
    "openai": _ASKED
    + """
from nr_agent_core.adapters.openai import OpenAIModel
model = OpenAIModel("a-model", api_key="a-key", base_url="http://127.0.0.1:9")
"""
    + _REFUSED,
    "otel": _ASKED
    + """
from nr_agent_core.adapters.opentelemetry import TracedModel
assert TracedModel(ScriptedModel("Hi.")).complete(question).text == "Hi."
""",
    "postgres": """
import os
from nr_agent_core import Chat, Reader
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.testing import ScriptedModel
chat = Chat(store=PostgresStore(os.environ["DSN"], schema=os.environ["SCHEMA"]), model=ScriptedModel("Hi."))
anna = Reader("anna")
sent = chat.send("Hello", anna)
assert chat.view(sent.conversation, anna).messages[-1].text == "Hi."
chat.close()
""",
    "retry": _ASKED
    + """
from nr_agent_core.adapters.retrying_model import RetryingModel
assert RetryingModel(ScriptedModel("Hi.")).complete(question).text == "Hi."
""",
}

# Extras whose use needs a database server.
ON_A_SERVER = frozenset({"engine", "postgres"})


def extras() -> list[str]:
    """Every extra that the project declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted(project["optional-dependencies"])


def modules_that_need(extra: str) -> list[str]:
    """The modules whose first lines say so: "Needs the extra ``name``"."""
    said = re.compile(rf"[Nn]eeds the extra ``?{re.escape(extra)}``?")
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        head = path.read_text(encoding="utf-8").partition('"""')[2].partition('"""')[0]
        if said.search(head):
            module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            found.append(module.removesuffix(".__init__"))
    return found


def use_of(extra: str) -> str:
    """The smallest use of *extra*; for one that has none here, the import of what needs it."""
    return USES.get(extra) or "\n".join(f"import {module}" for module in modules_that_need(extra))
