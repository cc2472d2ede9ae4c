"""What an environment file says, section by section; each one hands the constructs what they take."""

from .alarms import Alarms
from .endpoint import Endpoint
from .image import Build
from .model import Model
from .whole import Settings

__all__ = ["Alarms", "Build", "Endpoint", "Model", "Settings"]
