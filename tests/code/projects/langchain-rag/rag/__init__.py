from .tools import TOOLS
